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

    /// False: the clock stepped since the last reading. The line moves with it, and keeps its rate. Where the next reading is
    /// not on it either, the rate was another: the line begins anew.
    bool add(uint64_t tsc, uint64_t ticks) noexcept;
    /// A reading was on the line through two or more before it.
    [[nodiscard]] bool is_known() const noexcept { return known_; }
    [[nodiscard]] uint64_t tsc_of(uint64_t ticks) const noexcept {
        const auto since = static_cast<int64_t>(ticks - last_.ticks);
        return last_.tsc + static_cast<uint64_t>(
                               static_cast<int64_t>(static_cast<double>(since) * cycles_per_tick_));
    }
    /// TSC of a frame's arrival by its timestamp, which may be of before the last step. A time more than `limit` cycles from
    /// `seen`, when the frame was polled, is none: the clock stepped after its last reading.
    /// Answers  `seen` then, too
    [[nodiscard]] uint64_t arrival_of(uint64_t timestamp, uint64_t seen,
                                      uint64_t limit) const noexcept {
        const double polled = cycles(seen - last_.tsc),
                     before_step = cycles(timestamp + jump_ - last_.ticks) * cycles_per_tick_;
        double away = cycles(timestamp - last_.ticks) * cycles_per_tick_ - polled;
        if (jump_ != 0 && before_step <= cycles(stepped_at_ - last_.tsc) &&
            std::abs(before_step - polled) < std::abs(away))
            away = before_step - polled;
        if (!(std::abs(away) <= static_cast<double>(limit))) return seen;
        return seen + static_cast<uint64_t>(static_cast<int64_t>(away));
    }

  private:
    struct sample {
        uint64_t tsc = 0, ticks = 0;
    };
    /// The first of two times minus the second.
    [[nodiscard]] static double cycles(uint64_t difference) noexcept {
        return static_cast<double>(static_cast<int64_t>(difference));
    }
    [[nodiscard]] bool fits(uint64_t tsc, uint64_t ticks) const noexcept;
    void move_to(uint64_t tsc, uint64_t ticks) noexcept;

    uint64_t window_;
    bool begun_ = false, known_ = false;
    bool stepped_ = false;  ///< at the last reading
    uint64_t stepped_at_ = 0,
             jump_ = 0;  ///< TSC of the reading that found the last step, and its ticks
    sample first_{}, middle_{}, last_{};
    double cycles_per_tick_ = 0;
};

}  // namespace turnpike::rxtx
