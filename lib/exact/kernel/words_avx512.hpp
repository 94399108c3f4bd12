// SPDX-License-Identifier: BSD-3-Clause
// The words of lookup.inl.hpp, 512 bits. What each means: words_scalar.hpp.
#pragma once

#include <immintrin.h>

#include "exact/kernel/words_scalar.hpp"

namespace {

struct words_avx512 {
    static constexpr unsigned lanes = 8;
    __m512i v;

    static words_avx512 all(uint64_t x) noexcept {
        return {_mm512_set1_epi64(static_cast<int64_t>(x))};
    }
    static void store(uint64_t* to, words_avx512 a) noexcept { _mm512_storeu_si512(to, a.v); }
    static words_avx512 add32(words_avx512 a, words_avx512 b) noexcept {
        return {_mm512_add_epi32(a.v, b.v)};
    }
    static words_avx512 add(words_avx512 a, words_avx512 b) noexcept {
        return {_mm512_add_epi64(a.v, b.v)};
    }
    static words_avx512 mask(words_avx512 a, words_avx512 b) noexcept {
        return {_mm512_and_si512(a.v, b.v)};
    }
    static words_avx512 multiply(words_avx512 a, words_avx512 b) noexcept {
        return {_mm512_mul_epu32(a.v, b.v)};
    }
    static words_avx512 high(words_avx512 a) noexcept { return {_mm512_srli_epi64(a.v, 32)}; }
    static words_avx512 swap(words_avx512 a) noexcept {
        return {_mm512_shuffle_epi32(a.v, _MM_PERM_CDAB)};
    }
    template <unsigned Words>
    static words_avx512 key_words(const uint8_t* keys, unsigned w) noexcept {
        if constexpr (Words == 1) return {_mm512_loadu_si512(keys)};
        const auto word = [&](unsigned j) {
            return static_cast<int64_t>(word_at(keys + 8 * (Words * j + w)));
        };
        return {_mm512_set_epi64(word(7), word(6), word(5), word(4), word(3), word(2), word(1),
                                 word(0))};
    }
    template <unsigned Lanes, unsigned Words>
    static uint32_t equal_words(const uint8_t* line, const uint8_t* key) noexcept {
        const line_copy seen(line);
        const __m512i wanted =
            Words == 1
                ? _mm512_set1_epi64(static_cast<int64_t>(word_at(key)))
                : _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(key)));
        return _mm512_cmpeq_epi64_mask(_mm512_load_si512(seen.at()), wanted);
    }
    static uint32_t equal_tags(const uint8_t* line, uint16_t tag) noexcept {
        const line_copy seen(line);
        return _mm512_cmpeq_epi16_mask(_mm512_load_si512(seen.at()),
                                       _mm512_set1_epi16(static_cast<int16_t>(tag)));
    }
    template <unsigned Words>
    static bool equal_key(const uint8_t* a, const uint8_t* b) noexcept {
        const line_copy seen(a, Words);
        constexpr __mmask8 part = (1u << Words) - 1;
        return _mm512_mask_cmpneq_epi64_mask(part, _mm512_maskz_loadu_epi64(part, seen.at()),
                                             _mm512_maskz_loadu_epi64(part, b)) == 0;
    }
    static void prefetch(const void* at) noexcept { __builtin_prefetch(at); }
};

}  // namespace
