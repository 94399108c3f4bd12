// SPDX-License-Identifier: BSD-3-Clause
// Trees of intervals of 64 bits (layout.hpp: tree), of short tables and below long networks: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fib/encode.hpp"
#include "fib/layout.hpp"

namespace turnpike::fib {

/// An interval from a number up to the next interval.
struct interval64 {
    uint64_t from;
    slot_entry entry;
};

constexpr size_t in_lines(size_t bytes) { return (bytes + 63) / 64 * 64; }

/// Levels of a tree of so many intervals; more than layout::tree_levels: too many.
constexpr unsigned tree_levels_for(size_t intervals) {
    unsigned levels = 1;
    for (size_t room = layout::tree_ways; room < intervals; room *= layout::tree_ways) ++levels;
    return levels;
}

constexpr size_t tree_bytes(unsigned levels) {
    return layout::tree_bounds_at(levels) * sizeof(int64_t) +
           in_lines(layout::tree_entries(levels) * sizeof(uint32_t));
}

/// Write a tree.
///
/// intervals  in order, the first one from 0; at most layout::tree_entries(layout::tree_levels)
/// at         64-byte aligned, tree_bytes() long
tree lay_tree(std::span<const interval64> intervals, uint8_t* at);

}  // namespace turnpike::fib
