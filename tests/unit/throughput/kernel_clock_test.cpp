// SPDX-License-Identifier: BSD-3-Clause
#include "kernel_clock.hpp"

#include <gtest/gtest.h>

namespace turnpike::throughput {
namespace {

TEST(clock_difference_test, is_of_clocks_that_run_apart) {
    EXPECT_EQ(clock_difference(60, 60.5), "");
    EXPECT_EQ(clock_difference(0.0005, 0.001), "");
    for (const auto& [tsc, kernel] : {std::pair{60.0, 61.0}, {61.0, 60.0}, {0.1, 3600.1}})
        EXPECT_NE(clock_difference(tsc, kernel).find("by the kernel's clock"), std::string::npos);
}

}  // namespace
}  // namespace turnpike::throughput
