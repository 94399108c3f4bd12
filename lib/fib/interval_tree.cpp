// SPDX-License-Identifier: BSD-3-Clause
#include "fib/interval_tree.hpp"

#include <algorithm>

namespace turnpike::fib {

tree lay_tree(std::span<const interval64> intervals, uint8_t* at) {
    const unsigned levels = tree_levels_for(intervals.size());
    auto* const bounds = reinterpret_cast<int64_t*>(at);
    auto* const entries = reinterpret_cast<uint32_t*>(bounds + layout::tree_bounds_at(levels));
    const size_t room = layout::tree_entries(levels);
    for (size_t i = 0; i < room; ++i)
        entries[i] = intervals[std::min(i, intervals.size() - 1)].entry;
    size_t below = room;  // entries below a node of the level
    for (unsigned level = 0; level < levels; ++level) {
        int64_t* to = bounds + layout::tree_bounds_at(level);
        for (size_t first = 0; first < room; first += below)
            for (size_t i = 1; i < layout::tree_ways; ++i) {
                const size_t behind = first + i * (below / layout::tree_ways);
                // No key is above the highest bound.
                *to++ = layout::tree_key(behind < intervals.size() ? intervals[behind].from - 1
                                                                   : ~uint64_t{0});
            }
        below /= layout::tree_ways;
    }
    return {bounds, entries, levels};
}

}  // namespace turnpike::fib
