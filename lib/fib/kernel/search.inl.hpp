// SPDX-License-Identifier: BSD-3-Clause
// Lookups in short tables, a vector of addresses at a time: a binary search in which each step is a
// permutation (of a level's bounds, by the lanes' positions in it), a comparison and an addition.
// No load depends on an address.

#include "fib/layout.hpp"

namespace {

/// Sign of the keys: bounds are compared as signed numbers.
constexpr uint32_t search_sign = 1U << 31;

template <class V>
inline bool can_search(const turnpike::fib::view& t, uint32_t n) noexcept {
    return t.search.levels - 1 < V::look_up_bits && n >= V::lanes;  // levels 0 wraps
}

/// The interval of each key of 32 bits, or of 64 in two words.
template <class V, unsigned Levels, unsigned Level = 0, class... Low>
inline V interval_of(const turnpike::fib::interval_search& s, V at, V high, Low... low) noexcept {
    if constexpr (Level == Levels) {
        return at;
    } else {
        constexpr unsigned from = turnpike::fib::layout::search_level_at(Level);
        const V bound = V::template look_up<Level>(s.high + from, at);
        if constexpr (sizeof...(Low) == 0)
            at = V::descend(at, high, bound);
        else
            at = V::descend(at, high, low..., bound, V::template look_up<Level>(s.low + from, at));
        return interval_of<V, Levels, Level + 1>(s, at, high, low...);
    }
}

/// Store the next hops of a vector of intervals.
template <class V, unsigned Levels>
inline void store_nexthops(const turnpike::fib::interval_search& s, V at,
                           uint64_t* nexthop) noexcept {
    if (s.nexthops32 != nullptr) {
        V::store_wide(nexthop, V::template look_up<Levels>(s.nexthops32, at));
        return;
    }
    uint32_t number[V::lanes];
    V::store(number, at);
#pragma GCC unroll 16
    for (unsigned i = 0; i < V::lanes; ++i) nexthop[i] = s.nexthops[number[i]];
}

/// Call step(i) for the first of each vector of n >= V::lanes addresses; the last may overlap. Steps are lambdas
/// that are always inlined: GCC would call those of long searches, 0.8 cycles an address (Zen 4).
template <class V, class Step>
inline void each_vector(uint32_t n, Step step) noexcept {
    uint32_t i = 0;
    for (; i + V::lanes <= n; i += V::lanes) step(i);
    if (i < n) step(n - V::lanes);
}

/// Call use.template run<levels>() for the levels of the search.
template <unsigned Least, unsigned Most, class Use>
inline void with_levels(uint32_t levels, const Use& use) noexcept {
    if constexpr (Least == Most) {
        use.template run<Least>();
    } else {
        if (levels <= Least) return use.template run<Least>();
        with_levels<Least + 1, Most>(levels, use);
    }
}

}  // namespace
