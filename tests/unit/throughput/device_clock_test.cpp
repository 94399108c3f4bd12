// SPDX-License-Identifier: BSD-3-Clause
// Clocks of known frequency and drift against the TSC.
#include "device_clock.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace turnpike::throughput {
namespace {

constexpr double tsc_hz = 2.6e9;
constexpr uint64_t window = 2'600'000'000, step = 26'000'000;  // 1 s, 10 ms

/// Ticks of a clock whose frequency changes by `drift` a second (a share).
struct clock_of_drift {
    double hz, drift;
    uint64_t offset;
    [[nodiscard]] uint64_t at(uint64_t tsc) const {
        const double s = static_cast<double>(tsc) / tsc_hz;
        return offset + static_cast<uint64_t>(hz * (s + drift * s * s / 2));
    }
};

/// The error of arrivals up to 10 ms before and after each reading, in microseconds.
double largest_error_us(const clock_of_drift& clock, double seconds) {
    clock_line line(window);
    double largest = 0;
    uint64_t tsc = 0;
    for (; static_cast<double>(tsc) < seconds * tsc_hz; tsc += step) {
        line.add(tsc, clock.at(tsc));
        if (!line.is_known()) continue;
        for (const int64_t away : {-1, 1}) {
            const uint64_t arrived = tsc + static_cast<uint64_t>(away * static_cast<int64_t>(step));
            const auto error =
                static_cast<double>(static_cast<int64_t>(line.tsc_of(clock.at(arrived)) - arrived));
            largest = std::max(largest, std::abs(error) / tsc_hz * 1e6);
        }
    }
    return largest;
}

TEST(clock_line_test, needs_two_readings) {
    clock_line line(window);
    EXPECT_FALSE(line.is_known());
    line.add(1000, 50);
    EXPECT_FALSE(line.is_known());
    line.add(2000, 50);
    EXPECT_FALSE(line.is_known()) << "a clock that stands";
    line.add(3000, 60);
    EXPECT_TRUE(line.is_known());
}

TEST(clock_line_test, of_any_frequency_and_offset_is_exact_to_a_tick) {
    for (const double hz : {125e6, 1e9, 2.6e9, 10e6})
        for (const uint64_t offset : {uint64_t{0}, uint64_t{1} << 62, UINT64_MAX - 1'000'000})
            EXPECT_LE(largest_error_us({hz, 0, offset}, 5), 2e6 / hz + 0.001)
                << hz << " " << offset;
}

TEST(clock_line_test, follows_a_clock_that_drifts) {
    // Oscillators drift by less than a hundredth of it in their warm-up.
    EXPECT_LT(largest_error_us({1e9, 1e-6, 77}, 60), 0.05);
    EXPECT_LT(largest_error_us({125e6, -1e-6, 77}, 60), 0.07);
}

}  // namespace
}  // namespace turnpike::throughput
