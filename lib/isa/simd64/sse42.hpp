// SPDX-License-Identifier: BSD-3-Clause
// Operations on 64-bit lanes, 128 bits. Defined in scalar.hpp.
#pragma once

#include <immintrin.h>

#include "isa/simd64/scalar.hpp"

namespace {

struct words_sse42 {
    static constexpr unsigned lanes = 2;
    __m128i v;

    static words_sse42 all(uint64_t x) noexcept {
        return {_mm_set1_epi64x(static_cast<int64_t>(x))};
    }
    static words_sse42 load(const uint64_t* from) noexcept { return {raw(from)}; }
    static void store(uint64_t* to, words_sse42 a) noexcept {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), a.v);
    }
    static words_sse42 pick(words_sse42 a, words_sse42 b, words_sse42 c, words_sse42 d) noexcept {
        return {_mm_or_si128(a.v, _mm_and_si128(_mm_cmpeq_epi64(b.v, c.v), d.v))};
    }
    static words_sse42 differ(words_sse42 a, words_sse42 b, words_sse42 c) noexcept {
        return {_mm_or_si128(a.v, _mm_xor_si128(b.v, c.v))};
    }
    static uint32_t nonzero(words_sse42 a) noexcept {
        const __m128i none = _mm_cmpeq_epi64(a.v, _mm_setzero_si128());
        return static_cast<uint32_t>(_mm_movemask_pd(_mm_castsi128_pd(none))) ^ 3;
    }
    static words_sse42 add32(words_sse42 a, words_sse42 b) noexcept {
        return {_mm_add_epi32(a.v, b.v)};
    }
    static words_sse42 add(words_sse42 a, words_sse42 b) noexcept {
        return {_mm_add_epi64(a.v, b.v)};
    }
    static words_sse42 mask(words_sse42 a, words_sse42 b) noexcept {
        return {_mm_and_si128(a.v, b.v)};
    }
    static words_sse42 multiply(words_sse42 a, words_sse42 b) noexcept {
        return {_mm_mul_epu32(a.v, b.v)};
    }
    static words_sse42 high(words_sse42 a) noexcept { return {_mm_srli_epi64(a.v, 32)}; }
    static words_sse42 swap(words_sse42 a) noexcept { return {_mm_shuffle_epi32(a.v, 0xb1)}; }
    template <unsigned Words>
    static words_sse42 key_words(const uint8_t* keys, unsigned w) noexcept {
        if constexpr (Words == 1) return {raw(keys)};
        return {_mm_set_epi64x(static_cast<int64_t>(word_at(keys + 8 * (Words + w))),
                               static_cast<int64_t>(word_at(keys + 8 * w)))};
    }
    template <unsigned Lanes, unsigned Words>
    static uint32_t equal_words(const uint8_t* line, const uint8_t* key) noexcept {
        const line_copy seen(line);
        const __m128i wanted =
            Words == 1 ? _mm_set1_epi64x(static_cast<int64_t>(word_at(key))) : raw(key);
        uint32_t equal = 0;
        for (unsigned i = 0; i < Lanes; i += 2) {
            const __m128i same = _mm_cmpeq_epi64(raw(seen.at(8 * i)), wanted);
            equal |= static_cast<uint32_t>(_mm_movemask_pd(_mm_castsi128_pd(same))) << i;
        }
        return equal;
    }
    static uint32_t equal_tags(const uint8_t* line, uint16_t tag) noexcept {
        const line_copy seen(line);
        const __m128i wanted = _mm_set1_epi16(static_cast<int16_t>(tag));
        const auto same = [&](unsigned i) { return _mm_cmpeq_epi16(raw(seen.at(16 * i)), wanted); };
        const auto low = _mm_movemask_epi8(_mm_packs_epi16(same(0), same(1)));
        const auto high = _mm_movemask_epi8(_mm_packs_epi16(same(2), same(3)));
        return static_cast<uint32_t>(low) | static_cast<uint32_t>(high) << 16;
    }
    template <unsigned Words>
    static bool equal_key(const uint8_t* a, const uint8_t* b) noexcept {
        if constexpr (Words == 1) return shared_word_at(a) == word_at(b);
        const line_copy seen(a, Words);
        __m128i differ = _mm_xor_si128(raw(seen.at()), raw(b));
        if constexpr (Words == 5) {
            differ = _mm_or_si128(differ, _mm_xor_si128(raw(seen.at(16)), raw(b + 16)));
            const __m128i last =
                _mm_xor_si128(_mm_loadl_epi64(static_cast<const __m128i*>(seen.at(32))),
                              _mm_loadl_epi64(reinterpret_cast<const __m128i*>(b + 32)));
            differ = _mm_or_si128(differ, last);
        }
        return _mm_testz_si128(differ, differ);
    }
    static uint64_t nonzero_bytes(const uint8_t* from) noexcept {
        uint64_t zero = 0;
        for (unsigned i = 0; i < 4; ++i) {
            const __m128i none = _mm_cmpeq_epi8(raw(from + 16 * i), _mm_setzero_si128());
            zero |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(none))} << (16 * i);
        }
        return ~zero;
    }
    template <unsigned Shift, class Meta>
    static uint64_t nonzero_counters(const Meta* metas, const uint64_t* second,
                                     uint32_t n) noexcept {
        return words_scalar::nonzero_counters<Shift>(metas, second, n);  // no per-lane shifts
    }
    static void prefetch(const void* at) noexcept { __builtin_prefetch(at); }

    // Helper; not part of the interface.
    static __m128i raw(const void* from) noexcept {
        return _mm_loadu_si128(static_cast<const __m128i*>(from));
    }
};

}  // namespace
