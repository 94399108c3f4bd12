// SPDX-License-Identifier: BSD-3-Clause
#include "accounting.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "schedule.hpp"

namespace turnpike::throughput {
namespace {

/// Random sequences with losses, copies and exchanged frames, beside a set that counts them.
TEST(sequence_account_test, counts_as_a_set_does) {
    std::mt19937_64 random(1);
    sequence_account account;
    for (unsigned round = 0; round < 200; ++round) {
        const uint64_t frames = 1 + random() % 300;
        account.reset(frames);
        std::set<uint64_t> seen;
        uint64_t duplicated = 0, reordered = 0;
        for (unsigned i = 0; i < 500; ++i) {
            const uint64_t n = random() % (frames + 10);
            const auto kind = account.receive(n);
            if (n >= frames) {
                EXPECT_EQ(kind, sequence_account::kind::unknown);
            } else if (seen.contains(n)) {
                EXPECT_EQ(kind, sequence_account::kind::duplicate);
                ++duplicated;
            } else {
                EXPECT_EQ(kind, sequence_account::kind::first);
                reordered += !seen.empty() && n < *seen.rbegin() ? 1 : 0;
                seen.insert(n);
            }
        }
        EXPECT_EQ(account.received, seen.size());
        EXPECT_EQ(account.duplicated, duplicated);
        EXPECT_EQ(account.reordered, reordered);
    }
}

TEST(latency_histogram_test, has_the_percentiles_of_the_sorted_values) {
    std::mt19937_64 random(2);
    latency_histogram h;
    for (const double scale : {3.0, 10.0, 25.0, 45.0}) {
        h.reset();
        std::vector<uint64_t> values(10'000);
        double sum = 0;
        for (uint64_t& v : values) {
            v = static_cast<uint64_t>(
                std::exp2(std::uniform_real_distribution(0.0, scale)(random)));
            h.add(v);
            sum += static_cast<double>(v);
        }
        std::sort(values.begin(), values.end());
        EXPECT_EQ(h.min(), values.front());
        EXPECT_EQ(h.max(), values.back());
        EXPECT_DOUBLE_EQ(h.mean(), sum / 10'000);
        for (const double p : {1.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
            const auto exact =
                static_cast<double>(values[static_cast<size_t>(std::ceil(p * 100)) - 1]);
            EXPECT_NEAR(h.percentile(p), exact, exact / 256 + 1e-9) << p << " of 2^" << scale;
        }
    }
}

TEST(latency_histogram_test, of_no_or_extreme_values_is_defined) {
    latency_histogram h;
    EXPECT_EQ(h.percentile(50), 0);
    EXPECT_EQ(h.min(), 0u);
    h.add(0);
    h.add(UINT64_MAX);
    EXPECT_EQ(h.percentile(50), 0);
    EXPECT_EQ(h.max(), UINT64_MAX);
}

TEST(sequence_account_test, places_of_missing_frames) {
    constexpr uint64_t frames = 1000;
    for (const std::vector<uint64_t>& missing : {std::vector<uint64_t>{},
                                                 {0},
                                                 {63},
                                                 {64},
                                                 {999},
                                                 {5, 6, 7, 500},
                                                 {127, 128, 129, 130, 900}}) {
        sequence_account a;
        a.reset(frames);
        for (uint64_t n = 0; n < frames; ++n)
            if (std::find(missing.begin(), missing.end(), n) == missing.end()) a.receive(n);
        uint64_t longest = 0, run = 0;
        for (size_t i = 0; i < missing.size(); ++i) {
            run = i > 0 && missing[i] == missing[i - 1] + 1 ? run + 1 : 1;
            longest = std::max(longest, run);
        }
        EXPECT_EQ(a.longest_gap(frames), longest);
        EXPECT_EQ(a.last_missing(frames),
                  missing.empty() ? std::nullopt : std::optional(missing.back()));
        if (!missing.empty()) {
            EXPECT_NE(a.last_missing(missing.back()), std::optional(missing.back()));
        }
    }
}

TEST(schedule_test, has_two_rates) {
    const schedule s{.first = 10, .total = 15, .interval = 100, .then = 300};
    EXPECT_EQ(s.due(0), 1u);
    EXPECT_EQ(s.due(99), 1u);
    EXPECT_EQ(s.due(100), 2u);
    EXPECT_EQ(s.due(999), 10u);
    EXPECT_EQ(s.due(1000), 11u);
    EXPECT_EQ(s.due(1299), 11u);
    EXPECT_EQ(s.due(1300), 12u);
    EXPECT_EQ(s.due(1e9), 15u);
    for (uint64_t n = 0; n < 15; ++n) {
        EXPECT_EQ(s.due(s.time_of(n)), n + 1);
        if (n > 0) {
            EXPECT_EQ(s.due(s.time_of(n) - 1), n);
        }
    }
    const schedule one{.first = 10, .total = 10, .interval = 100};
    EXPECT_EQ(one.due(5000), 10u);
    const schedule burst{.first = 10, .total = 10};
    EXPECT_EQ(burst.due(0), 10u);
}

}  // namespace
}  // namespace turnpike::throughput
