// SPDX-License-Identifier: BSD-3-Clause
#include <immintrin.h>

#include "tunnel/kernel/find.hpp"
#include "tunnel/kernel/find.inl.hpp"

namespace {

struct words {
    static constexpr uint32_t lanes = 8, vectors = 2;
    __m512i v;
    static words all(uint64_t x) noexcept { return {_mm512_set1_epi64(static_cast<int64_t>(x))}; }
    static words load(const uint64_t* from) noexcept { return {_mm512_loadu_si512(from)}; }
    static void store(uint64_t* to, words a) noexcept { _mm512_storeu_si512(to, a.v); }
    static words pick(words a, words b, words c, words d) noexcept {
        return {_mm512_mask_mov_epi64(a.v, _mm512_cmpeq_epi64_mask(b.v, c.v), d.v)};
    }
    static words differ(words a, words b, words c) noexcept {
        return {_mm512_ternarylogic_epi64(a.v, b.v, c.v, 0xf6)};  // a | (b ^ c)
    }
    static words load_key(const uint64_t* from) noexcept {
        constexpr __mmask8 its = (1 << turnpike::tunnel::long_key_words) - 1;
        return {_mm512_maskz_loadu_epi64(its, from)};
    }
    static uint32_t nonzero(words a) noexcept { return _mm512_test_epi64_mask(a.v, a.v); }
};

}  // namespace

namespace turnpike::tunnel::avx512 {

uint32_t find(const last_endpoints& last, const uint64_t* mark, uint64_t* value,
              uint32_t n) noexcept {
    return find_burst<words>(last, mark, value, n);
}

bool same(const uint64_t* key, uint32_t n) noexcept { return all_same<words>(key, n); }

}  // namespace turnpike::tunnel::avx512
