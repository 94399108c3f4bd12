// SPDX-License-Identifier: BSD-3-Clause
#include "rxtx/clock_line.hpp"

#include <cmath>

namespace turnpike::rxtx {

/// A reading farther from the line than errors of readings, of the rate and a drift of 1e-4 explain.
bool clock_line::steps(uint64_t tsc, uint64_t ticks) const noexcept {
    constexpr unsigned enough = 3;
    if (readings_ < enough) return false;
    constexpr double parts = 20'000, drift = 1e-4;  // of the window, 1 s: 50 us
    const double error = static_cast<double>(window_) / parts + 2 * cycles_per_tick_,
                 since = static_cast<double>(tsc - last_.tsc),
                 baseline = static_cast<double>(last_.tsc - first_.tsc);
    const auto away = static_cast<double>(static_cast<int64_t>(tsc_of(ticks) - tsc));
    return std::abs(away) > error * (1 + since / baseline) + since * drift;
}

bool clock_line::add(uint64_t tsc, uint64_t ticks) noexcept {
    if (steps(tsc, ticks)) {
        first_ = middle_ = last_ = {tsc, ticks};
        readings_ = 1;
        return false;
    }
    last_ = {tsc, ticks};
    if (readings_++ == 0) {
        first_ = middle_ = last_;
        return true;
    }
    if (tsc - middle_.tsc > window_) {
        first_ = middle_;
        middle_ = last_;
    }
    if (ticks != first_.ticks && tsc > first_.tsc)
        cycles_per_tick_ = static_cast<double>(tsc - first_.tsc) /
                           static_cast<double>(static_cast<int64_t>(ticks - first_.ticks));
    return true;
}

}  // namespace turnpike::rxtx
