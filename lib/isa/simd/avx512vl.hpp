// SPDX-License-Identifier: BSD-3-Clause
// SIMD operations, 256 bits with AVX-512 instructions where they help; otherwise avx2.hpp. Defined
// in sse42.hpp.
#pragma once

#include "isa/simd/avx2.hpp"

namespace {

struct avx512vl : avx2 {
    static void pick_pairs(const uint8_t* at, uint32_t there, avx2 i, avx2& a, avx2& b) noexcept {
        const __m256i low = load_bytes(at, 2 * there).v;
        const __m256i high = load_bytes(at + 32, there < 4 ? 0 : 2 * there - 8).v;
        const __m256i twice = _mm256_add_epi32(i.v, i.v);
        a.v = _mm256_permutex2var_epi32(low, twice, high);
        b.v = _mm256_permutex2var_epi32(low, _mm256_add_epi32(twice, _mm256_set1_epi32(1)), high);
    }
    struct compressor {
        __mmask8 chosen;
        explicit compressor(uint32_t mask) noexcept : chosen(static_cast<__mmask8>(mask)) {}
        void store(uint32_t* to, avx2 a) const noexcept {
            // Avoids the compress-store instruction: Zen 4 executes it one lane at a time.
            avx2::store(to, {_mm256_maskz_compress_epi32(chosen, a.v)});
        }
    };
};

}  // namespace
