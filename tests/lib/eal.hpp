// SPDX-License-Identifier: BSD-3-Clause
// EAL for unit tests: no hugepages, no devices, no files, three lcores on whichever CPU is free, so that such
// tests run beside each other.
#pragma once

#include <gtest/gtest.h>
#include <rte_eal.h>

#include <string>
#include <vector>

#include "lib/any_cpu.hpp"

namespace turnpike::test {

class eal_environment : public ::testing::Environment {
  public:
    void SetUp() override {
        words_ = {"test", "--no-huge", "--no-shconf", "--no-pci",     "--no-telemetry",
                  "-m",   "256",       any_cpu(),     "--log-level=4"};
        std::vector<char*> argv;
        for (std::string& word : words_) argv.push_back(word.data());
        ASSERT_GE(rte_eal_init(static_cast<int>(argv.size()), argv.data()), 0)
            << "EAL does not start";
    }
    void TearDown() override { rte_eal_cleanup(); }

  private:
    std::vector<std::string> words_;
};

inline const ::testing::Environment* const eal =
    ::testing::AddGlobalTestEnvironment(new eal_environment);

}  // namespace turnpike::test
