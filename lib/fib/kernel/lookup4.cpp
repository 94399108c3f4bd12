// SPDX-License-Identifier: BSD-3-Clause
// IPv4: root, block, ID; two dependent loads and no data-dependent branch. Addresses in a /24 with longer
// prefixes get a next hop of all ones, by which a second pass finds them: link, ID.
//
// Loads are scalar on purpose: gathers of the same two levels were slower on Zen 4. Only the
// popcount and the search for equal addresses differ by instruction set. Short tables are searched
// instead (search.inl.hpp), where there are permutations.

#include "fib/kernel/common.inl.hpp"
#include "fib/kernel/search.inl.hpp"
#include "isa/simd/simd.hpp"

namespace {

/// Lookups per chunk: several times the number of a core's miss buffers, while the array between
/// the passes stays in L1 (turnpike-bench-fib).
constexpr uint32_t chunk4 = 64;

template <class V, class Id, bool Swap, bool Hops>
struct lookup4_way {
    static uint32_t host(uint32_t address) noexcept {
        return Swap ? __builtin_bswap32(address) : address;
    }
    static unsigned slot(uint32_t x) noexcept { return x >> 8 & (layout::block_slots - 1); }

    static uint32_t root_entry(const uint32_t* root, uint32_t x) noexcept {
        return load_entry(root + (x >> (32 - layout::root4_bits)));
    }

    /// Address of the first load from a block: the ID itself, or the run ends.
    static const uint8_t* first_read(const uint8_t* block, uint32_t x) noexcept {
        return sizeof(Id) == 1 ? block + slot(x) : block;
    }

    static uint64_t id_at(const uint8_t* first, uint32_t x) noexcept {
        if constexpr (sizeof(Id) == 1) return *first;
        const uint64_t run = V::popcount(load_word(first) >> slot(x));
        Id id;
        __builtin_memcpy(&id, first + (layout::block_runs_at - sizeof(Id)) + run * sizeof(Id),
                         sizeof id);
        return id;
    }

    static uint64_t next_hop(const uint64_t* nexthops, uint64_t id) noexcept {
        return Hops ? __atomic_load_n(nexthops + id, __ATOMIC_RELAXED) : id - 1;
    }

    /// Where the ID of an address is whose block has escape_id: in a host node.
    static const uint8_t* in_host_node(const uint8_t* nodes, const uint8_t* first,
                                       uint32_t x) noexcept {
        const uint8_t* block = sizeof(Id) == 1 ? first - slot(x) : first;
        const unsigned runs = sizeof(Id) == 1 ? 0 : V::popcount(load_word(block));
        const uint32_t link =
            load_entry(block + layout::escapes_at(sizeof(Id), runs) + 4 * slot(x));
        return nodes + (link - layout::node_bit) + (x & 0xff) * sizeof(Id);
    }

    /// Look up n <= chunk4 addresses. An address that escapes gets the next hop of escape_id, all ones, which a route
    /// may have, too.
    ///
    /// first    [n] out with Prefetch: first_read() of each address
    /// returns  true if any address escapes
    template <bool Prefetch>
    static bool pass(const fib::view& t, const uint32_t* dst, uint64_t* nexthop, uint32_t n,
                     const uint8_t** first) noexcept {
        // a local copy: the compiler reloads members of t after an acquire load
        const uint32_t* const root = t.root;
        const uint8_t* const nodes = t.nodes;
        const uint64_t* const nexthops = t.nexthops;
        uint64_t seen = 0;
        const auto first_of = [&](uint32_t x) {
            return first_read(nodes + root_entry(root, x), x);
        };
        const auto finish = [&](uint32_t i, uint32_t x, const uint8_t* at) {
            const uint64_t id = id_at(at, x);
            seen |= id - 1;  // negative for escape_id
            nexthop[i] = next_hop(nexthops, id);
        };
        if constexpr (Prefetch) {
#pragma GCC unroll 4
            for (uint32_t i = 0; i < n; ++i) V::prefetch(first[i] = first_of(host(dst[i])));
#pragma GCC unroll 4
            for (uint32_t i = 0; i < n; ++i) finish(i, host(dst[i]), first[i]);
        } else {
#pragma GCC unroll 4
            for (uint32_t i = 0; i < n; ++i) finish(i, host(dst[i]), first_of(host(dst[i])));
        }
        return seen >> 63 != 0;
    }

    /// Look up the addresses that escape by their links. Their next hop is all ones, and perhaps others'.
    ///
    /// first  [n] first_read() of each address, with Prefetch
    template <bool Prefetch>
    static void follow_links(const fib::view& t, const uint32_t* dst, uint64_t* nexthop, uint32_t n,
                             const uint8_t* const* first) noexcept {
        const uint32_t* const root = t.root;
        const uint8_t* const nodes = t.nodes;
        const uint64_t* const nexthops = t.nexthops;
        uint8_t list[chunk4];
        uint32_t count = 0;
        for (uint32_t i = 0; i < n; ++i) {
            list[count] = static_cast<uint8_t>(i);
            count += nexthop[i] == ~uint64_t{0};
        }
        const auto finish = [&](uint32_t i, const uint8_t* at) {
            Id id;
            __builtin_memcpy(&id, at, sizeof id);
            nexthop[i] = next_hop(nexthops, id);
        };
        const uint8_t* at[chunk4];
        uint32_t prefetched = 0;
        constexpr bool certain = Prefetch && !Hops;  // no other block, and no route's next hop
        for (uint32_t k = 0; k < count; ++k) {
            const uint32_t i = list[k], x = host(dst[i]);
            const uint8_t* const begin =
                Prefetch ? first[i] : first_read(nodes + root_entry(root, x), x);
            if (const uint64_t id = certain ? layout::escape_id : id_at(begin, x);
                id != layout::escape_id) {
                nexthop[i] = next_hop(nexthops, id);
            } else if (Prefetch) {
                V::prefetch(at[prefetched] = in_host_node(nodes, begin, x));
                list[prefetched++] = list[k];
            } else {
                finish(i, in_host_node(nodes, begin, x));
            }
        }
        for (uint32_t k = 0; k < prefetched; ++k) finish(list[k], at[k]);
    }

    template <bool Prefetch>
    static void all(const fib::view& t, const uint32_t* dst, uint64_t* nexthop,
                    uint32_t n) noexcept {
        const uint8_t* first[chunk4];
        if (__builtin_expect(pass<Prefetch>(t, dst, nexthop, n, first), 0))
            follow_links<Prefetch>(t, dst, nexthop, n, first);
    }

    static void chunk(const fib::view& t, const uint32_t* dst, uint64_t* nexthop,
                      uint32_t n) noexcept {
        if (n > 1 && train<V, 4>(dst, n, host(0xffff'ff00))) {
            if (!pass<false>(t, dst, nexthop, 1, nullptr)) {
                repeat(nexthop, n);
                return;
            }
        }
        if (t.prefetch)
            all<true>(t, dst, nexthop, n);
        else
            all<false>(t, dst, nexthop, n);
    }

    static void burst(const fib::view& t, const uint32_t* dst, uint64_t* nexthop,
                      uint32_t n) noexcept {
        for (uint32_t at = 0; at < n; at += chunk4)
            chunk(t, dst + at, nexthop + at, n - at < chunk4 ? n - at : chunk4);
    }
};

template <class V, class Id>
inline void lookup4_ids(const fib::view& t, const uint32_t* dst, uint64_t* nexthop,
                        uint32_t n) noexcept {
    if (t.nexthops != nullptr)
        t.network_order ? lookup4_way<V, Id, true, true>::burst(t, dst, nexthop, n)
                        : lookup4_way<V, Id, false, true>::burst(t, dst, nexthop, n);
    else
        t.network_order ? lookup4_way<V, Id, true, false>::burst(t, dst, nexthop, n)
                        : lookup4_way<V, Id, false, false>::burst(t, dst, nexthop, n);
}

/// A short table, n >= V::lanes.
template <class V, bool Swap>
struct search4 {
    const fib::interval_search s;  // a copy: stores to hop cannot change it
    const uint32_t* dst;
    uint64_t* nexthop;
    uint32_t n;

    template <unsigned Levels>
    void run() const noexcept {
        each_vector<V>(
            n, [this](uint32_t i) __attribute__((always_inline)) {
                const V key = V::load(dst + i);
                store_nexthops<V, Levels>(
                    s,
                    interval_of<V, Levels>(
                        s, V::set1(0), (Swap ? V::swap_bytes(key) : key) ^ V::set1(search_sign)),
                    nexthop + i);
            });
    }
};

template <class V>
inline void lookup4_burst(const fib::view& t, const uint32_t* dst, uint64_t* nexthop,
                          uint32_t n) noexcept {
    if constexpr (V::look_up_bits > 0)
        if (can_search<V>(t, n)) {
            constexpr unsigned least = layout::search_least_levels;
            if (t.network_order)
                with_levels<least, V::look_up_bits>(t.search.levels,
                                                    search4<V, true>{t.search, dst, nexthop, n});
            else
                with_levels<least, V::look_up_bits>(t.search.levels,
                                                    search4<V, false>{t.search, dst, nexthop, n});
            return;
        }
    if (t.id_bytes == 1) return lookup4_ids<V, uint8_t>(t, dst, nexthop, n);
    if (t.id_bytes == 2) return lookup4_ids<V, uint16_t>(t, dst, nexthop, n);
    return lookup4_ids<V, uint32_t>(t, dst, nexthop, n);
}

}  // namespace

namespace turnpike::fib::TURNPIKE_ISA {

void lookup4(const view& t, const uint32_t* dst, uint64_t* nexthop, uint32_t n) noexcept {
    lookup4_burst<simd>(t, dst, nexthop, n);
}

}  // namespace turnpike::fib::TURNPIKE_ISA
