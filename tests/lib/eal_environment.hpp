// SPDX-License-Identifier: BSD-3-Clause
// EAL for unit tests: no hugepages, no devices, no files, three lcores on whichever CPU is free, so that such
// tests run beside each other. Who includes eal.hpp has it; who has an EAL of its own does not get it with
// the library that this is in.
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

}  // namespace turnpike::test
