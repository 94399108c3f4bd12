// SPDX-License-Identifier: BSD-3-Clause
// Rows of four u32 in 128-bit registers: the operations load_columns and load_columns_be of sse42.hpp for all x86
// instruction sets.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace {

struct rows128 {
    static void load_columns(const uint8_t* at, const uint32_t* n, uint32_t* a, uint32_t* b,
                             uint32_t* c, uint32_t* d) noexcept {
        const __m128i r0 = row(at, n[0]), r1 = row(at, n[1]), r2 = row(at, n[2]),
                      r3 = row(at, n[3]);
        put_columns(r0, r1, r2, r3, a, b, c, d);
    }
    static void load_columns_be(const uint8_t* const* from, uint32_t* a, uint32_t* b, uint32_t* c,
                                uint32_t* d) noexcept {
        const __m128i r0 = swapped(from[0]), r1 = swapped(from[1]), r2 = swapped(from[2]),
                      r3 = swapped(from[3]);
        put_columns(r0, r1, r2, r3, a, b, c, d);
    }
    static void put_columns(__m128i r0, __m128i r1, __m128i r2, __m128i r3, uint32_t* a,
                            uint32_t* b, uint32_t* c, uint32_t* d) noexcept {
        const __m128i low01 = _mm_unpacklo_epi32(r0, r1), low23 = _mm_unpacklo_epi32(r2, r3);
        const __m128i high01 = _mm_unpackhi_epi32(r0, r1), high23 = _mm_unpackhi_epi32(r2, r3);
        put(a, _mm_unpacklo_epi64(low01, low23));
        put(b, _mm_unpackhi_epi64(low01, low23));
        put(c, _mm_unpacklo_epi64(high01, high23));
        put(d, _mm_unpackhi_epi64(high01, high23));
    }
    static __m128i swapped(const uint8_t* from) noexcept {
        return _mm_shuffle_epi8(
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)),
            _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));
    }
    static __m128i row(const uint8_t* at, uint32_t n) noexcept {
#ifdef __SANITIZE_THREAD__
        const auto* half = reinterpret_cast<const long long*>(at + uint64_t{n} * 16);
        return _mm_set_epi64x(__atomic_load_n(half + 1, __ATOMIC_ACQUIRE),
                              __atomic_load_n(half, __ATOMIC_ACQUIRE));
#else
        // Each half is one memory access on every x86-64.
        return _mm_load_si128(reinterpret_cast<const __m128i*>(at + uint64_t{n} * 16));
#endif
    }
    static void put(uint32_t* to, __m128i a) noexcept {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), a);
    }
};

}  // namespace
