// SPDX-License-Identifier: BSD-3-Clause
// RX timestamps of a port in terms of the TSC: readings of both clocks at one time, again and again, and the line through them.
// The clock of a NIC drifts by some 1e-5, or is steered by PTP.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace turnpike::throughput {

/// The line through readings of a clock and of the TSC.
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

/// The clock of a port's RX timestamps.
class device_clock {
  public:
    explicit device_clock(uint16_t port, double cycles_per_second) noexcept;
    /// Read the clock often enough: at most every 10 ms.
    void update(uint64_t now) noexcept {
        if (now - last_ > interval_) read();
    }
    /// Read until the line is known; false: the port has no clock that can be read.
    [[nodiscard]] bool start() noexcept;
    /// Whether the clock stepped since the last call.
    [[nodiscard]] bool take_step() noexcept { return std::exchange(stepped_, false); }
    [[nodiscard]] uint64_t tsc_of(uint64_t timestamp) const noexcept {
        return line_.tsc_of(timestamp);
    }

  private:
    bool read() noexcept;

    uint16_t port_;
    uint64_t interval_, undisturbed_;  ///< TSC cycles
    uint64_t last_ = 0;
    bool stepped_ = false;
    clock_line line_;
};

/// The kernel's clock and the TSC.
struct clock_pair {
    std::chrono::steady_clock::time_point kernel;
    uint64_t tsc;
};
/// Both clocks at one time: a pair between whose readings the thread was preempted is read again.
[[nodiscard]] clock_pair read_clocks() noexcept;
/// Why a duration by the TSC and by the kernel's clock are not the same one; empty: they are.
[[nodiscard]] std::string clock_difference(double by_tsc_s, double by_kernel_s);

}  // namespace turnpike::throughput
