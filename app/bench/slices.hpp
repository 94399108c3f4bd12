// SPDX-License-Identifier: BSD-3-Clause
// Timing of many operations on a machine that interrupts.
#pragma once

#include <rte_cycles.h>

#include <algorithm>
#include <vector>

#include "interleave.hpp"

namespace turnpike::bench {

/// Cycles per operation of operations [from, end): run(from, end) is timed in slices of whole bursts,
/// of which the median counts, since interruptions affect few of them.
///
/// Requires  at least one burst
template <class Run>
double median_cycles(size_t from, size_t end, uint32_t burst, const Run& run) {
    constexpr size_t slices = 32;
    const size_t slice = std::max<size_t>(1, (end - from) / burst / slices) * burst;
    std::vector<double> seen;
    for (; from + slice <= end; from += slice) {
        const uint64_t start = rte_rdtsc_precise();
        run(from, from + slice);
        seen.push_back(static_cast<double>(rte_rdtsc_precise() - start));
    }
    return median(std::move(seen)) / static_cast<double>(slice);
}

}  // namespace turnpike::bench
