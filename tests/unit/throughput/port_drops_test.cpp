// SPDX-License-Identifier: BSD-3-Clause
#include "port_drops.hpp"

#include <gtest/gtest.h>

#include <array>

namespace turnpike::throughput {
namespace {

using counters = std::array<drop_counter, 3>;

TEST(port_drops_test, are_the_sum_of_the_ports) {
    const port_drops d = drops_between(counters{1, 0, 100}, counters{1, 7, 105});
    EXPECT_EQ(d.frames, 12u);
    EXPECT_FALSE(d.unknown);
}

/// Without statistics after the trial the difference is not 2^64 minus the counters before it.
TEST(port_drops_test, of_failed_statistics_are_unknown) {
    for (const auto& [before, after] : {std::pair{counters{1, 5, 2}, counters{3, {}, 2}},
                                        {counters{1, {}, 2}, counters{3, 5, 2}},
                                        {counters{1, {}, 2}, counters{3, {}, 2}}}) {
        const port_drops d = drops_between(before, after);
        EXPECT_EQ(d.frames, 2u);
        EXPECT_EQ(d.unknown, 1u);
    }
}

TEST(port_drops_test, of_a_counter_that_was_reset_are_unknown) {
    const port_drops d = drops_between(counters{1, 5, 9}, counters{1, 5, 8});
    EXPECT_EQ(d.frames, 0u);
    EXPECT_EQ(d.unknown, 2u);
}

}  // namespace
}  // namespace turnpike::throughput
