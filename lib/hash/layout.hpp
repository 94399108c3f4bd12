// SPDX-License-Identifier: BSD-3-Clause
// Memory layout for readers: buckets of one cache line, in regions. README.md draws them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hash/hash.hpp"

namespace turnpike::hash {

/// Key and value bytes of a table.
enum class shape : uint8_t { k8v4, k8v8, k16v4, k16v8, k40v4, k40v8 };

namespace layout {

constexpr unsigned line_bytes = 64;
constexpr unsigned filter_shift_inline = 5, filter_shift_tagged = 28;
/// Four counters of four bits: the number of this bucket's keys in their other bucket, by
/// filter_class().
constexpr unsigned filter_counters = 4, filter_counter_bits = 4;
constexpr unsigned filter_counter_max = 15;

// Use of the bits of hashed::second; hashed::first selects the region, and its low bits are the
// tag.
constexpr unsigned other_shift = 14;
constexpr unsigned class_shift = 30;
constexpr unsigned max_region_bits = 14;

constexpr uint32_t filter_class(uint32_t second) noexcept { return second >> class_shift; }
constexpr uint16_t tag_of(uint32_t first) noexcept { return static_cast<uint16_t>(first); }
/// The first bucket of a key, within its region of mask + 1 buckets (at least two).
constexpr uint32_t first_bucket(uint32_t second, uint32_t mask) noexcept { return second & mask; }
/// XOR between the numbers of a key's two buckets; never 0.
constexpr uint32_t way_to_other(uint32_t second, uint32_t mask) noexcept {
    return (second >> other_shift & mask) | 1;
}
/// Distributes evenly over `regions`; with twice as many, region r's keys go to 2r and 2r + 1.
constexpr uint64_t region_of(uint32_t first, uint32_t regions) noexcept {
    return uint64_t{first} * regions >> 32;
}

}  // namespace layout

/// Keys and values lie in the bucket itself:
///   key[Slots]   of Words u64      value[Slots]      ... (unused)      u32 meta in the last four bytes
///   meta: bit slot * Words: the slot is in use; 16 bits filter at 5; 11 bits version
template <unsigned Words, class Value, unsigned Slots, unsigned RegionBits>
struct inline_bucket {
    using meta = uint32_t;
    using value = Value;
    static constexpr bool tagged = false;
    static constexpr unsigned words = Words, slots = Slots, region_bits = RegionBits;
    static constexpr unsigned lanes = Words * Slots;
    static constexpr unsigned values_at = 8 * lanes;
    static constexpr unsigned meta_at = layout::line_bytes - sizeof(meta);
    static constexpr unsigned filter_shift = layout::filter_shift_inline;
    static constexpr unsigned version_shift = filter_shift + 16;
    static constexpr unsigned entry_bytes = 0;
    static constexpr meta slot_bit(unsigned slot) noexcept { return meta{1} << (slot * Words); }
    static constexpr meta in_use = Words == 1 ? (1u << Slots) - 1 : 0x15 & ((1u << lanes) - 1);
    static constexpr unsigned slot_of(meta lowest_bit_number) noexcept {
        return lowest_bit_number / Words;
    }
    static_assert(values_at + Slots * sizeof(Value) <= meta_at && lanes <= 8);
};

/// Tags lie in the bucket, keys and values in separate entries: entry bucket * 28 + slot is
///   key of Words u64, value, (unused) to entry_bytes
/// and the bucket
///   u16 tag[28]      u64 meta: bit slot: in use; 16 bits filter at 28; 20 bits version
template <unsigned Words, class Value, unsigned EntryBytes, unsigned RegionBits>
struct tagged_bucket {
    using meta = uint64_t;
    using value = Value;
    static constexpr bool tagged = true;
    static constexpr unsigned words = Words, slots = 28, region_bits = RegionBits;
    static constexpr unsigned meta_at = layout::line_bytes - sizeof(meta);
    static constexpr unsigned filter_shift = layout::filter_shift_tagged;
    static constexpr unsigned version_shift = filter_shift + 16;
    static constexpr unsigned entry_bytes = EntryBytes;
    static constexpr unsigned value_in_entry = 8 * Words;
    static constexpr meta slot_bit(unsigned slot) noexcept { return meta{1} << slot; }
    static constexpr meta in_use = (meta{1} << slots) - 1;
    static constexpr unsigned slot_of(meta lowest_bit_number) noexcept {
        return static_cast<unsigned>(lowest_bit_number);
    }
    static_assert(2 * slots <= meta_at && value_in_entry + sizeof(Value) <= EntryBytes);
};

// Regions are large enough that, among millions, none is much fuller than the average by chance:
// with fewer slots per bucket, two choices balance less well, and the region must be larger.
using bucket_k8v4 = inline_bucket<1, uint32_t, 5, 10>;
using bucket_k8v8 = inline_bucket<1, uint64_t, 3, 11>;
using bucket_k16v4 = inline_bucket<2, uint32_t, 3, 11>;
using bucket_k16v8 = tagged_bucket<2, uint64_t, 32, 7>;
using bucket_k40v4 = tagged_bucket<5, uint32_t, 64, 7>;
using bucket_k40v8 = tagged_bucket<5, uint64_t, 64, 7>;

/// Buckets of one generation.
struct buckets {
    uint8_t* lines;
    uint8_t* entries;  ///< for tagged buckets
    uint32_t regions;
    uint32_t region_bits;  ///< log2 of the buckets per region
};

/// Input of a lookup. While the table grows, regions below *moved are read in `now`, the others in
/// `before`, which has half as many regions.
struct view {
    buckets now;
    buckets before;
    const uint32_t* moved;    ///< null: everything is in `now`
    const uint64_t* changes;  ///< repeat the lookup if it changed
    shape form;
    secret keys;
};

}  // namespace turnpike::hash
