// SPDX-License-Identifier: BSD-3-Clause
// SIMD words, 128 bits: 32-bit lanes. Every simd/<isa>.hpp defines the same words, so that a kernel
// is a template over the vector type; scalar.hpp is their meaning in plain C++.
//
//   lanes                        32-bit lanes in a vector
//   set1(x)                      every lane x
//   load_u32_each(p, offset)     lane i = the 4 bytes at p[i] + offset (memory order)
//   sum_halves_each(p)           lane i = sum of the 8 16-bit words in the 16 bytes at p[i]
//   a + b, a & b, a | b, a ^ b, shift_right<n> per lane
//   load(from), store(to, a)     lanes from and to memory, any alignment
//   equal<T>(a, b)               all bits of each T-sized part where a and b are equal, else 0
//   any(a)                       is any bit set
//   zero_extend(to, from)        to[i] = from[i] for `wide` u64 values; from: u8, u16 or u32
//   popcount(x)                  bits set in one u64
//   prefetch(at)                 the line of `at`, into all caches; harmless for any address
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
    friend sse42 operator|(sse42 a, sse42 b) noexcept { return {_mm_or_si128(a.v, b.v)}; }
    friend sse42 operator^(sse42 a, sse42 b) noexcept { return {_mm_xor_si128(a.v, b.v)}; }
    template <class T>
    static sse42 equal(sse42 a, sse42 b) noexcept {
        if constexpr (sizeof(T) == 1) return {_mm_cmpeq_epi8(a.v, b.v)};
        if constexpr (sizeof(T) == 2) return {_mm_cmpeq_epi16(a.v, b.v)};
        return {_mm_cmpeq_epi32(a.v, b.v)};
    }
    static bool any(sse42 a) noexcept { return !_mm_testz_si128(a.v, a.v); }
    static constexpr unsigned wide = 2;
    template <class T>
    static void zero_extend(uint64_t* to, const T* from) noexcept {
        uint64_t bits = 0;
        std::memcpy(&bits, from, wide * sizeof(T));
        const __m128i x = _mm_cvtsi64_si128(static_cast<long long>(bits));
        const __m128i y = sizeof(T) == 1   ? _mm_cvtepu8_epi64(x)
                          : sizeof(T) == 2 ? _mm_cvtepu16_epi64(x)
                                           : _mm_cvtepu32_epi64(x);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), y);
    }
    static unsigned popcount(uint64_t x) noexcept {
        return static_cast<unsigned>(__builtin_popcountll(x));
    }
    static void prefetch(const void* at) noexcept { __builtin_prefetch(at); }
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
