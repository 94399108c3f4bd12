// SPDX-License-Identifier: BSD-3-Clause
// EAL for unit tests: no hugepages, no devices, no files, three lcores on any free CPU, so that such
// tests run in parallel. Included by eal.hpp; a program with a different EAL set-up does not get this one from the
// library that contains it.
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
