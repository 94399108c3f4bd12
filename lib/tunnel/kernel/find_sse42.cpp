// SPDX-License-Identifier: BSD-3-Clause
#include <immintrin.h>

#include "tunnel/kernel/find.hpp"
#include "tunnel/kernel/find.inl.hpp"

namespace {

struct words {
    static constexpr uint32_t lanes = 2, vectors = 4;
    __m128i v;
    static words all(uint64_t x) noexcept { return {_mm_set1_epi64x(static_cast<int64_t>(x))}; }
    static words load(const uint64_t* from) noexcept {
        return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))};
    }
    static void store(uint64_t* to, words a) noexcept {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), a.v);
    }
    static words pick(words a, words b, words c, words d) noexcept {
        return {_mm_or_si128(a.v, _mm_and_si128(_mm_cmpeq_epi64(b.v, c.v), d.v))};
    }
    static words differ(words a, words b, words c) noexcept {
        return {_mm_or_si128(a.v, _mm_xor_si128(b.v, c.v))};
    }
    static uint32_t nonzero(words a) noexcept {
        const __m128i none = _mm_cmpeq_epi64(a.v, _mm_setzero_si128());
        return static_cast<uint32_t>(_mm_movemask_pd(_mm_castsi128_pd(none))) ^ 3;
    }
};

}  // namespace

namespace turnpike::tunnel::sse42 {

uint32_t find(const last_endpoints& last, const uint64_t* mark, uint64_t* value,
              uint32_t n) noexcept {
    return find_burst<words>(last, mark, value, n);
}

bool same(const uint64_t* key, uint32_t n) noexcept { return all_same<words>(key, n); }

}  // namespace turnpike::tunnel::sse42
