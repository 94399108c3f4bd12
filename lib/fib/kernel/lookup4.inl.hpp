// SPDX-License-Identifier: BSD-3-Clause
// IPv4: root, block, id; two dependent loads and no branch on data. Addresses longer than /24 are
// rare in a block and are looked up in a pass of their own.
//
// Loads are scalar on purpose: gathers of the same two levels were tried on Zen 4 and were slower.
// What differs by instruction set is the popcount, the search for escapes and the widening to
// 64-bit next hops.

#include "fib/kernel/resolve.inl.hpp"

namespace {

namespace fib = turnpike::fib;
namespace layout = turnpike::fib::layout;

template <bool Swap>
inline uint32_t host(uint32_t address) noexcept {
    return Swap ? __builtin_bswap32(address) : address;
}

inline uint32_t root_entry(const uint32_t* root, uint32_t x) noexcept {
    return load_entry(root + (x >> (32 - layout::root4_bits)));
}

template <class V, class Id>
inline Id block_id(const uint8_t* block, uint32_t x) noexcept {
    const unsigned slot = x >> 8 & (layout::block_slots - 1);
    if constexpr (sizeof(Id) == 1) return block[slot];
    const uint64_t run = V::popcount(load_word(block) >> slot);
    Id id;
    __builtin_memcpy(&id, block + (layout::block_runs_at - sizeof(Id)) + run * sizeof(Id),
                     sizeof id);
    return id;
}

/// The id of an address whose block said "escape": the byte node of its /24. The root is read
/// again, and a writer may have put another block there since, without the escape: so the id is
/// read again too, from the block whose tail is used.
template <class V, class Id>
inline Id escaped_id(const fib::view& t, uint32_t x) noexcept {
    const uint8_t* tail = t.nodes + root_entry(t.root, x);
    if (const Id id = block_id<V, Id>(tail, x); id != static_cast<Id>(~Id{})) return id;
    const unsigned slot = x >> 8 & (layout::block_slots - 1);
    unsigned ids_end = layout::block_slots;
    if constexpr (sizeof(Id) != 1) {
        const auto ids = static_cast<unsigned>(sizeof(Id)) * V::popcount(load_word(tail));
        ids_end = (layout::block_runs_at + ids + 7) / 8 * 8;
    }
    tail += ids_end;
    const unsigned index = V::popcount(load_word(tail) & ((uint64_t{1} << slot) - 1));
    const uint8_t* node = t.nodes + load_entry(reinterpret_cast<const uint32_t*>(tail + 8) + index);
    const unsigned byte = x & 0xff, word = byte / 64;
    const unsigned run = V::popcount(load_word(node + word * 8) >> byte % 64) +
                         node[layout::byte_node_after_at + word];
    const auto* entries = reinterpret_cast<const uint32_t*>(node + layout::byte_node_entries_at);
    return static_cast<Id>(load_entry(entries + run - 1) >> 1);
}

template <class V, class Id>
inline bool any_escape(const Id* id) noexcept {  // all of a chunk
    const V escape = V::set1(~0u);
    V found = V::set1(0);
    for (uint32_t i = 0; i < chunk * sizeof(Id) / 4; i += V::lanes) {
        uint32_t lanes[V::lanes];
        __builtin_memcpy(lanes, reinterpret_cast<const uint8_t*>(id) + i * 4, sizeof lanes);
        found = found | V::template equal<Id>(V::load(lanes), escape);
    }
    return V::any(found);
}

/// Do all n addresses lie in one /24? Trains of one flow are common, and cost one lookup then.
template <class V, bool Swap>
inline bool one_slot(const uint32_t* dst, uint32_t n) noexcept {
    const V first = V::set1(dst[0]);
    V differs = V::set1(0);
    uint32_t i = 0, rest = 0;
    for (; i + V::lanes <= n; i += V::lanes) differs = differs | (V::load(dst + i) ^ first);
    for (; i < n; ++i) rest |= dst[i] ^ dst[0];
    const uint32_t mask = host<Swap>(0xffff'ff00);
    return !V::any(differs & V::set1(mask)) && (rest & mask) == 0;
}

template <class V, class Id, bool Swap>
inline void lookup4_chunk(const fib::view& t, const uint32_t* dst, uint64_t* hop,
                          uint32_t n) noexcept {
    const uint32_t* const root = t.root;  // in registers: after an acquire load t is read again
    const uint8_t* const nodes = t.nodes;
    Id id[chunk];
    const uint32_t all = n;
    if (one_slot<V, Swap>(dst, n)) n = 1;
    if (t.prefetch) {
        uint32_t block[chunk];
#pragma GCC unroll 4
        for (uint32_t i = 0; i < n; ++i) {
            const uint32_t x = host<Swap>(dst[i]);
            block[i] = root_entry(root, x);
            V::prefetch(nodes + block[i] + (sizeof(Id) == 1 ? x >> 8 & 63 : 0));
        }
#pragma GCC unroll 4
        for (uint32_t i = 0; i < n; ++i)
            id[i] = block_id<V, Id>(nodes + block[i], host<Swap>(dst[i]));
    } else {
#pragma GCC unroll 4
        for (uint32_t i = 0; i < n; ++i) {
            const uint32_t x = host<Swap>(dst[i]);
            id[i] = block_id<V, Id>(nodes + root_entry(root, x), x);
        }
    }
    if (n < all) {  // one slot for all, unless it escapes: then the addresses differ after all
        for (uint32_t i = 1; i < all; ++i) id[i] = id[0];
    }
    for (uint32_t i = all; i < chunk; ++i) id[i] = 0;
    if (__builtin_expect(any_escape<V>(id), 0))
        for (uint32_t i = 0; i < all; ++i)
            if (id[i] == static_cast<Id>(~Id{})) id[i] = escaped_id<V, Id>(t, host<Swap>(dst[i]));
    resolve<V>(t, id, hop, all);
}

template <class V, class Id>
inline void lookup4_chunks(const fib::view& t, const uint32_t* dst, uint64_t* hop,
                           uint32_t n) noexcept {
    for (uint32_t at = 0; at < n; at += chunk) {
        const uint32_t now = n - at < chunk ? n - at : chunk;
        if (t.network_order)
            lookup4_chunk<V, Id, true>(t, dst + at, hop + at, now);
        else
            lookup4_chunk<V, Id, false>(t, dst + at, hop + at, now);
    }
}

template <class V>
inline void lookup4_burst(const fib::view& t, const uint32_t* dst, uint64_t* hop,
                          uint32_t n) noexcept {
    if (t.id_bytes == 1) return lookup4_chunks<V, uint8_t>(t, dst, hop, n);
    if (t.id_bytes == 2) return lookup4_chunks<V, uint16_t>(t, dst, hop, n);
    return lookup4_chunks<V, uint32_t>(t, dst, hop, n);
}

}  // namespace
