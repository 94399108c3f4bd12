// SPDX-License-Identifier: BSD-3-Clause
// Operations on 64-bit lanes, 512 bits. Defined in scalar.hpp.
#pragma once

#include <immintrin.h>

#include "isa/simd64/scalar.hpp"

namespace {

struct words_avx512 {
    static constexpr unsigned lanes = 8;
    __m512i v;

    static words_avx512 all(uint64_t x) noexcept {
        return {_mm512_set1_epi64(static_cast<int64_t>(x))};
    }
    static words_avx512 load(const uint64_t* from) noexcept { return {_mm512_loadu_si512(from)}; }
    template <unsigned Words>
    static words_avx512 load_first(const uint64_t* from) noexcept {
        constexpr __mmask8 its = (1 << Words) - 1;
        return {_mm512_maskz_loadu_epi64(its, from)};
    }
    static void store(uint64_t* to, words_avx512 a) noexcept { _mm512_storeu_si512(to, a.v); }
    static words_avx512 pick(words_avx512 a, words_avx512 b, words_avx512 c,
                             words_avx512 d) noexcept {
        return {_mm512_mask_mov_epi64(a.v, _mm512_cmpeq_epi64_mask(b.v, c.v), d.v)};
    }
    static words_avx512 differ(words_avx512 a, words_avx512 b, words_avx512 c) noexcept {
        return {_mm512_ternarylogic_epi64(a.v, b.v, c.v, 0xf6)};  // a | (b ^ c)
    }
    static uint32_t nonzero(words_avx512 a) noexcept { return _mm512_test_epi64_mask(a.v, a.v); }
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
        // Lane j takes u64 number Words * j + w of the Words vectors of keys.
        const __m512i number = _mm512_add_epi64(
            _mm512_set1_epi64(w), _mm512_set_epi64(7 * Words, 6 * Words, 5 * Words, 4 * Words,
                                                   3 * Words, 2 * Words, Words, 0));
        const auto part = [&](unsigned k) { return _mm512_loadu_si512(keys + 64 * k); };
        __m512i out = _mm512_permutex2var_epi64(part(0), number, part(1));
        for (unsigned k = 2; k < Words; ++k) {
            // Lanes from vector k on: later vectors overwrite earlier ones.
            const __mmask8 here = _mm512_cmpge_epu64_mask(number, _mm512_set1_epi64(8 * k));
            out = _mm512_mask_permutexvar_epi64(out, here, number, part(k));
        }
        return {out};
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
    static uint64_t nonzero_bytes(const uint8_t* from) noexcept {
        const __m512i all = _mm512_loadu_si512(from);
        return _mm512_test_epi8_mask(all, all);
    }
    template <unsigned Shift, class Meta>
    static uint64_t nonzero_counters(const Meta* metas, const uint64_t* second,
                                     uint32_t n) noexcept {
        uint64_t nonzero = 0;
        for (uint32_t i = 0; i < n; i += lanes) {
            __m512i meta;
            if constexpr (sizeof(Meta) == 4)
                meta = _mm512_cvtepu32_epi64(
                    _mm256_loadu_si256(reinterpret_cast<const __m256i*>(metas + i)));
            else
                meta = _mm512_loadu_si512(metas + i);
            const __m512i shift = _mm512_add_epi64(
                _mm512_and_si512(_mm512_srli_epi64(_mm512_loadu_si512(second + i), 28),
                                 _mm512_set1_epi64(12)),
                _mm512_set1_epi64(Shift));
            const __m512i counter = _mm512_srlv_epi64(meta, shift);
            nonzero |= uint64_t{_mm512_test_epi64_mask(counter, _mm512_set1_epi64(15))} << i;
        }
        return nonzero;
    }
    static void prefetch(const void* at) noexcept { __builtin_prefetch(at); }
};

}  // namespace
