// SPDX-License-Identifier: BSD-3-Clause
// Memory layout of a classifier, as kernels read it and the control side writes it; README.md draws
// it. Only constants and plain structs: kernels include this too.
#pragma once

#include <cstdint>

namespace turnpike::acl {

/// A key is words of 32 bits in host order. IPv4: source, destination, ports, protocol, VLAN. IPv6:
/// four words of source, four of destination, ports, protocol, VLAN.
constexpr unsigned ipv4_words = 5;
constexpr unsigned ipv6_words = 11;
constexpr unsigned max_words = ipv6_words;
/// The common words, counted from the end, for both families.
constexpr unsigned ports_from_end = 3;     ///< source port << 16 | destination port
constexpr unsigned protocol_from_end = 2;  ///< protocol << 24 | DSCP << 16 | TCP flags
constexpr unsigned vlan_from_end = 1;      ///< VLAN id << 16 | port_classes()
constexpr unsigned max_categories = 16;
constexpr unsigned max_trees = 8;

/// Ports above the well-known ones (RFC 6335: 0-1023). Rules often divide there, so nodes can cut
/// on it: bit 1 for the source port, bit 0 for the destination port.
constexpr uint32_t above_well_known = 0xfc00;
constexpr uint32_t source_class = 2, destination_class = 1;
constexpr uint32_t port_classes(uint32_t ports) {
    return ((ports & above_well_known << 16) != 0 ? source_class : 0) |
           ((ports & above_well_known) != 0 ? destination_class : 0);
}
constexpr uint32_t vlan_bits = 0xffff0000;

/// How to load a word of the key from a buffer: big-endian bytes at an offset, shifted.
struct piece {
    uint16_t offset;
    uint8_t bytes;  ///< 1, 2 or 4
    uint8_t word;
    uint8_t shift;
};
constexpr unsigned max_pieces = 20;

/// Bit vectors (bit_vectors.hpp). Rules are in one part or two. In a part nodes find the group of a key by its bytes. In a
/// group bit i of a vector is its rule i, the highest priority first; the last bit is set in every vector and stands for
/// "no rule".
struct bit_vectors {
    /// A byte of the key that some rule tests (high), or a port. Offsets in a key.
    struct field {
        uint16_t high, low;
    };
    static constexpr unsigned max_bytes = 4 * max_words, max_ports = 2;
    static constexpr unsigned max_rules = 65535;
    static constexpr unsigned max_parts = 2;
    static constexpr unsigned max_levels = 4;
    /// A node and a group begin with the u16 offset of the byte of a key that a node reads; a group has any, so that it may be
    /// read as a node. A node goes on with u32 child[256], by that byte: where it is in `block`, in granules * 2, and group_bit
    /// if it is a group. A group has u32 result[8 * vector_bytes], the user data of its rules, or with two parts their numbers;
    /// if rules differ in their categories u8 [max_categories][vector_bytes], the rules of each; for each field u16 [256], by
    /// its high byte: its vector, or of ports a block: u16 [256], by the low byte; then blocks and vectors. Such a u16
    /// is an offset from the group's beginning, in units that an address has as its scale.
    static constexpr unsigned granule_bytes = 64, header_bytes = 64, offset_unit = 8;
    static constexpr uint32_t group_bit = 1;

    struct part {
        uint32_t root;    ///< as a node's child
        uint16_t levels;  ///< nodes on the longest way to a group
        uint16_t byte_fields, port_fields;
        field byte_field[max_bytes], port_field[max_ports];
    };

    const uint8_t* block;
    const uint32_t*
        user_data;    ///< by number, the highest priority first; the last one, of "no rule", is 0
    uint32_t groups;  ///< of all parts
    uint16_t vector_bytes;  ///< 32, 64, 128 or 256
    uint16_t parts;
    part part_at[max_parts];
};

/// Input of one classification; immutable once published, except for entries in the arena and `vectors`.
struct view {
    const uint8_t* arena;
    uint32_t roots;  ///< granule of entry[trees]
    uint32_t trees;
    uint8_t filter_word[max_trees];  ///< the key word that this tree's leaf filters test
    uint8_t key_words;
    uint8_t stored_words;       ///< entries of `stored`
    uint8_t stored[max_words];  ///< words that leaves compare, ports last
    uint8_t rank_shift;         ///< priority (as leaves store it) >> rank_shift: a rank, 16 bits
    bool large;                 ///< larger than the L2 cache: prefetch
    uint8_t pieces;             ///< 0: the key's words are consecutive in the buffer
    piece piece_at[max_pieces];
    uint32_t categories;  ///< common to all rules; 0: rules differ, leaves store each one's
    /// Searched in place of the trees; null: the trees. Atomic.
    const bit_vectors* vectors;
};

/// data        [n] address of each key
/// results     [n * categories] user data of the best rule, 0 if none matches
using classify_function = void(const view&, const uint8_t* const* data, uint32_t* results,
                               uint32_t n, uint32_t categories) noexcept;

namespace layout {

/// Alignment of everything in the arena.
constexpr unsigned granule_bytes = 16;
/// Readable bytes after the last block: kernels load whole vectors.
constexpr unsigned guard_bytes = 128;

/// An entry: u64 word, u64 data. word = granule of its target << 32 | info; 0: no target.
/// info:
constexpr uint32_t leaf_bit = 1u << 31;
constexpr uint32_t node_bit = 1u << 30;
constexpr uint32_t indirect_bit = 1u << 25;  ///< node: one entry, independent of the key
constexpr uint32_t chained_bit = 1u << 24;   ///< leaf: the word of another leaf follows the rules
constexpr unsigned count_at = 16;            ///< leaf: rules, 8 bits; node: bits of the first run
constexpr uint32_t rank_mask = 0xffff;       ///< highest rank of the rules below
constexpr unsigned entry_bytes = 16;
/// data of a leaf's entry is its filter: value in the low half, mask in the high one; a key whose
/// filter word differs from the value under the mask matches no rule of the leaf.
/// data of a node's entry is its cut: two runs of bits of the key that form the child's index.
///   bytes 0-3: word, shift, u16 mask of the first run; bytes 4-7: of the second, the more
///   significant one.

/// A leaf of n rules, highest priority first: for each stored word u32 value[n], u32 mask[n] (for
/// ports: the lowest ports, the size of the range less 1); then u64 priority << 32 | user data [n];
/// if rules differ in their categories, for every eight rules u8 [max_categories]: bitmap of the
/// rules in each; u64 the next leaf's word if chained.
constexpr unsigned leaf_rules = 248;
constexpr uint32_t category_bytes(uint32_t n) { return (n + 7) / 8 * max_categories; }
constexpr uint32_t leaf_bytes(uint32_t n, unsigned stored_words, bool categories, bool chained) {
    return n * (8 * stored_words + 8) + (categories ? category_bytes(n) : 0) + (chained ? 8 : 0);
}

}  // namespace layout
}  // namespace turnpike::acl
