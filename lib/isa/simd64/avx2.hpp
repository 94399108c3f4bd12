// SPDX-License-Identifier: BSD-3-Clause
// Operations on 64-bit lanes, 256 bits. Defined in scalar.hpp.
#pragma once

#include <immintrin.h>

#include "isa/simd64/scalar.hpp"

namespace {

struct words_avx2 {
    static constexpr unsigned lanes = 4;
    __m256i v;

    static words_avx2 all(uint64_t x) noexcept {
        return {_mm256_set1_epi64x(static_cast<int64_t>(x))};
    }
    static words_avx2 load(const uint64_t* from) noexcept { return {raw(from)}; }
    static void store(uint64_t* to, words_avx2 a) noexcept {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), a.v);
    }
    static words_avx2 pick(words_avx2 a, words_avx2 b, words_avx2 c, words_avx2 d) noexcept {
        return {_mm256_or_si256(a.v, _mm256_and_si256(_mm256_cmpeq_epi64(b.v, c.v), d.v))};
    }
    static words_avx2 differ(words_avx2 a, words_avx2 b, words_avx2 c) noexcept {
        return {_mm256_or_si256(a.v, _mm256_xor_si256(b.v, c.v))};
    }
    static uint32_t nonzero(words_avx2 a) noexcept {
        const __m256i none = _mm256_cmpeq_epi64(a.v, _mm256_setzero_si256());
        return static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(none))) ^ 15;
    }
    static words_avx2 add32(words_avx2 a, words_avx2 b) noexcept {
        return {_mm256_add_epi32(a.v, b.v)};
    }
    static words_avx2 add(words_avx2 a, words_avx2 b) noexcept {
        return {_mm256_add_epi64(a.v, b.v)};
    }
    static words_avx2 mask(words_avx2 a, words_avx2 b) noexcept {
        return {_mm256_and_si256(a.v, b.v)};
    }
    static words_avx2 multiply(words_avx2 a, words_avx2 b) noexcept {
        return {_mm256_mul_epu32(a.v, b.v)};
    }
    static words_avx2 high(words_avx2 a) noexcept { return {_mm256_srli_epi64(a.v, 32)}; }
    static words_avx2 swap(words_avx2 a) noexcept { return {_mm256_shuffle_epi32(a.v, 0xb1)}; }
    template <unsigned Words>
    static words_avx2 key_words(const uint8_t* keys, unsigned w) noexcept {
        if constexpr (Words == 1) return {raw(keys)};
        if constexpr (Words == 2) {
            const __m256i first = raw(keys), second = raw(keys + 32);
            return {_mm256_permute4x64_epi64(w == 0 ? _mm256_unpacklo_epi64(first, second)
                                                    : _mm256_unpackhi_epi64(first, second),
                                             0xd8)};
        }
        if (w == 4) {
            const auto word = [&](unsigned j) {
                return static_cast<int64_t>(word_at(keys + 8 * (Words * j + w)));
            };
            return {_mm256_set_epi64x(word(3), word(2), word(1), word(0))};
        }
        // Transpose four rows of four words.
        const auto row = [&](unsigned j) { return raw(keys + 8 * Words * j); };
        const __m256i low = w % 2 == 0 ? _mm256_unpacklo_epi64(row(0), row(1))
                                       : _mm256_unpackhi_epi64(row(0), row(1));
        const __m256i high = w % 2 == 0 ? _mm256_unpacklo_epi64(row(2), row(3))
                                        : _mm256_unpackhi_epi64(row(2), row(3));
        return {w < 2 ? _mm256_permute2x128_si256(low, high, 0x20)
                      : _mm256_permute2x128_si256(low, high, 0x31)};
    }
    template <unsigned Lanes, unsigned Words>
    static uint32_t equal_words(const uint8_t* line, const uint8_t* key) noexcept {
        const line_copy seen(line);
        const __m256i wanted = Words == 1 ? _mm256_set1_epi64x(static_cast<int64_t>(word_at(key)))
                                          : _mm256_broadcastsi128_si256(_mm_loadu_si128(
                                                reinterpret_cast<const __m128i*>(key)));
        const auto same = [&](unsigned byte) {
            const __m256i equal = _mm256_cmpeq_epi64(raw(seen.at(byte)), wanted);
            return static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(equal)));
        };
        return Lanes <= 4 ? same(0) : same(0) | same(32) << 4;
    }
    static uint32_t equal_tags(const uint8_t* line, uint16_t tag) noexcept {
        const line_copy seen(line);
        const __m256i wanted = _mm256_set1_epi16(static_cast<int16_t>(tag));
        const __m256i both = _mm256_packs_epi16(_mm256_cmpeq_epi16(raw(seen.at(0)), wanted),
                                                _mm256_cmpeq_epi16(raw(seen.at(32)), wanted));
        return static_cast<uint32_t>(
            // packs works per 128-bit lane
            _mm256_movemask_epi8(_mm256_permute4x64_epi64(both, 0xd8)));
    }
    template <unsigned Words>
    static bool equal_key(const uint8_t* a, const uint8_t* b) noexcept {
        if constexpr (Words == 1) return shared_word_at(a) == word_at(b);
        const line_copy seen(a, Words);
        if constexpr (Words == 2) {
            const __m128i differ =
                _mm_xor_si128(_mm_loadu_si128(static_cast<const __m128i*>(seen.at())),
                              _mm_loadu_si128(reinterpret_cast<const __m128i*>(b)));
            return _mm_testz_si128(differ, differ);
        } else {
            const __m256i first = _mm256_xor_si256(raw(seen.at()), raw(b));
            const __m256i last = _mm256_castsi128_si256(
                _mm_xor_si128(_mm_loadl_epi64(static_cast<const __m128i*>(seen.at(32))),
                              _mm_loadl_epi64(reinterpret_cast<const __m128i*>(b + 32))));
            const __m256i differ = _mm256_or_si256(first, last);
            return _mm256_testz_si256(differ, differ);
        }
    }
    static uint64_t nonzero_bytes(const uint8_t* from) noexcept {
        const auto zero = [&](unsigned byte) {
            const __m256i none = _mm256_cmpeq_epi8(raw(from + byte), _mm256_setzero_si256());
            return uint64_t{static_cast<uint32_t>(_mm256_movemask_epi8(none))};
        };
        return ~(zero(0) | zero(32) << 32);
    }
    template <unsigned Shift, class Meta>
    static uint64_t nonzero_counters(const Meta* metas, const uint64_t* second,
                                     uint32_t n) noexcept {
        uint64_t nonzero = 0;
        for (uint32_t i = 0; i < n; i += lanes) {
            __m256i meta;
            if constexpr (sizeof(Meta) == 4)
                meta = _mm256_cvtepu32_epi64(
                    _mm_loadu_si128(reinterpret_cast<const __m128i*>(metas + i)));
            else
                meta = raw(metas + i);
            const __m256i shift = _mm256_add_epi64(
                _mm256_and_si256(_mm256_srli_epi64(raw(second + i), 28), _mm256_set1_epi64x(12)),
                _mm256_set1_epi64x(Shift));
            const __m256i counter =
                _mm256_and_si256(_mm256_srlv_epi64(meta, shift), _mm256_set1_epi64x(15));
            const __m256i sign = _mm256_cmpgt_epi64(counter, _mm256_setzero_si256());
            nonzero |= static_cast<uint64_t>(_mm256_movemask_pd(_mm256_castsi256_pd(sign))) << i;
        }
        return nonzero;
    }
    static void prefetch(const void* at) noexcept { __builtin_prefetch(at); }

    // Helper; not part of the interface.
    static __m256i raw(const void* from) noexcept {
        return _mm256_loadu_si256(static_cast<const __m256i*>(from));
    }
};

}  // namespace
