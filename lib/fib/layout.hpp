// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a table, as kernels read them and the control side writes them; drawn in README.md.
// Only plain constants and structs: kernels include this too.
#pragma once

#include <cstdint>

namespace turnpike::fib {

/// Intervals of 64 address bits. Nodes of eight bounds, level by level: 1, 9, 81 of them.
struct tree {
    const int64_t* bounds;  ///< where the interval behind it begins, less one, as tree_key() has it
    const uint32_t* entries;  ///< [9^levels], of a leaf or layout::node_bit | number of a tree << 1
    uint32_t levels;          ///< 1 to layout::tree_levels
};

/// What one lookup needs; never changed once published.
struct view {
    const uint32_t* root;
    const uint8_t* nodes;
    const uint64_t* hops;  ///< [ids]; nullptr: an id is its next hop plus one
    uint8_t id_bytes;      ///< 1, 2 or 4: of the ids in IPv4 blocks
    bool network_order;    ///< IPv4 addresses come as they lie in the packet
    bool prefetch;         ///< the nodes are more than the nearest caches hold
    /// IPv6: all routes of a short table, trees[0] of the first 64 bits, the others of the last 64 bits of
    /// those that need them. nullptr: the table is not short.
    const tree* trees;
};

namespace layout {

/// Ids count from 1. 0 in a block: longer than /24, look into the byte node. hops[0] is all ones,
/// as the next hop 0 - 1 would be.
constexpr uint32_t escape_id = 0;
/// Ids of `bytes` stand for this many next hops. Links shift an id by one.
constexpr uint32_t id_limit(unsigned bytes) {
    return bytes == 4 ? 0x7fff'ffff : (1U << 8 * bytes) - 1;
}
/// An entry of a page or a byte node: id << 1, or the offset of a byte node | node_bit.
constexpr uint32_t node_bit = 1;

// IPv4: root[2^18] of offsets, each of a block of 64 slots (one per /24).
constexpr unsigned root4_bits = 18;
constexpr unsigned block_slots = 64;
/// id_bytes 1: u8 id[64]. id_bytes 2, 4: u64 run ends, then the runs' ids, last run first.
constexpr unsigned block_runs_at = 8;
/// Behind a block that has escapes, at escapes_at(): u64 slots that escape, u32 byte node each.
constexpr unsigned escapes_at(unsigned id_bytes, unsigned runs) {
    return id_bytes == 1 ? block_slots : (block_runs_at + id_bytes * runs + 7) / 8 * 8;
}

// IPv6: root[2^16] of page offset | shift. A page is u32 entry[256 >> shift]: slot = third byte >>
// shift, shift 0, or 8 where all slots are equal.
constexpr unsigned root6_bits = 16;
constexpr uint32_t page_shift_mask = 31;
constexpr uint32_t page_align = 64;
constexpr uint32_t uniform_page_shift = 8;

// Below a page, and for IPv4's last byte: byte nodes of 256 slots.
/// u64 run ends[4], u8 run ends in the words after each [4], 4 bytes unused, u32 entry per run,
/// last first.
constexpr unsigned byte_node_after_at = 32;
constexpr unsigned byte_node_entries_at = 40;
constexpr unsigned byte_node_words = 4;

// Trees of short tables.
constexpr unsigned tree_node_bounds = 8, tree_ways = tree_node_bounds + 1;
constexpr unsigned tree_levels = 3;
/// Words of a tree's bounds above `level`; of all of them at level == levels.
constexpr unsigned tree_bounds_at(unsigned level) {
    unsigned nodes = 0, wide = 1;
    for (; level > 0; --level, wide *= tree_ways) nodes += wide;
    return nodes * tree_node_bounds;
}
/// 64 bits of an address so that signed numbers are in their order.
constexpr int64_t tree_key(uint64_t bits) { return static_cast<int64_t>(bits ^ uint64_t{1} << 63); }

constexpr unsigned max_node_bytes = byte_node_entries_at + 256 * 4;

}  // namespace layout
}  // namespace turnpike::fib
