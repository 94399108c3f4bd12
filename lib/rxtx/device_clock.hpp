// SPDX-License-Identifier: BSD-3-Clause
// RX timestamps of a port in terms of the TSC: readings of both clocks at one time, again and again, and the line through them.
#pragma once

#include <cstdint>
#include <utility>

#include "rxtx/clock_line.hpp"

namespace turnpike::rxtx {

/// The clock of a port's RX timestamps.
class device_clock {
  public:
    explicit device_clock(uint16_t port, double cycles_per_second) noexcept;
    /// Read the clock often enough: at most every 10 ms.
    void update(uint64_t now) noexcept {
        if (now - last_ > interval_) read();
    }
    /// Enable the clock of a started port, and read it once; false: the driver reads none. The line is known after the next reading.
    [[nodiscard]] bool begin() noexcept;
    /// begin(), and wait until the line is known.
    [[nodiscard]] bool start() noexcept;
    /// Whether the clock stepped since the last call.
    [[nodiscard]] bool consume_step() noexcept { return std::exchange(stepped_, false); }
    [[nodiscard]] const clock_line& line() const noexcept { return line_; }

  private:
    bool read() noexcept;

    uint16_t port_;
    uint64_t interval_, undisturbed_;  ///< TSC cycles
    uint64_t last_ = 0;
    bool stepped_ = false;
    clock_line line_;
};

}  // namespace turnpike::rxtx
