// SPDX-License-Identifier: BSD-3-Clause
// SIMD words, 512 bits; what each means: sse42.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace {

struct avx512 {
    static constexpr unsigned lanes = 16;
    __m512i v;

    static avx512 set1(uint32_t x) noexcept { return {_mm512_set1_epi32(static_cast<int>(x))}; }
    static avx512 load(const uint32_t* from) noexcept { return {_mm512_loadu_si512(from)}; }
    static void store(uint32_t* to, avx512 a) noexcept { _mm512_storeu_si512(to, a.v); }
    friend avx512 operator+(avx512 a, avx512 b) noexcept { return {_mm512_add_epi32(a.v, b.v)}; }
    friend avx512 operator&(avx512 a, avx512 b) noexcept { return {_mm512_and_si512(a.v, b.v)}; }
    friend avx512 operator|(avx512 a, avx512 b) noexcept { return {_mm512_or_si512(a.v, b.v)}; }
    friend avx512 operator^(avx512 a, avx512 b) noexcept { return {_mm512_xor_si512(a.v, b.v)}; }
    template <class T>
    static avx512 equal(avx512 a, avx512 b) noexcept {
        if constexpr (sizeof(T) == 1) return {_mm512_movm_epi8(_mm512_cmpeq_epi8_mask(a.v, b.v))};
        if constexpr (sizeof(T) == 2) return {_mm512_movm_epi16(_mm512_cmpeq_epi16_mask(a.v, b.v))};
        return {_mm512_movm_epi32(_mm512_cmpeq_epi32_mask(a.v, b.v))};
    }
    static bool any(avx512 a) noexcept { return _mm512_test_epi32_mask(a.v, a.v) != 0; }
    static constexpr unsigned wide = 8;
    template <class T>
    static void zero_extend(uint64_t* to, const T* from) noexcept {
        __m512i y;
        if constexpr (sizeof(T) == 4) {
            y = _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
        } else {
            long long bits[2] = {};
            std::memcpy(bits, from, wide * sizeof(T));
            const __m128i x = _mm_set_epi64x(bits[1], bits[0]);
            y = sizeof(T) == 1 ? _mm512_cvtepu8_epi64(x) : _mm512_cvtepu16_epi64(x);
        }
        _mm512_storeu_si512(to, y);
    }
    static unsigned popcount(uint64_t x) noexcept {
        return static_cast<unsigned>(__builtin_popcountll(x));
    }
    static void prefetch(const void* at) noexcept { __builtin_prefetch(at); }
    template <unsigned Bits>
    static avx512 shift_right(avx512 a) noexcept {
        return {_mm512_srli_epi32(a.v, Bits)};
    }
    static avx512 load_u32_each(const uint8_t* const* from, unsigned offset) noexcept {
        int x[16];
        for (unsigned i = 0; i < 16; ++i) std::memcpy(&x[i], from[i] + offset, 4);
        return {_mm512_loadu_si512(x)};
    }
    static avx512 sum_halves_each(const uint8_t* const* from) noexcept {
        // Blocks i, i + 4, i + 8, i + 12 go together (one a quarter register), so that the
        // transposing adds below leave lane i with block i. AVX-512 has no horizontal add.
        __m512i part[4];
        for (unsigned i = 0; i < 4; ++i) {
            __m512i x = _mm512_castsi128_si512(block(from[i]));
            x = _mm512_inserti32x4(x, block(from[i + 4]), 1);
            x = _mm512_inserti32x4(x, block(from[i + 8]), 2);
            x = _mm512_inserti32x4(x, block(from[i + 12]), 3);
            part[i] = _mm512_add_epi32(_mm512_and_si512(x, _mm512_set1_epi32(0xffff)),
                                       _mm512_srli_epi32(x, 16));
        }
        const __m512i a = _mm512_add_epi32(_mm512_unpacklo_epi32(part[0], part[1]),
                                           _mm512_unpackhi_epi32(part[0], part[1]));
        const __m512i b = _mm512_add_epi32(_mm512_unpacklo_epi32(part[2], part[3]),
                                           _mm512_unpackhi_epi32(part[2], part[3]));
        return {_mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b))};
    }

    // not a word: a loading step of the one above
    static __m128i block(const uint8_t* from) noexcept {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    }
};

}  // namespace
