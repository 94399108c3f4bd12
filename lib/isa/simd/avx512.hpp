// SPDX-License-Identifier: BSD-3-Clause
// SIMD operations, 512 bits; defined in sse42.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "isa/simd/avx512vl.hpp"
#include "isa/simd/rows128.hpp"

namespace {

struct avx512 {
    static constexpr unsigned lanes = 16, look_up_bits = 8;
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
    static unsigned popcount(uint64_t x) noexcept {
        return static_cast<unsigned>(__builtin_popcountll(x));
    }
    static void prefetch(const void* at) noexcept { __builtin_prefetch(at); }
    template <unsigned Bits>
    static avx512 shift_right(avx512 a) noexcept {
        return {_mm512_srli_epi32(a.v, Bits)};
    }
    static avx512 load_u32_each(const uint8_t* const* from, unsigned offset) noexcept {
        // Unrolled by hand: compilers that keep the loop go through memory, and stores of single
        // words are not forwarded to a 64-byte load.
        const auto x = [&](unsigned i) {
            int word;
            std::memcpy(&word, from[i] + offset, 4);
            return word;
        };
        return {_mm512_setr_epi32(x(0), x(1), x(2), x(3), x(4), x(5), x(6), x(7), x(8), x(9), x(10),
                                  x(11), x(12), x(13), x(14), x(15))};
    }
    static avx512 sum_halves_each(const uint8_t* const* from) noexcept {
        // Blocks i, i + 4, i + 8, i + 12 are grouped (one per quarter register), so that the
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

    // Helper of the function above; not part of the interface.
    static __m128i block(const uint8_t* from) noexcept {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    }

    static avx512 load_bytes(const uint8_t* at, [[maybe_unused]] uint32_t there) noexcept {
#ifdef __SANITIZE_THREAD__
        uint32_t x[lanes] = {};
        std::memcpy(x, at, 4 * (there < lanes ? there : lanes));
        return load(x);
#else
        return {_mm512_loadu_si512(at)};
#endif
    }
    static avx512 and_not(avx512 a, avx512 b) noexcept { return {_mm512_andnot_si512(a.v, b.v)}; }
    static avx512 most(avx512 a, avx512 b) noexcept { return {_mm512_max_epi32(a.v, b.v)}; }
    [[nodiscard]] uint32_t highest() const noexcept {
        return static_cast<uint32_t>(_mm512_reduce_max_epi32(v));
    }
    static avx512 greater(avx512 a, avx512 b) noexcept {
        return {_mm512_movm_epi32(_mm512_cmpgt_epi32_mask(a.v, b.v))};
    }
    static avx512 shift_right_by(avx512 a, uint32_t n) noexcept {
        return {_mm512_srl_epi32(a.v, _mm_cvtsi32_si128(static_cast<int>(n)))};
    }
    static avx512 shift_left_by(avx512 a, uint32_t n) noexcept {
        return {_mm512_sll_epi32(a.v, _mm_cvtsi32_si128(static_cast<int>(n)))};
    }
    static avx512 subtract_halves(avx512 a, avx512 b) noexcept {
        return {_mm512_sub_epi16(a.v, b.v)};
    }
    static avx512 subtract_halves_to_0(avx512 a, avx512 b) noexcept {
        return {_mm512_subs_epu16(a.v, b.v)};
    }
    static void load_columns(const uint8_t* at, const uint32_t* n, uint32_t* a, uint32_t* b,
                             uint32_t* c, uint32_t* d) noexcept {
        rows128::load_columns(at, n, a, b, c, d);
    }
    static void load_columns_be(const uint8_t* const* from, uint32_t* a, uint32_t* b, uint32_t* c,
                                uint32_t* d) noexcept {
        rows128::load_columns_be(from, a, b, c, d);
    }
    static void columns_each(const uint8_t* const* from, unsigned offset,
                             avx512 (&column)[4]) noexcept {
        // Rows i, i + 4, i + 8 and i + 12 are grouped, as in avx2.hpp.
        const auto rows = [&](unsigned i) {
            __m512i x = _mm512_castsi128_si512(block(from[i] + offset));
            x = _mm512_inserti32x4(x, block(from[i + 4] + offset), 1);
            x = _mm512_inserti32x4(x, block(from[i + 8] + offset), 2);
            return _mm512_inserti32x4(x, block(from[i + 12] + offset), 3);
        };
        const __m512i row[4] = {rows(0), rows(1), rows(2), rows(3)};
        const __m512i low01 = _mm512_unpacklo_epi32(row[0], row[1]);
        const __m512i low23 = _mm512_unpacklo_epi32(row[2], row[3]);
        const __m512i high01 = _mm512_unpackhi_epi32(row[0], row[1]);
        const __m512i high23 = _mm512_unpackhi_epi32(row[2], row[3]);
        column[0].v = _mm512_unpacklo_epi64(low01, low23);
        column[1].v = _mm512_unpackhi_epi64(low01, low23);
        column[2].v = _mm512_unpacklo_epi64(high01, high23);
        column[3].v = _mm512_unpackhi_epi64(high01, high23);
    }
    static void columns_be_each(const uint8_t* const* from, unsigned offset,
                                avx512 (&column)[4]) noexcept {
        columns_each(from, offset, column);
        for (avx512& c : column) c = swap_bytes(c);
    }
    static uint64_t count_below(const int64_t* at, int64_t key) noexcept {
        return popcount(_mm512_cmplt_epi64_mask(_mm512_load_si512(at), _mm512_set1_epi64(key)));
    }
    template <unsigned Bits>
    static avx512 look_up(const uint32_t* table, avx512 i) noexcept {
        if constexpr (Bits == 0) {
            return set1(*table);
        } else if constexpr (Bits <= 4) {
            return {_mm512_permutexvar_epi32(i.v, load(table).v)};
        } else if constexpr (Bits == 5) {
            return {_mm512_permutex2var_epi32(load(table).v, i.v, load(table + 16).v)};
        } else {
            constexpr uint32_t half = 1U << (Bits - 1);
            return {_mm512_mask_blend_epi32(_mm512_test_epi32_mask(i.v, set1(half).v),
                                            look_up<Bits - 1>(table, i).v,
                                            look_up<Bits - 1>(table + half, i).v)};
        }
    }
    static avx512 shift_right_each(avx512 a, avx512 n) noexcept {
        return {_mm512_srlv_epi32(a.v, n.v)};
    }
    static avx512 gather(const void* at, avx512 offset) noexcept {
        return {_mm512_i32gather_epi32(offset.v, at, 1)};
    }
    static avx512 gather_where(avx512 bits, const void* at, avx512 offset,
                               avx512 otherwise) noexcept {
        return {_mm512_mask_i32gather_epi32(otherwise.v, _mm512_test_epi32_mask(bits.v, bits.v),
                                            offset.v, at, 1)};
    }
    static avx512 descend(avx512 i, avx512 key, avx512 bound) noexcept {
        return step(i, _mm512_cmpgt_epi32_mask(key.v, bound.v));
    }
    static avx512 descend(avx512 i, avx512 high, avx512 low, avx512 bound_high,
                          avx512 bound_low) noexcept {
        const __mmask16 same = _mm512_cmpeq_epi32_mask(high.v, bound_high.v);
        return step(i, _kor_mask16(_mm512_cmpgt_epi32_mask(high.v, bound_high.v),
                                   _mm512_mask_cmpgt_epi32_mask(same, low.v, bound_low.v)));
    }
    static avx512 swap_bytes(avx512 a) noexcept {
        return {
            _mm512_shuffle_epi8(a.v, _mm512_broadcast_i32x4(_mm_setr_epi8(
                                         3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12)))};
    }
    template <unsigned Half = 0>
    static void load_rows_be(const uint8_t* at, avx512& first, avx512& second) noexcept {
        const auto* from = reinterpret_cast<const uint32_t*>(at);
        const __m512i starts =
            _mm512_add_epi64(_mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), _mm512_set1_epi64(Half));
        const __m512i low = _mm512_permutex2var_epi64(load(from).v, starts, load(from + 16).v);
        const __m512i high =
            _mm512_permutex2var_epi64(load(from + 32).v, starts, load(from + 48).v);
        const __m512i even =
            _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
        first = swap_bytes({_mm512_permutex2var_epi32(low, even, high)});
        second = swap_bytes({_mm512_permutex2var_epi32(low, odd, high)});
    }
    static void store_wide(uint64_t* to, avx512 a) noexcept {
        _mm512_storeu_si512(to, _mm512_cvtepu32_epi64(_mm512_castsi512_si256(a.v)));
        _mm512_storeu_si512(to + 8, _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(a.v, 1)));
    }
    static uint64_t merge_best(uint64_t* best, const uint8_t* in, uint32_t found,
                               const uint8_t* tops, uint32_t there) noexcept {
        return avx512vl::merge_best(best, in, found, tops, there);
    }
    static uint32_t mask_low(uint32_t x, uint32_t n) noexcept { return _bzhi_u32(x, n); }
    static uint32_t sign_bits(avx512 a) noexcept { return _mm512_movepi32_mask(a.v); }
    struct compressor {
        __mmask16 chosen;
        explicit compressor(uint32_t mask) noexcept : chosen(static_cast<__mmask16>(mask)) {}
        void store(uint32_t* to, avx512 a) const noexcept {
            // Avoids the compress-store instruction: Zen 4 executes it one lane at a time.
            avx512::store(to, {_mm512_maskz_compress_epi32(chosen, a.v)});
        }
    };
    /// Helper of descend; not part of the interface.
    static avx512 step(avx512 i, __mmask16 above) noexcept {
        const __m512i twice = _mm512_add_epi32(i.v, i.v);
        return {_mm512_mask_sub_epi32(twice, above, twice, _mm512_set1_epi32(-1))};
    }
};

}  // namespace
