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

/// The bit vectors of a short list (bit_vectors.hpp): bit i of a vector is rule i, the highest priority first. The last
/// bit is set in every vector and stands for "no rule": its user data is 0.
struct bit_vectors {
    /// A part of the key that some rule tests: a byte, or two bytes, such as a port.
    struct field {
        uint16_t high, low;  ///< offsets of its bytes in a key; a byte: high
        /// [256] A byte: where its vector is. Two bytes, by the high one: where its block begins in `blocks`.
        const uint16_t* index;
        const uint16_t* blocks;   ///< [][256] two bytes, by the low one: where its vector is
        const uint64_t* vectors;  ///< [][vector_bytes / 8]
    };
    static constexpr unsigned max_bytes = 4 * max_words, max_pairs = 2 * max_words;
    static constexpr unsigned max_rules = 2047;

    uint32_t vector_bytes;  ///< 32, 64, 128 or 256
    uint16_t byte_fields, pair_fields;
    field byte_field[max_bytes], pair_field[max_pairs];
    const uint32_t* user_data;  ///< [8 * vector_bytes]
    const uint64_t*
        categories;  ///< [max_categories][vector_bytes / 8] rules of each; null: view::categories
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
