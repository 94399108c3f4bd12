// SPDX-License-Identifier: BSD-3-Clause
#include "rxtx/device_clock.hpp"

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <unistd.h>

namespace turnpike::rxtx {
namespace {

constexpr double update_s = 0.01, window_s = 1, undisturbed_s = 20e-6;

/// Ticks of the clock of RX timestamps; false: the driver reads none. Drivers have one of two functions.
bool read_ticks(uint16_t port, uint64_t& ticks) noexcept {
    if (rte_eth_read_clock(port, &ticks) == 0) return true;
    timespec time{};
    if (rte_eth_timesync_read_time(port, &time) != 0) return false;
    ticks =
        static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
    return true;
}

}  // namespace

device_clock::device_clock(uint16_t port, double cycles_per_second) noexcept
    : port_(port),
      interval_(static_cast<uint64_t>(update_s * cycles_per_second)),
      undisturbed_(static_cast<uint64_t>(undisturbed_s * cycles_per_second)),
      line_(static_cast<uint64_t>(window_s * cycles_per_second)) {}

bool device_clock::read() noexcept {
    constexpr int tries = 3;
    for (int i = 0; i < tries; ++i) {
        uint64_t ticks = 0;
        const uint64_t earlier = rte_rdtsc_precise();
        if (!read_ticks(port_, ticks)) return false;
        const uint64_t later = rte_rdtsc_precise();
        last_ = later;
        if (later - earlier > undisturbed_) continue;  // preempted: the next update reads again
        stepped_ |= !line_.add(earlier + (later - earlier) / 2, ticks);
        break;
    }
    return true;
}

bool device_clock::begin() noexcept {
    if (uint64_t ticks = 0; rte_eth_read_clock(port_, &ticks) != 0)
        (void)rte_eth_timesync_enable(port_);
    return read();
}

bool device_clock::start() noexcept {
    constexpr int readings = 100;
    constexpr unsigned pause_us = 10'000;
    if (!begin()) return false;
    for (int i = 0; i < readings && !(i > 1 && line_.is_known()); ++i) {
        usleep(pause_us);
        if (!read()) return false;
    }
    return line_.is_known();
}

}  // namespace turnpike::rxtx
