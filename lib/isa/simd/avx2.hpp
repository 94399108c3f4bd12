// SPDX-License-Identifier: BSD-3-Clause
// SIMD words, 256 bits; what each means: sse42.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace {

struct avx2 {
    static constexpr unsigned lanes = 8;
    __m256i v;

    static avx2 set1(uint32_t x) noexcept { return {_mm256_set1_epi32(static_cast<int>(x))}; }
    static avx2 load(const uint32_t* from) noexcept {
        return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))};
    }
    static void store(uint32_t* to, avx2 a) noexcept {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), a.v);
    }
    friend avx2 operator+(avx2 a, avx2 b) noexcept { return {_mm256_add_epi32(a.v, b.v)}; }
    friend avx2 operator&(avx2 a, avx2 b) noexcept { return {_mm256_and_si256(a.v, b.v)}; }
    template <int Bits>
    static avx2 shift_right(avx2 a) noexcept {
        return {_mm256_srli_epi32(a.v, Bits)};
    }
    static avx2 load_u32_each(const uint8_t* const* from, unsigned offset) noexcept {
        int x[8];
        for (unsigned i = 0; i < 8; ++i) std::memcpy(&x[i], from[i] + offset, 4);
        return {_mm256_setr_epi32(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7])};
    }
    static avx2 sum_halves_each(const uint8_t* const* from) noexcept {
        // Each half register holds one block: blocks i and i + 4 go together, so that the two
        // horizontal adds leave lane i with block i.
        __m256i part[4];
        for (unsigned i = 0; i < 4; ++i) {
            const __m256i x = _mm256_inserti128_si256(
                _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from[i]))),
                _mm_loadu_si128(reinterpret_cast<const __m128i*>(from[i + 4])), 1);
            part[i] = _mm256_add_epi32(_mm256_and_si256(x, _mm256_set1_epi32(0xffff)),
                                       _mm256_srli_epi32(x, 16));
        }
        return {_mm256_hadd_epi32(_mm256_hadd_epi32(part[0], part[1]),
                                  _mm256_hadd_epi32(part[2], part[3]))};
    }
};

}  // namespace
