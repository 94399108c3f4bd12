// SPDX-License-Identifier: BSD-3-Clause
#include "burst_search.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace turnpike::throughput {
namespace {

constexpr uint32_t max_frames = 1000;

/// A device of this buffer behind a tester that cannot send bursts above its limit.
struct lab {
    uint32_t buffer = 0, tester_limit = UINT32_MAX;
    std::vector<uint32_t> lengths{};

    longest_burst search(uint32_t max) {
        const auto found = search_longest_burst(max, [this](uint32_t n) -> result<burst_trial> {
            lengths.push_back(n);
            return burst_trial{.loss_ratio = n > buffer ? 0.1 : 0,
                               .sending_s = n * 1e-6,
                               .counts = n <= tester_limit};
        });
        EXPECT_TRUE(found);
        return found.value_or(longest_burst{});
    }
};

TEST(burst_search_test, finds_every_buffer) {
    for (uint32_t buffer = 0; buffer <= 2 * max_frames; ++buffer) {
        lab l{.buffer = buffer};
        const longest_burst found = l.search(max_frames);
        ASSERT_EQ(found.frames, std::min(buffer, max_frames));
        ASSERT_DOUBLE_EQ(found.sending_s, found.frames * 1e-6);
        ASSERT_TRUE(found.counts) << buffer;
        ASSERT_LT(l.lengths.size(), 20u) << buffer;
    }
    EXPECT_EQ((lab{.buffer = 5}).search(1).frames, 1u);
}

/// A burst that the tester did not send says nothing of the device's buffer.
TEST(burst_search_test, a_bound_of_the_tester_does_not_count) {
    for (const uint32_t limit : {0u, 1u, 15u, 16u, 100u, 999u}) {
        const longest_burst found = (lab{.buffer = 5000, .tester_limit = limit}).search(max_frames);
        EXPECT_EQ(found.frames, limit);
        EXPECT_FALSE(found.counts) << limit;
    }
}

TEST(burst_search_test, a_loss_of_the_device_below_the_tester_s_bound_counts) {
    for (const uint32_t buffer : {0u, 20u, 99u}) {
        const longest_burst found = (lab{.buffer = buffer, .tester_limit = 100}).search(max_frames);
        EXPECT_EQ(found.frames, buffer);
        EXPECT_TRUE(found.counts) << buffer;
    }
}

/// A port that accepts all frames at once into its descriptors, and one that is slower than its line.
TEST(burst_search_test, a_burst_takes_at_least_its_time_on_the_wire) {
    constexpr double line_fps = 1e6;
    EXPECT_DOUBLE_EQ(burst_sending_s(1000, 20e-6, line_fps), 999e-6);
    EXPECT_DOUBLE_EQ(burst_sending_s(1000, 2e-3, line_fps), 2e-3);
    EXPECT_DOUBLE_EQ(burst_sending_s(1000, 20e-6, 0), 20e-6) << "an unknown line rate";
    for (const uint64_t frames : {0u, 1u}) EXPECT_EQ(burst_sending_s(frames, 0, line_fps), 0);
    EXPECT_DOUBLE_EQ(burst_sending_s(2, 0, line_fps), 1e-6);
}

TEST(burst_search_test, ends_with_the_measurer_s_error) {
    const auto found = search_longest_burst(max_frames, [](uint32_t n) -> result<burst_trial> {
        if (n > 64) return fail(ENETDOWN, "port left", "its link is down");
        return burst_trial{};
    });
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ENETDOWN);
}

}  // namespace
}  // namespace turnpike::throughput
