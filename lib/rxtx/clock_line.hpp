// SPDX-License-Identifier: BSD-3-Clause
// The line through readings of a clock and of the TSC. The clock of a NIC drifts by some 1e-5, or is steered by PTP.
#pragma once

#include <cmath>
#include <cstdint>

namespace turnpike::rxtx {

class clock_line {
  public:
    /// window  TSC cycles whose readings determine the rate: between one and two of them
    explicit clock_line(uint64_t window) noexcept : window_(window) {}

    /// False: the clock stepped since the last reading. The line then begins anew, with the rate that it had.
    bool add(uint64_t tsc, uint64_t ticks) noexcept;
    /// At least two readings at different times.
    [[nodiscard]] bool is_known() const noexcept { return cycles_per_tick_ > 0; }
    [[nodiscard]] uint64_t tsc_of(uint64_t ticks) const noexcept {
        const auto since = static_cast<int64_t>(ticks - last_.ticks);
        return last_.tsc + static_cast<uint64_t>(
                               static_cast<int64_t>(static_cast<double>(since) * cycles_per_tick_));
    }
    /// TSC of a frame's arrival by its timestamp. A time more than `limit` cycles from `seen`, when the frame was polled, is
    /// none: the clock stepped after its last reading.
    /// Answers  `seen` then, too
    [[nodiscard]] uint64_t arrival_of(uint64_t timestamp, uint64_t seen,
                                      uint64_t limit) const noexcept {
        const auto ticks = static_cast<double>(static_cast<int64_t>(timestamp - last_.ticks)),
                   polled = static_cast<double>(static_cast<int64_t>(seen - last_.tsc));
        const double away = ticks * cycles_per_tick_ - polled;
        if (!(std::abs(away) <= static_cast<double>(limit))) return seen;
        return seen + static_cast<uint64_t>(static_cast<int64_t>(away));
    }

  private:
    struct sample {
        uint64_t tsc = 0, ticks = 0;
    };
    [[nodiscard]] bool steps(uint64_t tsc, uint64_t ticks) const noexcept;

    uint64_t window_;
    unsigned readings_ = 0;
    sample first_{}, middle_{}, last_{};
    double cycles_per_tick_ = 0;
};

}  // namespace turnpike::rxtx
