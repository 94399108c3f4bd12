// SPDX-License-Identifier: BSD-3-Clause
#include "search/mlr_search.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <sstream>
#include <utility>
#include <vector>

#include "lib/source_tree.hpp"
#include "search/binary_search.hpp"
#include "search/simulated_device.hpp"

namespace turnpike::search {
namespace {

constexpr unsigned devices = 10'000;
constexpr load_limits limits{.min_fps = 1e3, .max_fps = 1.2e8};

measurer measure(simulated_device& on) {
    return [&on](const trial_input& in) -> result<trial_output> { return on(in); };
}

goal zero_loss(double width = 0.005) {
    return {.name = "ndr", .final_duration_s = 1, .duration_sum_s = 1, .width = width};
}
goal partial_loss() {
    return {.name = "pdr", .loss_ratio = 0.005, .final_duration_s = 1, .duration_sum_s = 1};
}

/// Loads up to the device's worst critical load cannot be upper bounds, loads above its best cannot be lower bounds: the
/// bounds around the throughput, at most the width apart, must meet the range between the two.
void expect_precise(const simulated_device& d, const goal& g, const goal_result& r, uint64_t seed) {
    const double slack = 1 + 1e-9;
    const double worst = d.critical_fps(g.loss_ratio, g.final_duration_s, d.depth);
    const double best = d.critical_fps(g.loss_ratio, g.final_duration_s, 0);
    ASSERT_TRUE(r.regular()) << "seed " << seed << ": " << name_of(r.why);
    ASSERT_GE((*r.relevant_upper_fps - *r.relevant_lower_fps) / *r.relevant_upper_fps, 0);
    ASSERT_LE((*r.relevant_upper_fps - *r.relevant_lower_fps) / *r.relevant_upper_fps,
              g.width * slack)
        << "seed " << seed << " " << g.name;
    ASSERT_GE(*r.relevant_upper_fps * slack, worst) << "seed " << seed << " " << g.name;
    ASSERT_GE(*r.relevant_lower_fps * slack, worst * (1 - g.width))
        << "seed " << seed << " " << g.name;
    ASSERT_LE(*r.relevant_lower_fps, best * slack) << "seed " << seed << " " << g.name;
    ASSERT_LE(*r.conditional_throughput_fps, *r.relevant_lower_fps);
    ASSERT_GE(*r.conditional_throughput_fps * slack, *r.relevant_lower_fps * (1 - g.loss_ratio));
}

struct effort {
    double trials = 0, duration_s = 0;
};

/// Prints a figure of all devices, which doc/throughput.md has.
void print_as_documented(const char* figure, double mlr, const char* other, double binary) {
    std::ostringstream line;
    line << std::fixed << std::setprecision(1) << figure << ": MLRsearch " << mlr / devices << ", "
         << other << " " << binary / devices << ", " << std::lround(100 * (1 - mlr / binary))
         << " % less\n";
    std::cout << line.str();
    std::ifstream from(test::source_path("doc/throughput.md"));
    const std::string page{std::istreambuf_iterator<char>(from), {}};
    EXPECT_NE(page.find(line.str()), std::string::npos) << "mend doc/throughput.md";
}

effort effort_of_binary(uint64_t seed, const goal& g) {
    auto d = simulated_device::of_seed(seed);
    const double resolution = g.width * d.critical_fps(g.loss_ratio, g.final_duration_s, 0);
    const auto found = search_binary({.limits = limits,
                                      .loss_ratio = g.loss_ratio,
                                      .duration_s = g.final_duration_s,
                                      .resolution_fps = resolution},
                                     measure(d));
    EXPECT_TRUE(found && found->throughput_fps);
    return {static_cast<double>(found->trials.size()), found->duration_s};
}

TEST(mlr_search_test,
     finds_two_goals_of_ten_thousand_devices_with_fewer_trials_than_binary_search) {
    effort mlr, binary;
    const std::vector<goal> goals{zero_loss(), partial_loss()};
    for (uint64_t seed = 0; seed < devices; ++seed) {
        auto d = simulated_device::of_seed(seed);
        const auto found = search_mlr({.limits = limits, .goals = goals}, measure(d));
        ASSERT_TRUE(found);
        for (size_t i = 0; i < goals.size(); ++i)
            expect_precise(d, goals[i], found->goals[i], seed);
        mlr.trials += static_cast<double>(found->trials.size());
        for (const goal& g : goals) binary.trials += effort_of_binary(seed, g).trials;
    }
    print_as_documented("trials per device", mlr.trials, "two binary searches", binary.trials);
    EXPECT_LT(mlr.trials, binary.trials * 0.7);
}

TEST(mlr_search_test, takes_less_time_with_short_trials_first) {
    goal g = zero_loss();
    g.final_duration_s = g.duration_sum_s = 60;
    g.initial_duration_s = 1;
    double mlr_s = 0, binary_s = 0;
    for (uint64_t seed = 0; seed < devices; ++seed) {
        auto d = simulated_device::of_seed(seed);
        const auto found = search_mlr({.limits = limits, .goals = {g}}, measure(d));
        ASSERT_TRUE(found);
        expect_precise(d, g, found->goals[0], seed);
        mlr_s += found->duration_s;
        binary_s += effort_of_binary(seed, g).duration_s;
    }
    print_as_documented("seconds of trials per device", mlr_s, "binary search", binary_s);
    EXPECT_LT(mlr_s, binary_s * 0.6);
}

/// The exceed ratio's purpose: rare deep spikes do not move the result, where a goal that permits none reports the worst.
TEST(mlr_search_test, ignores_rare_spikes_with_an_exceed_ratio) {
    const goal tolerant{.name = "tolerant",
                        .exceed_ratio = 0.5,
                        .final_duration_s = 1,
                        .duration_sum_s = 21,
                        .width = 0.005};
    unsigned spiky = 0, near = 0, near_without = 0;
    for (uint64_t seed = 0; seed < devices; ++seed) {
        auto d = simulated_device::of_seed(seed);
        if (d.kind != noise::spikes) continue;
        ++spiky;
        const double noiseless = d.critical_fps(0, 1, 0);
        const auto within = [&](const goal_result& r) {
            return r.regular() && *r.relevant_lower_fps >= noiseless * (1 - 0.005) - 1e-6;
        };
        const auto found = search_mlr({.limits = limits, .goals = {tolerant}}, measure(d));
        ASSERT_TRUE(found);
        expect_precise(d, tolerant, found->goals[0], seed);
        near += within(found->goals[0]) ? 1 : 0;
        const auto strict = search_mlr({.limits = limits, .goals = {zero_loss()}}, measure(d));
        near_without += strict && within(strict->goals[0]) ? 1 : 0;
    }
    std::cout << spiky << " devices with spikes: " << near
              << " within the width of the noiseless end, " << near_without
              << " without an exceed ratio\n";
    EXPECT_GT(near, spiky * 0.999);
    EXPECT_LT(near_without, near);
}

TEST(mlr_search_test, marks_a_device_faster_than_the_maximum_load) {
    simulated_device d{.capacity_fps = 2e8};
    const auto found = search_mlr({.limits = limits, .goals = {zero_loss()}}, measure(d));
    ASSERT_TRUE(found);
    const goal_result& r = found->goals[0];
    EXPECT_FALSE(r.regular());
    EXPECT_EQ(r.why, irregularity::max_load_lower);
    EXPECT_EQ(r.relevant_lower_fps, limits.max_fps);
    EXPECT_EQ(r.conditional_throughput_fps, limits.max_fps);
    EXPECT_FALSE(r.relevant_upper_fps);
}

TEST(mlr_search_test, marks_a_device_slower_than_the_minimum_load) {
    simulated_device d{.capacity_fps = 10};
    const auto found =
        search_mlr({.limits = limits, .goals = {zero_loss(), partial_loss()}}, measure(d));
    ASSERT_TRUE(found);
    for (const goal_result& r : found->goals) {
        EXPECT_EQ(r.why, irregularity::min_load_upper);
        EXPECT_EQ(r.relevant_upper_fps, limits.min_fps);
        EXPECT_FALSE(r.relevant_lower_fps || r.conditional_throughput_fps);
    }
}

TEST(mlr_search_test, never_exceeds_its_limits) {
    for (uint64_t seed = 0; seed < 200; ++seed) {
        auto d = simulated_device::of_seed(seed);
        const load_limits narrow{.min_fps = 1e5, .max_fps = 1e6};
        const auto found = search_mlr({.limits = narrow, .goals = {zero_loss(), partial_loss()}},
                                      [&](const trial_input& in) -> result<trial_output> {
                                          EXPECT_GE(in.load_fps, narrow.min_fps);
                                          EXPECT_LE(in.load_fps, narrow.max_fps);
                                          return d(in);
                                      });
        ASSERT_TRUE(found);
    }
}

/// A trial whose sender did not reach the load counts neither for nor against the device.
TEST(mlr_search_test, marks_the_sender_s_own_limit) {
    simulated_device d{.capacity_fps = 1e7};
    constexpr double sender_fps = 3e6;
    const auto found = search_mlr({.limits = limits, .goals = {zero_loss()}},
                                  [&](const trial_input& in) -> result<trial_output> {
                                      if (in.load_fps <= sender_fps) return d(in);
                                      return trial_output{.loss_ratio = 0.5, .rate_held = false};
                                  });
    ASSERT_TRUE(found);
    const goal_result& r = found->goals[0];
    EXPECT_EQ(r.why, irregularity::sender_limit);
    ASSERT_TRUE(r.relevant_lower_fps);
    EXPECT_LE(*r.relevant_lower_fps, sender_fps);
    EXPECT_GE(*r.relevant_lower_fps, sender_fps * 0.9);
    EXPECT_FALSE(r.relevant_upper_fps);
}

/// A sender that reached the maximum once, where the device lost frames, and then no load in the middle of the two bounds.
TEST(mlr_search_test, ends_at_the_sender_s_limit_below_an_upper_bound) {
    simulated_device d{.capacity_fps = 1e7};
    constexpr double sender_fps = 3e6;
    std::vector<double> refused;
    bool first = true;
    const auto found = search_mlr({.limits = limits, .goals = {zero_loss(), partial_loss()}},
                                  [&](const trial_input& in) -> result<trial_output> {
                                      if (std::exchange(first, false) || in.load_fps <= sender_fps)
                                          return d(in);
                                      EXPECT_TRUE(refused.empty() || in.load_fps <= refused.back());
                                      refused.push_back(in.load_fps);
                                      return trial_output{.loss_ratio = 0.5, .rate_held = false};
                                  });
    ASSERT_TRUE(found && !found->stopped);
    EXPECT_LT(found->trials.size(), 100u);
    for (const goal_result& r : found->goals) {
        EXPECT_EQ(r.why, irregularity::sender_limit);
        ASSERT_TRUE(r.relevant_lower_fps && r.relevant_upper_fps);
        EXPECT_EQ(*r.relevant_upper_fps, limits.max_fps);
        EXPECT_LE(*r.relevant_lower_fps, sender_fps);
        EXPECT_GE(*r.relevant_lower_fps, sender_fps * 0.9);
    }
}

/// The measurer repeats trials. Its failure is final.
TEST(mlr_search_test, does_not_repeat_a_trial_that_missed_its_rate) {
    simulated_device d{.capacity_fps = 1e7};
    std::vector<double> refused;
    const auto found = search_mlr({.limits = limits, .goals = {zero_loss()}},
                                  [&](const trial_input& in) -> result<trial_output> {
                                      if (in.load_fps <= 3e6) return d(in);
                                      refused.push_back(in.load_fps);
                                      return trial_output{.loss_ratio = 0.5, .rate_held = false};
                                  });
    ASSERT_TRUE(found);
    ASSERT_GT(refused.size(), 1u);
    for (size_t i = 1; i < refused.size(); ++i) EXPECT_LT(refused[i], refused[i - 1]);
}

TEST(mlr_search_test, returns_what_it_has_when_it_is_stopped) {
    for (const unsigned stop_after : {0u, 1u, 2u, 3u, 4u}) {
        simulated_device d{.capacity_fps = 1e7};
        unsigned call = 0;
        const auto found =
            search_mlr({.limits = limits, .goals = {zero_loss(), partial_loss()}},
                       [&](const trial_input& in) -> result<trial_output> {
                           if (call++ == stop_after)
                               return fail(ECANCELED, "search", "the operator stopped it");
                           return d(in);
                       });
        ASSERT_TRUE(found);
        ASSERT_TRUE(found->stopped);
        EXPECT_EQ(found->stopped->code, ECANCELED);
        EXPECT_EQ(found->trials.size(), stop_after);
        ASSERT_EQ(found->goals.size(), 2u);
        EXPECT_EQ(found->goals[1].why, irregularity::stopped);
    }
}

TEST(mlr_search_test, a_flickering_device_does_not_hang_it) {
    std::mt19937_64 random(7);
    const auto found =
        search_mlr({.limits = limits, .goals = {zero_loss(), partial_loss()}, .max_trials = 500},
                   [&](const trial_input&) -> result<trial_output> {
                       return trial_output{.loss_ratio = random() % 2 == 0 ? 0.0 : 0.9};
                   });
    ASSERT_TRUE(found);
    EXPECT_LE(found->trials.size(), 500u);
}

TEST(goal_test, of_bad_attributes_is_refused_by_name) {
    const measurer never = [](const trial_input&) -> result<trial_output> {
        ADD_FAILURE();
        return trial_output{};
    };
    const auto text = [&](const goal& g, load_limits l = limits) {
        const auto found = search_mlr({.limits = l, .goals = {g}}, never);
        return found ? std::string("accepted") : found.error().message();
    };
    EXPECT_EQ(text({.name = "a", .loss_ratio = 1}),
              "goal a: the loss ratio is at least 0 and below 1");
    EXPECT_EQ(text({.name = "a", .loss_ratio = -0.1}),
              "goal a: the loss ratio is at least 0 and below 1");
    EXPECT_EQ(text({.name = "a", .exceed_ratio = 1}),
              "goal a: the exceed ratio is at least 0 and below 1");
    EXPECT_EQ(text({.name = "a", .final_duration_s = 0}), "goal a: durations are above 0");
    EXPECT_EQ(text({.name = "a", .duration_sum_s = -1}), "goal a: durations are above 0");
    EXPECT_EQ(text({.name = "a", .initial_duration_s = 61}),
              "goal a: the initial trial duration is above 0 and at most the final one");
    EXPECT_EQ(text({.name = "a", .width = 0}), "goal a: the width is above 0 and below 1");
    EXPECT_EQ(text({.name = "a"}, {0, 1}),
              "load limits: the minimum is above 0 and below the maximum");
    EXPECT_EQ(text({.name = "a"}, {2, 1}),
              "load limits: the minimum is above 0 and below the maximum");
    EXPECT_EQ(search_mlr({.limits = limits, .goals = {}}, never).error().message(),
              "goals: a search needs at least one goal");
    EXPECT_EQ(search_mlr({.limits = limits, .goals = {zero_loss(), zero_loss()}}, never)
                  .error()
                  .message(),
              "goal ndr: two goals have this name");
}

TEST(goal_test, presets_are_valid_and_an_unknown_one_is_refused) {
    for (const char* name : {"rfc2544", "tst009", "ndr", "pdr"}) {
        const auto g = preset(name);
        ASSERT_TRUE(g) << name;
        EXPECT_TRUE(check(*g)) << name;
    }
    EXPECT_EQ(preset("fast").error().message(),
              "fast: is no preset of a goal: the presets are rfc2544, tst009, ndr, pdr");
}

}  // namespace
}  // namespace turnpike::search
