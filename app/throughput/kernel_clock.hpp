// SPDX-License-Identifier: BSD-3-Clause
// The kernel's clock beside the TSC, which times the trials: a TSC that runs at another rate than measured would falsify them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace turnpike::throughput {

struct clock_pair {
    std::chrono::steady_clock::time_point kernel;
    uint64_t tsc;
};
/// Both clocks at one time: a pair between whose readings the thread was preempted is read again.
[[nodiscard]] clock_pair read_clocks() noexcept;
/// Why a duration by the TSC and by the kernel's clock are not the same one; empty: they are.
[[nodiscard]] std::string clock_difference(double by_tsc_s, double by_kernel_s);

}  // namespace turnpike::throughput
