// SPDX-License-Identifier: BSD-3-Clause
// EAL for unit tests: no hugepages, no devices, nothing left behind; three lcores on one CPU. Such
// tests do not run in parallel.
#pragma once

#include <gtest/gtest.h>
#include <rte_eal.h>

#include <array>

namespace turnpike::test {

class eal_environment : public ::testing::Environment {
  public:
    void SetUp() override {
        static std::array<char, 64> words[] = {
            {"test"}, {"--no-huge"}, {"--no-shconf"}, {"--no-pci"}, {"--no-telemetry"},
            {"-m"},   {"256"},       {"--lcores"},    {"(0-2)@0"},  {"--log-level=4"}};
        static std::array<char*, std::size(words)> argv;
        for (size_t i = 0; i < std::size(words); ++i) argv[i] = words[i].data();
        ASSERT_GE(rte_eal_init(static_cast<int>(argv.size()), argv.data()), 0)
            << "EAL does not start";
    }
    void TearDown() override { rte_eal_cleanup(); }
};

inline const ::testing::Environment* const eal =
    ::testing::AddGlobalTestEnvironment(new eal_environment);

}  // namespace turnpike::test
