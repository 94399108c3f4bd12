// SPDX-License-Identifier: BSD-3-Clause
// The clock of RX timestamps: the TSC, or a clock of another frequency, derived from it.
#pragma once

#include <cstdint>

namespace turnpike::simnic {

inline constexpr uint64_t max_clock_hz = 1'000'000'000;

/// Ticks of a clock of `hz` (0: the TSC) at a time of the TSC.
inline uint64_t clock_ticks(uint64_t tsc, uint64_t hz, uint64_t tsc_hz) noexcept {
    if (hz == 0) return tsc;
    return tsc / tsc_hz * hz + tsc % tsc_hz * hz / tsc_hz;
}

}  // namespace turnpike::simnic
