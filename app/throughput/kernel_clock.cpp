// SPDX-License-Identifier: BSD-3-Clause
#include "kernel_clock.hpp"

#include <fmt/format.h>

#include <cmath>

#include "counters/meter.hpp"

namespace turnpike::throughput {

clock_pair read_clocks() noexcept {
    constexpr std::chrono::microseconds undisturbed{20};
    constexpr int tries = 1000;
    for (int i = 0;; ++i) {
        const auto earlier = std::chrono::steady_clock::now();
        const uint64_t tsc = counters::tsc();
        const auto later = std::chrono::steady_clock::now();
        if (later - earlier < undisturbed || i == tries) return {earlier, tsc};
    }
}

std::string clock_difference(double by_tsc_s, double by_kernel_s) {
    constexpr double share = 0.01, resolution_s = 0.001;
    if (std::abs(by_tsc_s - by_kernel_s) <= share * by_kernel_s + resolution_s) return {};
    return fmt::format("a trial took {:.4f} s by the TSC and {:.4f} s by the kernel's clock",
                       by_tsc_s, by_kernel_s);
}

}  // namespace turnpike::throughput
