// SPDX-License-Identifier: BSD-3-Clause
// Compares blocks of packets with every cached endpoint. A block's marks and results stay in
// registers.

#include "isa/simd64/simd64.hpp"
#include "tunnel/last_endpoints.hpp"

namespace {

/// Vectors per block: as many as stay in registers.
template <class V>
constexpr uint32_t block_vectors = V::lanes == 8 ? 2 : 4;

template <class V>
inline uint32_t find_burst(const turnpike::tunnel::last_endpoints& last, const uint64_t* mark,
                           uint64_t* value, uint32_t n) noexcept {
    constexpr uint32_t block = block_vectors<V> * V::lanes;
    static_assert(turnpike::tunnel::endpoint_lanes % block == 0);
    const uint64_t* const marks = &last.mark[0];
    const uint64_t* const values = &last.value[0];
    uint64_t found = 0;
    for (uint32_t i = 0; i < n; i += block) {
        V wanted[block_vectors<V>], seen[block_vectors<V>];
        // Unrolled: arrays with a variable index would be in memory.
#pragma GCC unroll 4
        for (uint32_t k = 0; k < block_vectors<V>; ++k) {
            wanted[k] = V::load(mark + i + k * V::lanes);
            seen[k] = V::all(0);
        }
        for (uint32_t e = 0; e < last.used; ++e) {
            const V its_mark = V::all(marks[e]), its_value = V::all(values[e]);
#pragma GCC unroll 4
            for (uint32_t k = 0; k < block_vectors<V>; ++k)
                seen[k] = V::pick(seen[k], wanted[k], its_mark, its_value);
        }
#pragma GCC unroll 4
        for (uint32_t k = 0; k < block_vectors<V>; ++k) {
            V::store(value + i + k * V::lanes, seen[k]);
            found |= uint64_t{V::nonzero(seen[k])} << (i + k * V::lanes);
        }
    }
    return static_cast<uint32_t>(found & ((uint64_t{1} << n) - 1));
}

/// Compare whole vectors of each key, and the rest word by word; several keys per branch.
template <class V>
inline bool all_same(const uint64_t* key, uint32_t n) noexcept {
    constexpr uint32_t words = turnpike::tunnel::long_key_words, step = 8;
    constexpr bool in_one_vector = V::lanes > words;
    constexpr uint32_t whole = in_one_vector ? 1 : words / V::lanes,
                       rest = in_one_vector ? 0 : words % V::lanes;
    const auto load = [](const uint64_t* from) {
        if constexpr (in_one_vector)
            return V::template load_first<words>(from);
        else
            return V::load(from);
    };
    V first[whole];
    for (uint32_t w = 0; w < whole; ++w) first[w] = load(key + w * V::lanes);
    for (uint32_t i = 1; i < n; i += step) {
        V differs = V::all(0);
        uint64_t rest_differs = 0;
        const uint32_t end = i + step < n ? i + step : n;
        for (uint32_t k = i; k < end; ++k) {
            const uint64_t* const one = key + k * words;
            for (uint32_t w = 0; w < whole; ++w)
                differs = V::differ(differs, load(one + w * V::lanes), first[w]);
            for (uint32_t w = words - rest; w < words; ++w) rest_differs |= one[w] ^ key[w];
        }
        if (rest_differs != 0 || V::nonzero(differs) != 0) return false;
    }
    return true;
}

}  // namespace

namespace turnpike::tunnel::TURNPIKE_ISA {

static uint32_t find(const last_endpoints& last, const uint64_t* mark, uint64_t* value,
                     uint32_t n) noexcept {
    return find_burst<simd64>(last, mark, value, n);
}

static bool same(const uint64_t* key, uint32_t n) noexcept { return all_same<simd64>(key, n); }

extern const finder endpoint_finder;
const finder endpoint_finder{find, same};

}  // namespace turnpike::tunnel::TURNPIKE_ISA
