// SPDX-License-Identifier: BSD-3-Clause
// The keyed hash of all tables: the same result with every instruction set.
//
//   product(x, i) = (low(x) + add[2i]) * (high(x) + add[2i + 1]);  low and high are 32-bit halves,
//                   the sums are modulo 2^32, all else is modulo 2^64 sum    = over the key's
//                   64-bit words i:  product(word, i) + word sum    = product(sum, i) + sum with
//                   its halves swapped, for i = 5, then 6 first  = (multiply[0] * low(sum) +
//                   multiply[1] * high(sum) + multiply[2]) >> 32 second = likewise of
//                   multiply[3..5] Sources: the products are NH of UMAC (Black, Halevi, Krawczyk,
//                   Krovetz, Rogaway, "UMAC: Fast and Secure Message Authentication", 1999): two
//                   keys collide in any of the three sums for at most one secret in 2^32. The last
//                   step is vector multiply-shift (Thorup, "High Speed Hashing for Integers and
//                   Strings", section 3.2): two different sums are independent in each of first and
//                   second, over the secrets. Resistance to chosen keys: doc/design/0014-hash.md.
#pragma once

#include <cstdint>
#include <cstring>

namespace turnpike::hash {

/// Drawn at random for every table (config::keys sets one, for tests).
struct secret {
    uint64_t multiply[6];
    uint32_t add[14];  ///< two for each word of the longest key, then two for each mixing step

    /// Draw from the kernel's random source. Returns false on failure.
    [[nodiscard]] static bool draw(secret& into) noexcept;
    /// Deterministic for a seed: for tests and benchmarks.
    static secret of(uint64_t seed) noexcept;
};

/// A key's hash: `first` selects the region and has the tag, `second` selects the buckets in the
/// region.
struct hashed {
    uint32_t first, second;
};

namespace detail {
inline uint64_t product(const secret& s, uint64_t x, unsigned i) noexcept {
    const uint32_t low = static_cast<uint32_t>(x) + s.add[2 * i];
    const uint32_t high = static_cast<uint32_t>(x >> 32) + s.add[2 * i + 1];
    return uint64_t{low} * high;
}
}  // namespace detail

template <unsigned Words>
inline hashed hash(const secret& s, const void* key) noexcept {
    uint64_t sum = 0;
    for (unsigned i = 0; i < Words; ++i) {
        uint64_t word;
        memcpy(&word, static_cast<const uint8_t*>(key) + 8 * i, sizeof word);
        sum += detail::product(s, word, i) + word;
    }
    for (unsigned i = 5; i < 7; ++i) sum = detail::product(s, sum, i) + (sum << 32 | sum >> 32);
    const uint64_t low = static_cast<uint32_t>(sum), high = sum >> 32;
    const uint64_t* m = s.multiply;
    return {static_cast<uint32_t>((m[0] * low + m[1] * high + m[2]) >> 32),
            static_cast<uint32_t>((m[3] * low + m[4] * high + m[5]) >> 32)};
}

}  // namespace turnpike::hash
