// SPDX-License-Identifier: BSD-3-Clause
// Rates over windows, with the test's clock.
#include "observe/rate_history.hpp"

#include <gtest/gtest.h>

namespace turnpike {
namespace {

using observe::rate_history;
using observe::rated_counts;
using observe::rated_kind;
using observe::rated_object;

rated_object rated_port(uint64_t life, const rated_counts& counts,
                        const std::string& name = "west") {
    return {.kind = rated_kind::port, .life = life, .name = name, .counts = counts};
}
rated_object rated_drop(uint64_t life, uint64_t packets) {
    return {.kind = rated_kind::drop,
            .life = life,
            .name = "no_route",
            .owner = "west",
            .counts = {packets}};
}

/// The rate of a counter of the only object of that kind; nullopt: none.
std::optional<double> rate_of(const rate_history& h, uint64_t window_s, size_t counter = 0,
                              rated_kind kind = rated_kind::port) {
    for (const auto& [key, e] : h.entries()) {
        if (e.object.kind != kind) continue;
        const auto r = rate_history::over(e, 1000 * window_s);
        return r ? std::optional(r->per_s[counter]) : std::nullopt;
    }
    return {};
}

TEST(rate_history, means_of_each_window) {
    rate_history h;
    // 100/s for a minute, 1,000/s for ten seconds, 10,000/s for the last second.
    uint64_t n = 5'000'000;
    for (unsigned s = 0; s <= 120; ++s) {
        n += s == 120 ? 10'000 : s > 110 ? 1000 : 100;
        h.add(7000 + uint64_t{1000} * s, {rated_port(1, {n, 64 * n, 0, 0, 0, 0})});
    }
    EXPECT_DOUBLE_EQ(rate_of(h, 1).value(), 10'000);
    EXPECT_DOUBLE_EQ(rate_of(h, 10).value(), (9 * 1000 + 10'000) / 10.0);
    EXPECT_DOUBLE_EQ(rate_of(h, 60).value(), (50 * 100 + 9 * 1000 + 10'000) / 60.0);
    EXPECT_DOUBLE_EQ(rate_of(h, 1, 1).value(), 640'000);
    EXPECT_DOUBLE_EQ(rate_of(h, 1, 2).value(), 0);
    EXPECT_EQ(h.entries().begin()->second.samples.size(), 121U);
}

TEST(rate_history, a_young_object_has_the_mean_since_its_first_sample) {
    rate_history h;
    EXPECT_EQ(rate_of(h, 1), std::nullopt);
    h.add(1000, {rated_port(1, {1'000'000})});
    EXPECT_EQ(rate_of(h, 1), std::nullopt) << "counts before the first sample are no rate";
    h.add(2000, {rated_port(1, {1'000'050})});
    EXPECT_DOUBLE_EQ(rate_of(h, 60).value(), 50);
    h.add(4000, {rated_port(1, {1'000'350})});
    EXPECT_DOUBLE_EQ(rate_of(h, 1).value(), 150) << "a late sample: the mean of two seconds";
    EXPECT_DOUBLE_EQ(rate_of(h, 60).value(), 350 / 3.0);
    EXPECT_EQ(rate_history::over(h.entries().begin()->second, 60'000)->ms, 3000U);
}

TEST(rate_history, samples_that_are_a_little_early_or_late) {
    rate_history h;
    uint64_t at = 0;
    for (unsigned s = 0; s < 70; ++s) {
        at += s % 2 != 0 ? 999 : 1001;
        h.add(at, {rated_port(1, {static_cast<uint64_t>(s) * 1000})});
    }
    EXPECT_NEAR(rate_of(h, 1).value(), 1000, 2);
    EXPECT_NEAR(static_cast<double>(rate_history::over(h.entries().begin()->second, 1000)->ms),
                1000, 10);
    EXPECT_NEAR(static_cast<double>(rate_history::over(h.entries().begin()->second, 10000)->ms),
                10000, 10);
    EXPECT_NEAR(static_cast<double>(rate_history::over(h.entries().begin()->second, 60000)->ms),
                60000, 10);
}

TEST(rate_history, whole_numbers_stay_whole) {
    // 0.1 s is no binary fraction: a rate of times in seconds would be 2.0000000000000018 or so.
    for (uint64_t at = 0; at < 100'000; at += 100) {
        rate_history h;
        h.add(at + 100, {rated_port(1, {7})});
        h.add(at + 1100, {rated_port(1, {9})});
        EXPECT_EQ(rate_of(h, 1), 2.0) << at;
    }
}

TEST(rate_history, lines_of_ports_are_five_minutes) {
    rate_history h;
    for (uint64_t s = 1; s <= 400; ++s) h.add(1000 * s, {rated_port(1, {s}), rated_drop(1, s)});
    for (const auto& [key, e] : h.entries()) {
        const bool port = e.object.kind == rated_kind::port;
        EXPECT_EQ(e.samples.size(), port ? 301U : 61U);
        EXPECT_EQ(e.samples.front().at_ms, port ? 100'000U : 340'000U);
        EXPECT_EQ(rate_history::over(e, 60'000)->ms, 60'000U) << "the window is the same";
    }
}

TEST(rate_history, a_port_that_is_removed_and_added_again) {
    rate_history h;
    for (unsigned s = 0; s < 20; ++s)
        h.add(uint64_t{1000} * s, {rated_port(1, {static_cast<uint64_t>(s) * 1'000'000})});
    // Another life with fewer counts, then more: neither is a rate.
    h.add(20000, {rated_port(2, {5})});
    EXPECT_EQ(rate_of(h, 1), std::nullopt);
    EXPECT_EQ(h.entries().size(), 1U) << "the removed port is forgotten";
    h.add(21000, {rated_port(2, {15})});
    EXPECT_DOUBLE_EQ(rate_of(h, 60).value(), 10);
    h.add(22000, {});
    EXPECT_TRUE(h.entries().empty());
    h.add(23000, {rated_port(2, {1'000'000})});
    EXPECT_EQ(rate_of(h, 1), std::nullopt);
}

TEST(rate_history, a_counter_that_restarts_is_no_rate) {
    rate_history h;
    for (unsigned s = 0; s < 20; ++s) {
        const auto n = static_cast<uint64_t>(s);
        h.add(uint64_t{1000} * s, {rated_port(1, {1000 * n, 0, 0, 0, 7000 * n, 0})});
    }
    h.add(20000, {rated_port(1, {20'000, 0, 0, 0, 3, 0})});
    EXPECT_EQ(rate_of(h, 1, 4), std::nullopt);
    h.add(21000, {rated_port(1, {21'000, 0, 0, 0, 5, 0})});
    EXPECT_DOUBLE_EQ(rate_of(h, 60, 4).value(), 2);
    EXPECT_DOUBLE_EQ(rate_of(h, 60).value(), 1000);
}

TEST(rate_history, a_new_drop_reason_counted_nothing_before) {
    rate_history h;
    h.add(1000, {rated_port(1, {0}), rated_drop(1, 500)});
    EXPECT_EQ(rate_of(h, 1, 0, rated_kind::drop), std::nullopt) << "the port is new";
    rate_history other;
    other.add(1000, {rated_port(1, {0})});
    other.add(2000, {rated_port(1, {0}), rated_drop(1, 500)});
    EXPECT_DOUBLE_EQ(rate_of(other, 1, 0, rated_kind::drop).value(), 500);
    other.add(3000, {rated_port(1, {0}), rated_drop(1, 500)});
    EXPECT_DOUBLE_EQ(rate_of(other, 1, 0, rated_kind::drop).value(), 0);
    EXPECT_DOUBLE_EQ(rate_of(other, 10, 0, rated_kind::drop).value(), 250);
    // A port of another life, with drops that happened before its first sample.
    other.add(4000, {rated_port(2, {0}), rated_drop(2, 900)});
    EXPECT_EQ(rate_of(other, 1, 0, rated_kind::drop), std::nullopt);
}

TEST(rate_history, time_that_does_not_advance_is_ignored) {
    rate_history h;
    h.add(5000, {rated_port(1, {10})});
    h.add(5000, {rated_port(1, {20})});
    h.add(4000, {rated_port(1, {30})});
    EXPECT_EQ(rate_of(h, 1), std::nullopt);
    h.add(6000, {rated_port(1, {40})});
    EXPECT_DOUBLE_EQ(rate_of(h, 1).value(), 30);
}

}  // namespace
}  // namespace turnpike
