// SPDX-License-Identifier: BSD-3-Clause
#include "rxtx/clock_line.hpp"

#include <cmath>

namespace turnpike::rxtx {

/// A reading no farther from the line than errors of readings, of the rate and a drift of 1e-4 explain.
bool clock_line::fits(uint64_t tsc, uint64_t ticks) const noexcept {
    constexpr double parts = 20'000, drift = 1e-4;  // of the window, 1 s: 50 us
    const double away = cycles(tsc_of(ticks) - tsc),
                 error = static_cast<double>(window_) / parts + 2 * std::abs(cycles_per_tick_),
                 since = cycles(tsc - last_.tsc), baseline = cycles(last_.tsc - first_.tsc);
    return std::abs(away) <= error * (1 + since / baseline) + since * drift;
}

/// As if the clock had always been where a reading found it.
void clock_line::move_to(uint64_t tsc, uint64_t ticks) noexcept {
    const auto expected =
        last_.ticks +
        static_cast<uint64_t>(static_cast<int64_t>(cycles(tsc - last_.tsc) / cycles_per_tick_));
    jump_ = ticks - expected;
    stepped_at_ = tsc;
    first_.ticks += jump_;
    middle_.ticks += jump_;
    last_.ticks += jump_;
}

bool clock_line::add(uint64_t tsc, uint64_t ticks) noexcept {
    if (!begun_) {
        begun_ = true;
        first_ = middle_ = last_ = {tsc, ticks};
        return true;
    }
    bool steady = true;
    if (cycles_per_tick_ != 0) {
        steady = fits(tsc, ticks);
        if (steady) {
            known_ = cycles_per_tick_ > 0;
        } else if (known_ && !stepped_) {
            move_to(tsc, ticks);
        } else {
            known_ = false;
            cycles_per_tick_ = 0;
            jump_ = 0;
            first_ = middle_ = last_;
        }
    }
    stepped_ = !steady;
    last_ = {tsc, ticks};
    if (tsc - middle_.tsc > window_) {
        first_ = middle_;
        middle_ = last_;
    }
    if (ticks != first_.ticks && tsc > first_.tsc)
        cycles_per_tick_ = cycles(tsc - first_.tsc) / cycles(ticks - first_.ticks);
    return steady;
}

}  // namespace turnpike::rxtx
