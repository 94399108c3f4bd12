// SPDX-License-Identifier: BSD-3-Clause
// Assigns events to groups that fit a PMU's counters. The kernel counts all events of a group over
// the same time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace turnpike::pmu {

struct fit_event {
    uint32_t counters = ~0u;  ///< bitmap of the general counters that can count it
    bool fixed = false;       ///< has a fixed counter
    int leader = -1;          ///< the event that must be first in its group; -1: none
    uint64_t filter = 0;      ///< value of the PMU's only filter
};

/// counters    general counters of the PMU
/// one_filter  events with different filters cannot share a group
/// Returns     groups of indices into `events`, each event in one group, in order; an event that no
///             counter supports is alone. Events with fixed counters come first, together;
///             then events with a leader, after it.
/// Threads     any
[[nodiscard]] std::vector<std::vector<size_t>> fit(std::span<const fit_event> events,
                                                   unsigned counters, bool one_filter);

}  // namespace turnpike::pmu
