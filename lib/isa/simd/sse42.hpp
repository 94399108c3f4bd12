// SPDX-License-Identifier: BSD-3-Clause
// SIMD words, 128 bits: 32-bit lanes. Every simd/<isa>.hpp defines the same words, so that a kernel
// is a template over the vector type; scalar.hpp is their meaning in plain C++.
//
//   lanes                        32-bit lanes in a vector
//   set1(x)                      every lane x
//   load_u32_each(p, offset)     lane i = the 4 bytes at p[i] + offset (memory order)
//   sum_halves_each(p)           lane i = sum of the 8 16-bit words in the 16 bytes at p[i]
//   a + b, a & b, shift_right<n> per lane
//   load(from), store(to, a)     lanes from and to memory, any alignment
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace {

struct sse42 {
    static constexpr unsigned lanes = 4;
    __m128i v;

    static sse42 set1(uint32_t x) noexcept { return {_mm_set1_epi32(static_cast<int>(x))}; }
    static sse42 load(const uint32_t* from) noexcept {
        return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))};
    }
    static void store(uint32_t* to, sse42 a) noexcept {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), a.v);
    }
    friend sse42 operator+(sse42 a, sse42 b) noexcept { return {_mm_add_epi32(a.v, b.v)}; }
    friend sse42 operator&(sse42 a, sse42 b) noexcept { return {_mm_and_si128(a.v, b.v)}; }
    template <int Bits>
    static sse42 shift_right(sse42 a) noexcept {
        return {_mm_srli_epi32(a.v, Bits)};
    }
    static sse42 load_u32_each(const uint8_t* const* from, unsigned offset) noexcept {
        int x[4];
        for (unsigned i = 0; i < 4; ++i) std::memcpy(&x[i], from[i] + offset, 4);
        return {_mm_setr_epi32(x[0], x[1], x[2], x[3])};
    }
    static sse42 sum_halves_each(const uint8_t* const* from) noexcept {
        __m128i part[4];
        for (unsigned i = 0; i < 4; ++i) {
            const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from[i]));
            part[i] =
                _mm_add_epi32(_mm_and_si128(x, _mm_set1_epi32(0xffff)), _mm_srli_epi32(x, 16));
        }
        return {_mm_hadd_epi32(_mm_hadd_epi32(part[0], part[1]), _mm_hadd_epi32(part[2], part[3]))};
    }
};

}  // namespace
