// SPDX-License-Identifier: BSD-3-Clause
#include "search/binary_search.hpp"

#include <gtest/gtest.h>

#include "search/simulated_device.hpp"

namespace turnpike::search {
namespace {

binary_settings paper(double max_fps) {
    return {.limits = {1000, max_fps},
            .loss_ratio = 1e-4,
            .duration_s = 20,
            .trials = 8,
            .resolution_fps = 0.1e6};
}

result<binary_result> run_binary(const binary_settings& s, simulated_device& d) {
    return search_binary(s, [&d](const trial_input& in) -> result<trial_output> { return d(in); });
}

/// The paper's settings (section 13.4): 10 GbE with 64-byte frames, 0.1 Mpps.
TEST(binary_search_test, finds_the_throughput_within_the_rate_change) {
    for (double capacity = 0.5e6; capacity < 14.8e6; capacity += 0.137e6) {
        simulated_device d{.capacity_fps = capacity};
        const auto found = run_binary(paper(14.88e6), d);
        ASSERT_TRUE(found);
        ASSERT_TRUE(found->throughput_fps && found->failed_fps);
        const double critical = d.critical_fps(1e-4, 20, 0);
        EXPECT_LE(*found->throughput_fps, critical * (1 + 1e-12));
        EXPECT_GT(*found->failed_fps, critical);
        EXPECT_LE(*found->failed_fps - *found->throughput_fps, 0.1e6);
        EXPECT_DOUBLE_EQ(found->trials.front().input.load_fps, 1.488e6);
    }
}

TEST(binary_search_test, a_load_passes_only_if_each_of_its_trials_does) {
    simulated_device d{.capacity_fps = 1e6, .kind = noise::jitter, .depth = 0.2};
    const auto found = run_binary(paper(14.88e6), d);
    ASSERT_TRUE(found && found->throughput_fps);
    unsigned at_throughput = 0;
    for (const trial& t : found->trials)
        if (t.input.load_fps == *found->throughput_fps) {
            ++at_throughput;
            EXPECT_LE(t.output.loss_ratio, 1e-4);
        }
    EXPECT_EQ(at_throughput, 8u);
}

TEST(binary_search_test, the_maximum_is_measured_before_it_is_the_result) {
    simulated_device d{.capacity_fps = 20e6};
    const auto found = run_binary(paper(14.88e6), d);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->throughput_fps, 14.88e6);
    EXPECT_FALSE(found->failed_fps);
    EXPECT_EQ(found->trials.back().input.load_fps, 14.88e6);
}

TEST(binary_search_test, a_device_that_forwards_nothing_has_no_throughput) {
    simulated_device d{.capacity_fps = 1};
    const auto found = run_binary(paper(14.88e6), d);
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->throughput_fps);
    EXPECT_EQ(found->failed_fps, 1000);
    EXPECT_EQ(found->trials.back().input.load_fps, 1000);
}

TEST(binary_search_test, a_load_that_the_sender_does_not_reach_is_no_failure_of_the_device) {
    simulated_device d{.capacity_fps = 9e6};
    const auto found =
        search_binary(paper(14.88e6), [&](const trial_input& in) -> result<trial_output> {
            if (in.load_fps > 5e6) return trial_output{.loss_ratio = 0.3, .rate_held = false};
            return d(in);
        });
    ASSERT_TRUE(found && found->throughput_fps);
    EXPECT_TRUE(found->sender_limited);
    EXPECT_FALSE(found->failed_fps);
    EXPECT_NEAR(*found->throughput_fps, 5e6, 0.1e6);
}

/// The search starts above the device's limit and the sender's.
TEST(binary_search_test, the_lower_limit_is_that_of_the_device_or_of_the_sender) {
    for (const auto& [device_fps, sender_fps] :
         {std::pair{3e6, 8e6}, {8e6, 3e6}, {3e6, 20e6}, {1.0, 5e6}}) {
        simulated_device d{.capacity_fps = device_fps};
        binary_settings s = paper(14.88e6);
        s.start_fps = s.limits.max_fps;
        const double limit = sender_fps;
        const auto found = search_binary(s, [&](const trial_input& in) -> result<trial_output> {
            if (in.load_fps > limit) return trial_output{.rate_held = false};
            return d(in);
        });
        ASSERT_TRUE(found);
        EXPECT_EQ(found->sender_limited, sender_fps < device_fps) << device_fps;
        EXPECT_EQ(found->failed_fps.has_value(), device_fps < sender_fps) << device_fps;
    }
}

/// The measurer repeats trials. Its failure is final.
TEST(binary_search_test, does_not_repeat_a_trial_that_missed_its_rate) {
    simulated_device d{.capacity_fps = 9e6};
    std::vector<double> refused;
    const auto found =
        search_binary(paper(14.88e6), [&](const trial_input& in) -> result<trial_output> {
            if (in.load_fps <= 5e6) return d(in);
            refused.push_back(in.load_fps);
            return trial_output{.loss_ratio = 0.3, .rate_held = false};
        });
    ASSERT_TRUE(found);
    ASSERT_GT(refused.size(), 1u);
    for (size_t i = 1; i < refused.size(); ++i) EXPECT_LT(refused[i], refused[i - 1]);
}

TEST(binary_search_test, stops_with_the_measurer_s_error_and_keeps_its_bounds) {
    simulated_device d{.capacity_fps = 9e6};
    unsigned call = 0;
    const auto found =
        search_binary(paper(14.88e6), [&](const trial_input& in) -> result<trial_output> {
            if (call++ == 8) return fail(ENODEV, "port 0", "the port is down");
            return d(in);
        });
    ASSERT_TRUE(found);
    ASSERT_TRUE(found->stopped);
    EXPECT_EQ(found->stopped->object, "port 0");
    EXPECT_EQ(found->throughput_fps, 1.488e6);
}

TEST(binary_search_test, refuses_settings_out_of_range) {
    simulated_device d{.capacity_fps = 1};
    const auto text = [&](binary_settings s) { return run_binary(s, d).error().message(); };
    binary_settings s = paper(1e6);
    s.trials = 0;
    EXPECT_EQ(text(s), "trials: each load needs at least one");
    s = paper(1e6);
    s.resolution_fps = 0;
    EXPECT_EQ(text(s), "resolution: is above 0");
    s = paper(1e6);
    s.start_fps = 2e6;
    EXPECT_EQ(text(s), "start: is a load between the minimum and the maximum");
    s = paper(100);
    EXPECT_EQ(text(s), "load limits: the minimum is above 0 and below the maximum");
    s = paper(1e6);
    s.loss_ratio = 1;
    EXPECT_EQ(text(s), "goal binary search: the loss ratio is at least 0 and below 1");
}

}  // namespace
}  // namespace turnpike::search
