// SPDX-License-Identifier: BSD-3-Clause
// SIMD operations, 256 bits with AVX-512 instructions where they help; otherwise avx2.hpp. Defined
// in sse42.hpp.
#pragma once

#include "isa/simd/avx2.hpp"

namespace {

struct avx512vl : avx2 {
    static uint64_t merge_best(uint64_t* best, const uint8_t* in, uint32_t found,
                               const uint8_t* tops, uint32_t there) noexcept {
        const __m256i first = load_bytes(tops, 2 * there).v;
        const __m256i second = load_bytes(tops + 32, there < 4 ? 0 : 2 * there - 8).v;
        const __m256i matching = matching_of(in, found);
        const __m256i lowest =
            _mm256_and_si256(matching, _mm256_sub_epi64(_mm256_setzero_si256(), matching));
        // 63 - leading zeros; the permutation reads the low three bits.
        const __m256i index = _mm256_xor_si256(_mm256_lzcnt_epi64(lowest), _mm256_set1_epi64x(63));
        const __m256i offered = _mm256_maskz_permutex2var_epi64(
            _mm256_test_epi64_mask(matching, matching), first, index, second);
        auto* const to = reinterpret_cast<__m256i*>(best);
        const __m256i now = _mm256_max_epu64(_mm256_loadu_si256(to), offered);
        _mm256_storeu_si256(to, now);
        const __m128i two =
            _mm_min_epu64(_mm256_castsi256_si128(now), _mm256_extracti128_si256(now, 1));
        const __m128i one = _mm_min_epu64(two, _mm_unpackhi_epi64(two, two));
        return static_cast<uint64_t>(_mm_cvtsi128_si64(one));
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
