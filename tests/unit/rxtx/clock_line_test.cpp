// SPDX-License-Identifier: BSD-3-Clause
// Clocks of known frequency and drift against the TSC.
#include "rxtx/clock_line.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace turnpike::rxtx {
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

TEST(clock_line_test, needs_three_readings) {
    clock_line line(window);
    EXPECT_FALSE(line.is_known());
    line.add(1000, 50);
    EXPECT_FALSE(line.is_known());
    line.add(2000, 50);
    EXPECT_FALSE(line.is_known()) << "a clock that stands";
    line.add(3000, 60);
    EXPECT_FALSE(line.is_known());
    line.add(4000, 65);
    EXPECT_TRUE(line.is_known());
}

TEST(clock_line_test, of_any_frequency_and_offset_is_exact_to_a_tick) {
    for (const double hz : {125e6, 1e9, 2.6e9, 10e6})
        for (const uint64_t offset : {uint64_t{0}, uint64_t{1} << 62, UINT64_MAX - 1'000'000})
            EXPECT_LE(largest_error_us({hz, 0, offset}, 5), 2e6 / hz + 0.001)
                << hz << " " << offset;
}

TEST(clock_line_test, names_a_step_and_goes_on) {
    for (const double step_s : {1.0, 0.001, -0.001, -3600.0}) {
        clock_line line(window);
        const clock_of_drift clock{1e9, 1e-7, uint64_t{1} << 60};
        const auto jump = static_cast<uint64_t>(static_cast<int64_t>(step_s * 1e9));
        unsigned steps = 0;
        for (uint64_t n = 1; n <= 1000; ++n) {
            const uint64_t tsc = n * step, more = n > 500 ? jump : 0;
            const bool steady = line.add(tsc, clock.at(tsc) + more);
            EXPECT_EQ(steady, n != 501) << n;
            EXPECT_EQ(line.is_known(), n > 2) << n;
            steps += steady ? 0 : 1;
            if (n < 4) continue;
            const auto error =
                static_cast<int64_t>(line.tsc_of(clock.at(tsc + step / 2) + more) - tsc - step / 2);
            EXPECT_LT(std::abs(static_cast<double>(error)) / tsc_hz, 1e-6) << step_s << " " << n;
        }
        EXPECT_EQ(steps, 1u) << step_s;
    }
}

/// A second ahead every 100 ms, read 10 to 150 ms after the last reading: a line that is known is right, and frames have the time
/// of their arrival, or that of their poll.
TEST(clock_line_test, of_a_clock_that_steps_between_late_readings_is_right_or_unknown) {
    constexpr uint64_t second = 125'000'000, limit = window / 10, wait = 13'000;
    const clock_of_drift clock{125e6, 1e-7, 77};
    const auto ticks = [&](uint64_t at) { return clock.at(at) + at / (10 * step) * second; };
    for (const uint64_t seed : {1, 2, 3, 4, 5}) {
        std::mt19937_64 random(seed);
        clock_line line(window);
        unsigned known = 0;
        uint64_t tsc = random() % (10 * step), last = tsc;
        for (int n = 0; n < 5000; ++n, last = tsc) {
            tsc += random() % 5 == 0 ? step + random() % (14 * step) : step;
            line.add(tsc, ticks(tsc));
            if (!line.is_known()) continue;
            ++known;
            for (uint64_t arrived = last; arrived < tsc + step; arrived += step / 20) {
                const uint64_t seen = arrived + wait,
                               taken = line.arrival_of(ticks(arrived), seen, limit);
                EXPECT_NEAR(static_cast<double>(static_cast<int64_t>(taken - arrived)), 0, wait)
                    << seed << " " << n;
                // Frames from before the one step that this reading found.
                if (arrived < tsc && tsc / (10 * step) - last / (10 * step) < 2) {
                    EXPECT_LT(taken, seen) << seed << " " << n;
                }
            }
        }
        EXPECT_GT(known, 3000u);
    }
}

TEST(clock_line_test, takes_another_frequency_after_three_readings) {
    clock_line line(window);
    uint64_t tsc = 0, ticks = 0;
    for (int n = 0; n < 500; ++n) line.add(tsc += step, ticks += 1000);
    EXPECT_FALSE(line.add(tsc += step, ticks += 2000)) << "a step";
    EXPECT_FALSE(line.add(tsc += step, ticks += 2000));
    EXPECT_FALSE(line.is_known());
    EXPECT_TRUE(line.add(tsc += step, ticks += 2000));
    EXPECT_TRUE(line.is_known());
    EXPECT_EQ(line.tsc_of(ticks + 1000), tsc + step / 2);
}

/// Readings at any distance, each up to 10 us off, of slow and fast clocks, are no steps.
TEST(clock_line_test, takes_no_error_of_a_reading_for_a_step) {
    std::mt19937_64 random(7);
    for (const double hz : {1e6, 125e6, 1e9}) {
        clock_line line(window);
        const clock_of_drift clock{hz, 1e-7, 5};
        uint64_t tsc = 0;
        for (int n = 0; n < 2000; ++n) {
            tsc += step + random() % (n % 50 == 49 ? 100 * step : step / 10);
            EXPECT_TRUE(line.add(tsc + random() % 26'000, clock.at(tsc))) << hz << " " << n;
        }
    }
}

/// A timestamp of a clock that stepped after its last reading is no time.
TEST(clock_line_test, believes_no_arrival_that_is_far_from_its_poll) {
    constexpr uint64_t limit = window / 10;
    const clock_of_drift clock{125e6, 0, UINT64_MAX - 10'000'000};  // the ticks wrap
    clock_line line(window);
    for (uint64_t tsc = 0; tsc <= 100 * step; tsc += step) line.add(tsc, clock.at(tsc));
    const uint64_t arrived = 100 * step + 5'000;
    for (const uint64_t seen : {arrived - 1'000, arrived, arrived + 1'000'000, arrived + limit / 2})
        EXPECT_NEAR(static_cast<double>(line.arrival_of(clock.at(arrived), seen, limit)),
                    static_cast<double>(arrived), 50)
            << seen;
    const auto second = static_cast<uint64_t>(clock.hz);
    for (const uint64_t by : {second, 0 - second, second * 1'000'000, uint64_t{1} << 63})
        EXPECT_EQ(line.arrival_of(clock.at(arrived) + by, arrived + 700, limit), arrived + 700);
    EXPECT_EQ(line.arrival_of(0, arrived + 700, limit), arrived + 700);
}

TEST(clock_line_test, follows_a_clock_that_drifts) {
    // Oscillators drift by less than a hundredth of it in their warm-up.
    EXPECT_LT(largest_error_us({1e9, 1e-6, 77}, 60), 0.05);
    EXPECT_LT(largest_error_us({125e6, -1e-6, 77}, 60), 0.07);
}

}  // namespace
}  // namespace turnpike::rxtx
