// SPDX-License-Identifier: BSD-3-Clause
// IPv4: root, block, ID; two dependent loads and no data-dependent branch. Addresses in a /24 with longer
// prefixes are listed, and looked up in a second pass: link, ID.
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

    /// Where the first pass was, for the second one.
    struct escaped {
        const uint8_t* first[chunk4];  ///< first_read() of each address of the chunk
        uint64_t mask = 0;             ///< bit n - 1 - i: address i of n has escape_id
    };

    /// Look up n <= chunk4 addresses. Next hops of addresses that escape are those of escape_id.
    /// Without List, only the highest bit of `out.mask` is set, if any escapes.
    template <bool Prefetch, bool List>
    static void pass(const fib::view& t, const uint32_t* dst, uint64_t* nexthop, uint32_t n,
                     escaped& out) noexcept {
        // a local copy: the compiler reloads members of t after an acquire load
        const uint32_t* const root = t.root;
        const uint8_t* const nodes = t.nodes;
        const uint64_t* const nexthops = t.nexthops;
        uint64_t seen = 0;
        const auto first = [&](uint32_t x) { return first_read(nodes + root_entry(root, x), x); };
        const auto finish = [&](uint32_t i, uint32_t x, const uint8_t* at) {
            const uint64_t id = id_at(at, x);
            const uint64_t less_one = id - 1;  // negative for escape_id
            seen = List ? 2 * seen + (less_one >> 63) : seen | less_one;
            nexthop[i] = next_hop(nexthops, id);
        };
        if constexpr (Prefetch) {
#pragma GCC unroll 4
            for (uint32_t i = 0; i < n; ++i) V::prefetch(out.first[i] = first(host(dst[i])));
#pragma GCC unroll 4
            for (uint32_t i = 0; i < n; ++i) finish(i, host(dst[i]), out.first[i]);
        } else {
#pragma GCC unroll 4
            for (uint32_t i = 0; i < n; ++i) {
                const uint8_t* const at = first(host(dst[i]));
                if (List) out.first[i] = at;
                finish(i, host(dst[i]), at);
            }
        }
        out.mask = List ? seen : seen >> 63;
    }

    template <bool Prefetch>
    static void with_escapes(const fib::view& t, const uint32_t* dst, uint64_t* nexthop,
                             uint32_t n) noexcept {
        escaped some;
        pass<Prefetch, true>(t, dst, nexthop, n, some);
        const uint8_t* const nodes = t.nodes;
        const uint64_t* const nexthops = t.nexthops;
        const auto finish = [&](uint32_t i, const uint8_t* at) {
            Id id;
            __builtin_memcpy(&id, at, sizeof id);
            nexthop[i] = next_hop(nexthops, id);
        };
        const uint8_t* at[chunk4];
        for (uint64_t left = some.mask; left != 0; left &= left - 1) {
            const uint32_t i = n - 1 - static_cast<uint32_t>(__builtin_ctzll(left));
            at[i] = in_host_node(nodes, some.first[i], host(dst[i]));
            if (Prefetch)
                V::prefetch(at[i]);
            else
                finish(i, at[i]);
        }
        if (!Prefetch) return;
        for (uint64_t left = some.mask; left != 0; left &= left - 1) {
            const uint32_t i = n - 1 - static_cast<uint32_t>(__builtin_ctzll(left));
            finish(i, at[i]);
        }
    }

    template <bool Prefetch>
    static void all(const fib::view& t, const uint32_t* dst, uint64_t* nexthop,
                    uint32_t n) noexcept {
        if (!t.escapes) {
            escaped none;
            pass<Prefetch, false>(t, dst, nexthop, n, none);
            if (__builtin_expect(none.mask == 0, 1)) return;
        }
        with_escapes<Prefetch>(t, dst, nexthop, n);
    }

    static void chunk(const fib::view& t, const uint32_t* dst, uint64_t* nexthop,
                      uint32_t n) noexcept {
        if (n > 1 && train<V, 4>(dst, n, host(0xffff'ff00))) {
            escaped none;
            pass<false, false>(t, dst, nexthop, 1, none);
            if (none.mask == 0) {
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
