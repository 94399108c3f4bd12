// SPDX-License-Identifier: BSD-3-Clause
// EAL for unit tests: no hugepages, no devices, no files, three lcores on whichever CPU is free, so that such
// tests run beside each other.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace turnpike::test {

class eal_environment : public ::testing::Environment {
  public:
    void SetUp() override;
    void TearDown() override;

  private:
    std::vector<std::string> words_;
};

inline const ::testing::Environment* const eal =
    ::testing::AddGlobalTestEnvironment(new eal_environment);

}  // namespace turnpike::test
