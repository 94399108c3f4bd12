// SPDX-License-Identifier: BSD-3-Clause
// The times of a trial's frames: equally spaced at one rate, then perhaps at another; or all at once.
//
//   frame   0 1 2 ... first-1 | first ... total-1
//   time    0 i 2i            | first*i + (n - first)*then
#pragma once

#include <algorithm>
#include <cstdint>

namespace turnpike::throughput {

struct schedule {
    uint64_t first = 0;  ///< frames at the first rate
    uint64_t total = 0;
    double interval = 0, then = 0;  ///< cycles between frames of the two rates; 0: all at once

    /// Frames that are due `elapsed` cycles after the start.
    [[nodiscard]] uint64_t due(double elapsed) const noexcept {
        if (interval <= 0) return total;
        const double turn = interval * static_cast<double>(first);
        if (elapsed < turn || first == total)
            return std::min(first, static_cast<uint64_t>(elapsed / interval) + 1);
        return std::min(total, first + static_cast<uint64_t>((elapsed - turn) / then) + 1);
    }
    /// Cycles after the start.
    [[nodiscard]] double time_of(uint64_t frame) const noexcept {
        if (frame <= first) return interval * static_cast<double>(frame);
        return interval * static_cast<double>(first) + then * static_cast<double>(frame - first);
    }
};

}  // namespace turnpike::throughput
