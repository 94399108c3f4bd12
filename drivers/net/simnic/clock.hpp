// SPDX-License-Identifier: BSD-3-Clause
// The clock of RX timestamps: the TSC, or a clock of another frequency, derived from it.
#pragma once

#include <cstdint>

namespace turnpike::simnic {

inline constexpr uint64_t max_clock_hz = 1'000'000'000;

struct timestamp_clock {
    uint64_t hz = 0;  ///< 0: the TSC's
    uint32_t step_ms =
        0;  ///< it jumps forward by a second each time that this many milliseconds have passed; 0: it does not
};

/// Ticks of a clock at a time of the TSC.
inline uint64_t clock_ticks(const timestamp_clock& c, uint64_t tsc, uint64_t tsc_hz) noexcept {
    const uint64_t hz = c.hz == 0 ? tsc_hz : c.hz,
                   ticks = c.hz == 0 ? tsc : tsc / tsc_hz * hz + tsc % tsc_hz * hz / tsc_hz;
    return c.step_ms == 0 ? ticks : ticks + tsc / (tsc_hz / 1000 * c.step_ms) * hz;
}

}  // namespace turnpike::simnic
