// SPDX-License-Identifier: BSD-3-Clause
// Which events can be counted at once: groups, each of which fits into a PMU's counters as a whole. The
// kernel counts the events of a group for the same time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace turnpike::pmu {

struct fit_event {
    uint32_t counters = ~0u;  ///< a bit for each general counter that can count it
    bool fixed = false;       ///< it has a counter of its own
    int leader = -1;          ///< the event that must stand first in its group; -1: none
    uint64_t filter = 0;      ///< what a PMU with one filter must be told
};

/// counters    general counters of the PMU
/// one_filter  events with different filters cannot share a group
/// Returns     groups of indices into `events`, each event in one of them, in their order; one that no
///             counter can count is alone. Events with counters of their own come first, together;
///             then those with a leader, behind it.
/// Threads     any
[[nodiscard]] std::vector<std::vector<size_t>> fit(std::span<const fit_event> events,
                                                   unsigned counters, bool one_filter);

}  // namespace turnpike::pmu
