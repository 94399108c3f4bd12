// SPDX-License-Identifier: BSD-3-Clause
// IPv6. A short table is searched (search.inl.hpp), or is a tree of intervals, two or three nodes
// deep, in L1. Others: root, page, then direct or byte nodes. A chunk descends together, one level per pass, so
// that its loads overlap; addresses that reached a leaf leave the work list, which is compacted without
// branches.

#include "fib/kernel/common.inl.hpp"
#include "fib/kernel/search.inl.hpp"
#include "isa/simd/simd.hpp"

namespace {

constexpr uint32_t address_bytes = 16;
/// Lookups per chunk: 32 measured better than 16 and 64 (turnpike-bench-fib).
constexpr uint32_t chunk6 = 32;

/// An address of the chunk, by the offset of its entry: index * 8.
using place6 = uint16_t;
constexpr uint64_t place_bytes = sizeof(uint64_t);

/// Store an address's entry. Returns 1 for a link, 0 for a leaf.
template <class V, bool Prefetch>
inline uint64_t meet(const uint8_t* nodes, uint8_t* slot, uint64_t entry) noexcept {
    __builtin_memcpy(slot, &entry, sizeof entry);
    // For a leaf, the ID is small (id_coding): the prefetch hits L1.
    if constexpr (Prefetch) V::prefetch(nodes + entry);
    return entry & layout::node_bit;
}

template <class V, unsigned Levels>
inline uint64_t interval_entry(const fib::tree& t, int64_t key) noexcept {
    uint64_t at = V::count_below(t.bounds, key);
    if constexpr (Levels > 1)
        at = at * layout::tree_ways +
             V::count_below(t.bounds + layout::tree_bounds_at(1) + at * layout::tree_node_bounds,
                            key);
    if constexpr (Levels > 2)
        at = at * layout::tree_ways +
             V::count_below(t.bounds + layout::tree_bounds_at(2) + at * layout::tree_node_bounds,
                            key);
    return t.entries[at];
}

inline int64_t tree_key(const uint8_t* bits) noexcept {
    return layout::tree_key(__builtin_bswap64(load_word(bits)));
}

/// The leaf of an address in a tree in the arena.
///
/// link  of the tree; low: the last 64 bits
template <class V>
[[gnu::noinline]] uint64_t tree_leaf(const uint8_t* nodes, uint64_t link,
                                     const uint8_t* low) noexcept {
    const unsigned levels = link >> layout::link_levels_at & layout::link_levels_mask;
    const auto* bounds =
        reinterpret_cast<const int64_t*>(nodes + (link & layout::link_offset_mask));
    const fib::tree t{
        bounds, reinterpret_cast<const uint32_t*>(bounds + layout::tree_bounds_at(levels)), levels};
    const int64_t key = tree_key(low);
    return levels == 1   ? interval_entry<V, 1>(t, key)
           : levels == 2 ? interval_entry<V, 2>(t, key)
                         : interval_entry<V, 3>(t, key);
}

inline bool is_tree_link(uint64_t entry) noexcept {
    return (entry & layout::node_bit) != 0 &&
           (entry >> layout::link_levels_at & layout::link_levels_mask) != 0;
}

/// met  [n] out: the leaf of each address
template <class V, bool Prefetch, bool Direct>
inline void lookup6_leaves(const fib::view& t, const uint8_t* dst, uint64_t* met,
                           uint64_t n) noexcept {
    // a local copy: the compiler reloads members of t after an acquire load
    const uint32_t* const root = t.root;
    const uint8_t* const nodes = t.nodes;
    auto* const slots = reinterpret_cast<uint8_t*>(met);
    // A pass reads one list and writes the other, so that no load waits for a recent store.
    place6 list[2][chunk6 + 1];
    uint64_t left = 0;
    const uint64_t end = n * place_bytes;
#pragma GCC unroll 4
    for (uint64_t at = 0; at < end; at += place_bytes) {
        const uint8_t* a = dst + at * (address_bytes / place_bytes);
        const uint32_t page = load_entry(root + (uint32_t{a[0]} << 8 | a[1]));
        const uint32_t slot = a[2] >> (page & layout::page_shift_mask);
        list[0][left] = static_cast<place6>(at);
        left += meet<V, Prefetch>(
            nodes, slots + at, load_entry(nodes + (page & ~(layout::page_align - 1)) + slot * 4));
    }
    const uint8_t* byte = dst + 3;  // the byte of the first address that this pass reads
    const auto step = [&](uint64_t at) {
        const uint8_t slot = byte[at * (address_bytes / place_bytes)];
        const uint64_t link = load_word(slots + at);
        return meet<V, Prefetch>(nodes, slots + at,
                                 Direct ? load_entry(nodes + link - layout::node_bit + slot * 4)
                                        : byte_entry<V>(nodes, link, slot));
    };
    unsigned now = 0;
    if (left == n) {  // the common case: no list to read
        now = 1;
        left = 0;
#pragma GCC unroll 4
        for (uint64_t at = 0; at < end; at += place_bytes) {
            list[1][left] = static_cast<place6>(at);
            left += step(at);
        }
        ++byte;
    }
    for (; left != 0; now ^= 1, ++byte) {
        if (byte == dst + 8) {  // trees end here
            uint64_t others = 0;
            for (uint64_t k = 0; k < left; ++k) {
                const uint64_t at = list[now][k], link = load_word(slots + at);
                list[now][others] = static_cast<place6>(at);
                if (is_tree_link(link)) {
                    const uint64_t leaf =
                        tree_leaf<V>(nodes, link, dst + at * (address_bytes / place_bytes) + 8);
                    __builtin_memcpy(slots + at, &leaf, sizeof leaf);
                } else {
                    ++others;
                }
            }
            left = others;
        }
        const uint64_t count = left;
        const place6* const from = list[now];
        place6* const to = list[now ^ 1];
        left = 0;
#pragma GCC unroll 4
        for (uint64_t k = 0; k < count; ++k) {
            const uint64_t at = from[k];
            to[left] = static_cast<place6>(at);
            left += step(at);
        }
    }
}

/// Vectors that can gather.
template <class V>
concept gathers = requires(V v) {
    V::gather(nullptr, v);
};

/// Entries of a vector of addresses, in which links to trees are replaced by the trees' leaves.
template <class V>
inline V without_trees(const uint8_t* nodes, const uint8_t* addresses, V entry) noexcept {
    uint32_t all[V::lanes];
    V::store(all, entry);
    for (unsigned i = 0; i < V::lanes; ++i)
        if (is_tree_link(all[i]))
            all[i] = static_cast<uint32_t>(
                tree_leaf<V>(nodes, all[i], addresses + i * address_bytes + 8));
    return V::load(all);
}

/// A table of direct nodes, a vector of n >= V::lanes addresses at a time.
///
/// met  [n] out: the leaf of each address
template <gathers V>
inline void lookup6_direct(const fib::view& t, const uint8_t* dst, uint64_t* met,
                           uint32_t n) noexcept {
    const V one = V::set1(layout::node_bit), byte = V::set1(0xff);
    const auto offset = [](V slot) { return V::shift_left_by(slot, 2); };
    each_vector<V>(
        n, [&](uint32_t i) __attribute__((always_inline)) {
            const uint8_t* const at = dst + i * address_bytes;
            V word, next;
            V::load_rows_be(at, word, next);
            const V page = V::gather(t.root, offset(V::template shift_right<16>(word)));
            const V slot = V::shift_right_each(V::template shift_right<8>(word) & byte,
                                               page & V::set1(layout::page_shift_mask));
            V entry =
                V::gather(t.nodes, (page & V::set1(~(layout::page_align - 1))) + offset(slot));
            for (unsigned level = 3; V::any(entry & one); ++level) {
                if (level % 4 == 0) word = next;
                if (level == 8) {
                    V::template load_rows_be<1>(at, word, next);
                    entry = without_trees<V>(t.nodes, at, entry);
                    if (!V::any(entry & one)) break;
                }
                const V slot_below = V::shift_right_by(word, 24 - level % 4 * 8) & byte;
                entry = V::gather_where(entry & one, t.nodes - layout::node_bit,
                                        entry + offset(slot_below), entry);
            }
            V::store_wide(met + i, entry);
        });
}

/// The part of a chunk whose last 64 bits decide.
template <class V>
inline void lookup6_last_half(const fib::tree* trees, const uint8_t* dst, uint64_t* met,
                              const uint8_t* list, uint64_t left) noexcept {
    for (uint64_t k = 0; k < left; ++k) {
        const uint64_t i = list[k];
        const fib::tree& low = trees[met[i] >> 1];
        const int64_t key = tree_key(dst + i * address_bytes + 8);
        met[i] = low.levels == 1   ? interval_entry<V, 1>(low, key)
                 : low.levels == 2 ? interval_entry<V, 2>(low, key)
                                   : interval_entry<V, 3>(low, key);
    }
}

/// met  [n] out: the leaf of each address
template <class V, unsigned Levels>
inline void lookup6_intervals(const fib::tree* trees, const uint8_t* dst, uint64_t* met,
                              uint64_t n) noexcept {
    const fib::tree top = trees[0];
    uint8_t list[chunk6 + 1];
    uint64_t left = 0;
#pragma GCC unroll 4
    for (uint64_t i = 0; i < n; ++i) {
        met[i] = interval_entry<V, Levels>(top, tree_key(dst + i * address_bytes));
        list[left] = static_cast<uint8_t>(i);
        left += met[i] & layout::node_bit;
    }
    lookup6_last_half<V>(trees, dst, met, list, left);
}

template <class V>
inline void lookup6_short(const fib::tree* trees, const uint8_t* dst, uint64_t* met,
                          uint64_t n) noexcept {
    if (trees[0].levels == 1) return lookup6_intervals<V, 1>(trees, dst, met, n);
    if (trees[0].levels == 2) return lookup6_intervals<V, 2>(trees, dst, met, n);
    lookup6_intervals<V, 3>(trees, dst, met, n);
}

/// Replace leaves by next hops, in place.
inline void resolve6(const uint64_t* nexthops, uint64_t* nexthop, uint32_t n) noexcept {
    if (nexthops != nullptr) {
#pragma GCC unroll 4
        for (uint32_t i = 0; i < n; ++i)
            nexthop[i] = __atomic_load_n(nexthops + (nexthop[i] >> 1), __ATOMIC_RELAXED);
    } else if (n == chunk6) {  // constant trip count: the compiler vectorizes the loop
        for (uint32_t i = 0; i < chunk6; ++i) nexthop[i] = (nexthop[i] >> 1) - 1;
    } else {
        for (uint32_t i = 0; i < n; ++i) nexthop[i] = (nexthop[i] >> 1) - 1;
    }
}

/// The interval of each of a vector of addresses.
template <class V, unsigned Levels>
inline V interval6(const fib::interval_search& s, const uint8_t* dst) noexcept {
    V high, low;
    V::load_rows_be(dst, high, low);
    const V sign = V::set1(search_sign);
    return interval_of<V, Levels>(s, V::set1(0), high ^ sign, low ^ sign);
}

/// Look up n >= V::lanes addresses in a short table without trees for the last 64 bits.
template <class V>
struct search6 {
    const fib::interval_search s;  // a copy: stores to hop cannot change it
    const uint8_t* dst;
    uint64_t* nexthop;
    uint32_t n;

    template <unsigned Levels>
    void run() const noexcept {
        each_vector<V>(
            n, [this](uint32_t i) __attribute__((always_inline)) {
                store_nexthops<V, Levels>(s, interval6<V, Levels>(s, dst + i * address_bytes),
                                          nexthop + i);
            });
    }
};

/// met  [n] out: the leaf of each address, V::lanes <= n <= chunk6
template <class V>
struct search6_halves {
    const fib::view& t;
    const uint8_t* dst;
    uint64_t* met;
    uint32_t n;

    template <unsigned Levels>
    void run() const noexcept {
        const fib::interval_search s = t.search;
        uint32_t number[chunk6];
        each_vector<V>(
            n, [&](uint32_t i) __attribute__((always_inline)) {
                V::store(number + i, interval6<V, Levels>(s, dst + i * address_bytes));
            });
        uint8_t list[chunk6 + 1];
        uint64_t left = 0;
        for (uint32_t i = 0; i < n; ++i) {
            met[i] = s.entries[number[i]];
            list[left] = static_cast<uint8_t>(i);
            left += met[i] & layout::node_bit;
        }
        lookup6_last_half<V>(t.trees, dst, met, list, left);
    }
};

template <class V>
inline void lookup6_trees(const fib::view& t, const uint8_t* dst, uint64_t* met,
                          uint32_t n) noexcept {
    if constexpr (V::look_up_bits > 0)
        if (can_search<V>(t, n))
            return with_levels<layout::search_least_levels, V::look_up_bits>(
                t.search.levels, search6_halves<V>{t, dst, met, n});
    lookup6_short<V>(t.trees, dst, met, n);
}

template <class V>
inline void lookup6_pages(const fib::view& t, const uint8_t* dst, uint64_t* met,
                          uint32_t n) noexcept {
    if constexpr (gathers<V>)
        if (n >= V::lanes) return lookup6_direct<V>(t, dst, met, n);
    lookup6_leaves<V, false, true>(t, dst, met, n);
}

template <class V>
inline void lookup6_chunk(const fib::view& t, const uint8_t* dst, uint64_t* nexthop,
                          uint32_t n) noexcept {
    const uint32_t all = n;
    if (n > 1 && train<V, address_bytes>(dst, n, ~uint32_t{0})) n = 1;
    if (t.trees != nullptr)
        lookup6_trees<V>(t, dst, nexthop, n);
    else if (t.direct)
        lookup6_pages<V>(t, dst, nexthop, n);
    else if (t.prefetch)
        lookup6_leaves<V, true, false>(t, dst, nexthop, n);
    else
        lookup6_leaves<V, false, false>(t, dst, nexthop, n);
    resolve6(t.nexthops, nexthop, n);
    if (n < all) repeat(nexthop, all);
}

template <class V>
inline void lookup6_burst(const fib::view& t, const uint8_t* dst, uint64_t* nexthop,
                          uint32_t n) noexcept {
    if constexpr (V::look_up_bits > 0)
        if (can_search<V>(t, n) && t.search.leaves)
            return with_levels<layout::search_least_levels, V::look_up_bits>(
                t.search.levels, search6<V>{t.search, dst, nexthop, n});
    for (uint32_t at = 0; at < n; at += chunk6)
        lookup6_chunk<V>(t, dst + at * address_bytes, nexthop + at,
                         n - at < chunk6 ? n - at : chunk6);
}

}  // namespace

namespace turnpike::fib::TURNPIKE_ISA {

void lookup6(const view& t, const uint8_t* dst, uint64_t* nexthop, uint32_t n) noexcept {
    lookup6_burst<simd>(t, dst, nexthop, n);
}

}  // namespace turnpike::fib::TURNPIKE_ISA
