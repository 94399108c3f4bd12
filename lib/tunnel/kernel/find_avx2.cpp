// SPDX-License-Identifier: BSD-3-Clause
#include <immintrin.h>

#include "tunnel/kernel/find.hpp"
#include "tunnel/kernel/find.inl.hpp"

namespace {

struct words {
    static constexpr uint32_t lanes = 4, vectors = 4;
    __m256i v;
    static words all(uint64_t x) noexcept { return {_mm256_set1_epi64x(static_cast<int64_t>(x))}; }
    static words load(const uint64_t* from) noexcept {
        return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))};
    }
    static void store(uint64_t* to, words a) noexcept {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), a.v);
    }
    static words pick(words a, words b, words c, words d) noexcept {
        return {_mm256_or_si256(a.v, _mm256_and_si256(_mm256_cmpeq_epi64(b.v, c.v), d.v))};
    }
    static words differ(words a, words b, words c) noexcept {
        return {_mm256_or_si256(a.v, _mm256_xor_si256(b.v, c.v))};
    }
    static uint32_t nonzero(words a) noexcept {
        const __m256i none = _mm256_cmpeq_epi64(a.v, _mm256_setzero_si256());
        return static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(none))) ^ 15;
    }
};

}  // namespace

namespace turnpike::tunnel::avx2 {

uint32_t find(const last_endpoints& last, const uint64_t* mark, uint64_t* value,
              uint32_t n) noexcept {
    return find_burst<words>(last, mark, value, n);
}

bool same(const uint64_t* key, uint32_t n) noexcept { return all_same<words>(key, n); }

}  // namespace turnpike::tunnel::avx2
