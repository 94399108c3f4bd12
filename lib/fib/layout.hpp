// SPDX-License-Identifier: BSD-3-Clause
// Memory layout of a table, as kernels read it and the control side writes it; README.md draws it.
// Only constants and plain structs: kernels include this too.
#pragma once

#include <cstdint>

namespace turnpike::fib {

/// Intervals of 64 address bits. Nodes of eight bounds, level by level: 1, 9, 81 of them.
struct tree {
    const int64_t* bounds;    ///< start of the interval after the bound, less one, as a tree_key()
    const uint32_t* entries;  ///< [9^levels], of a leaf or layout::node_bit | number of a tree << 1
    uint32_t levels;          ///< 1 to layout::tree_levels
};

/// Intervals for lookups of several addresses at once, one per vector lane: a binary search whose
/// levels are small tables, which permutations of vector registers read. 2^levels intervals; level l
/// has 2^l bounds at layout::search_level_at(l).
struct interval_search {
    /// Bounds: their first 32 bits (IPv6: of the first 64 bits). As in a tree, a bound is less one
    /// and has its sign turned.
    const uint32_t* high;
    const uint32_t* low;         ///< IPv6: the next 32 bits, with the sign turned too
    const uint32_t* entries;     ///< [2^levels], as in a tree
    const uint64_t* nexthops;    ///< [2^levels] next hops of the entries that are leaves
    const uint32_t* nexthops32;  ///< the same; nullptr if one does not fit 32 bits
    uint32_t levels;             ///< layout::search_least_levels to search_levels; 0: no search
    bool leaves;                 ///< all entries are leaves
};

/// Input of a lookup; immutable once published.
struct view {
    const uint32_t* root;
    const uint8_t* nodes;
    const uint64_t* nexthops;  ///< [ids]; nullptr: an ID is its next hop plus one
    uint8_t id_bytes;          ///< 1, 2 or 4: bytes per ID in IPv4 blocks
    bool network_order;        ///< IPv4 addresses are in network byte order
    bool prefetch;             ///< the nodes do not fit L2
    bool direct;               ///< IPv6: nodes below a page are pages, too
    /// All routes of a short table. Kernels without permutations, and of short bursts, use the trees
    /// (IPv6) or the nodes (IPv4).
    interval_search search;
    /// IPv6: all routes of a short table, trees[0] for the first 64 bits, the others for the last
    /// 64 bits of addresses that need them. nullptr: the table is not short.
    const tree* trees;
};

namespace layout {

/// IDs count from 1. 0 in a block: a prefix longer than /24, see the host node. hops[0] is all
/// ones, as the next hop 0 - 1 would be.
constexpr uint32_t escape_id = 0;
/// Number of next hops for IDs of `bytes`. Links shift an ID by one.
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
/// After a block with escapes, at escapes_at(): u32 link per slot, 0 if the slot does not escape.
constexpr unsigned escapes_at(unsigned id_bytes, unsigned runs) {
    return id_bytes == 1 ? block_slots : (block_runs_at + id_bytes * runs + 7) / 8 * 8;
}

// IPv6: root[2^16] of page offset | shift. A page is u32 entry[256 >> shift]: slot = third byte >>
// shift, shift 0, or 8 if all slots are equal.
constexpr unsigned root6_bits = 16;
constexpr uint32_t page_shift_mask = 31;
constexpr uint32_t page_align = 64;
constexpr uint32_t uniform_page_shift = 8;

// Below a block, for the last byte: host nodes of 256 IDs.
constexpr unsigned host_slots = 256;

// Below a page: byte nodes of 256 slots.
// u64 run ends[4], u8 number of run ends in the words after each [4], 4 bytes unused, u32 entry
// per run, last first.
constexpr unsigned byte_node_after_at = 32;
constexpr unsigned byte_node_entries_at = 40;
constexpr unsigned byte_node_words = 4;

// Trees of short tables.
constexpr unsigned tree_node_bounds = 8, tree_ways = tree_node_bounds + 1;
constexpr unsigned tree_levels = 3;
/// Words of a tree's bounds above `level`; the total for level == levels.
constexpr unsigned tree_bounds_at(unsigned level) {
    unsigned nodes = 0, wide = 1;
    for (; level > 0; --level, wide *= tree_ways) nodes += wide;
    return nodes * tree_node_bounds;
}
/// Entries of a tree.
constexpr unsigned tree_entries(unsigned levels) {
    unsigned n = 1;
    for (; levels > 0; --levels) n *= tree_ways;
    return n;
}
/// A tree in the arena: its bounds, then its entries, all of them leaves. A link to it has its levels, too.
constexpr uint32_t link_levels_at = 1, link_levels_mask = 3, link_offset_mask = ~uint32_t{15};
/// Maps 64 unsigned bits to a signed integer in the same order.
constexpr int64_t tree_key(uint64_t bits) { return static_cast<int64_t>(bits ^ uint64_t{1} << 63); }

// Searches of short tables. A level takes at least one line, so that a vector can load it.
constexpr unsigned search_least_levels = 3, search_levels = 8;
constexpr unsigned search_line = 16;
constexpr unsigned search_level_at(unsigned level) {
    return level <= 4 ? level * search_line : (1U << level) + 3 * search_line;
}

constexpr unsigned max_node_bytes = byte_node_entries_at + 256 * 4;  // of a node of slots
constexpr unsigned max_tree_bytes =
    tree_bounds_at(tree_levels) * 8 + (tree_entries(tree_levels) * 4 + 63) / 64 * 64;

}  // namespace layout
}  // namespace turnpike::fib
