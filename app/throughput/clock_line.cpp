// SPDX-License-Identifier: BSD-3-Clause
#include "device_clock.hpp"

namespace turnpike::throughput {

void clock_line::add(uint64_t tsc, uint64_t ticks) noexcept {
    last_ = {tsc, ticks};
    if (readings_++ == 0) {
        first_ = middle_ = last_;
        return;
    }
    if (tsc - middle_.tsc > window_) {
        first_ = middle_;
        middle_ = last_;
    }
    if (ticks != first_.ticks && tsc > first_.tsc)
        cycles_per_tick_ = static_cast<double>(tsc - first_.tsc) /
                           static_cast<double>(static_cast<int64_t>(ticks - first_.ticks));
}

}  // namespace turnpike::throughput
