// SPDX-License-Identifier: BSD-3-Clause
// SIMD operations, 256 bits; defined in sse42.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "isa/simd/rows128.hpp"

namespace {

struct avx2 {
    static constexpr unsigned lanes = 8, look_up_bits = 6;
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
    friend avx2 operator|(avx2 a, avx2 b) noexcept { return {_mm256_or_si256(a.v, b.v)}; }
    friend avx2 operator^(avx2 a, avx2 b) noexcept { return {_mm256_xor_si256(a.v, b.v)}; }
    template <class T>
    static avx2 equal(avx2 a, avx2 b) noexcept {
        if constexpr (sizeof(T) == 1) return {_mm256_cmpeq_epi8(a.v, b.v)};
        if constexpr (sizeof(T) == 2) return {_mm256_cmpeq_epi16(a.v, b.v)};
        return {_mm256_cmpeq_epi32(a.v, b.v)};
    }
    static bool any(avx2 a) noexcept { return !_mm256_testz_si256(a.v, a.v); }
    static unsigned popcount(uint64_t x) noexcept {
        return static_cast<unsigned>(__builtin_popcountll(x));
    }
    static void prefetch(const void* at) noexcept { __builtin_prefetch(at); }
    template <int Bits>
    static avx2 shift_right(avx2 a) noexcept {
        return {_mm256_srli_epi32(a.v, Bits)};
    }
    static avx2 load_u32_each(const uint8_t* const* from, unsigned offset) noexcept {
        // Unrolled by hand: compilers that keep the loop go through memory.
        const auto x = [&](unsigned i) {
            int word;
            std::memcpy(&word, from[i] + offset, 4);
            return word;
        };
        return {_mm256_setr_epi32(x(0), x(1), x(2), x(3), x(4), x(5), x(6), x(7))};
    }
    static avx2 sum_halves_each(const uint8_t* const* from) noexcept {
        // Each half register holds one block: blocks i and i + 4 are paired, so that the two
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

    static avx2 load_bytes(const uint8_t* at, [[maybe_unused]] uint32_t there) noexcept {
#ifdef __SANITIZE_THREAD__
        uint32_t x[lanes] = {};
        std::memcpy(x, at, 4 * (there < lanes ? there : lanes));
        return load(x);
#else
        return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at))};
#endif
    }
    static avx2 and_not(avx2 a, avx2 b) noexcept { return {_mm256_andnot_si256(a.v, b.v)}; }
    static avx2 greater(avx2 a, avx2 b) noexcept { return {_mm256_cmpgt_epi32(a.v, b.v)}; }
    static avx2 most(avx2 a, avx2 b) noexcept { return {_mm256_max_epi32(a.v, b.v)}; }
    [[nodiscard]] uint32_t highest() const noexcept {
        const __m128i four =
            _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
        const __m128i two = _mm_max_epi32(four, _mm_unpackhi_epi64(four, four));
        return static_cast<uint32_t>(
            _mm_cvtsi128_si32(_mm_max_epi32(two, _mm_shuffle_epi32(two, 1))));
    }
    static avx2 shift_right_by(avx2 a, uint32_t n) noexcept {
        return {_mm256_srl_epi32(a.v, _mm_cvtsi32_si128(static_cast<int>(n)))};
    }
    static avx2 shift_left_by(avx2 a, uint32_t n) noexcept {
        return {_mm256_sll_epi32(a.v, _mm_cvtsi32_si128(static_cast<int>(n)))};
    }
    static avx2 subtract_halves(avx2 a, avx2 b) noexcept { return {_mm256_sub_epi16(a.v, b.v)}; }
    static avx2 subtract_halves_to_0(avx2 a, avx2 b) noexcept {
        return {_mm256_subs_epu16(a.v, b.v)};
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
                             avx2 (&column)[4]) noexcept {
        // Each half register holds one row: rows i and i + 4 are paired, so that transposing both
        // halves leaves lane i with row i.
        const auto half = [&](unsigned i) {
            return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from[i] + offset));
        };
        const auto rows = [&](unsigned i) {
            return _mm256_inserti128_si256(_mm256_castsi128_si256(half(i)), half(i + 4), 1);
        };
        const __m256i row[4] = {rows(0), rows(1), rows(2), rows(3)};
        const __m256i low01 = _mm256_unpacklo_epi32(row[0], row[1]);
        const __m256i low23 = _mm256_unpacklo_epi32(row[2], row[3]);
        const __m256i high01 = _mm256_unpackhi_epi32(row[0], row[1]);
        const __m256i high23 = _mm256_unpackhi_epi32(row[2], row[3]);
        column[0].v = _mm256_unpacklo_epi64(low01, low23);
        column[1].v = _mm256_unpackhi_epi64(low01, low23);
        column[2].v = _mm256_unpacklo_epi64(high01, high23);
        column[3].v = _mm256_unpackhi_epi64(high01, high23);
    }
    static void columns_be_each(const uint8_t* const* from, unsigned offset,
                                avx2 (&column)[4]) noexcept {
        columns_each(from, offset, column);
        for (avx2& c : column) c = swap_bytes(c);
    }
    static uint64_t count_below(const int64_t* at, int64_t key) noexcept {
        const __m256i wanted = _mm256_set1_epi64x(key);
        const auto* four = reinterpret_cast<const __m256i*>(at);
        const __m256i halves =
            _mm256_packs_epi32(_mm256_cmpgt_epi64(wanted, _mm256_load_si256(four)),
                               _mm256_cmpgt_epi64(wanted, _mm256_load_si256(four + 1)));
        return popcount(static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(halves))));
    }
    template <unsigned Bits>
    static avx2 look_up(const uint32_t* table, avx2 i) noexcept {
        if constexpr (Bits == 0) {
            return set1(*table);
        } else if constexpr (Bits <= 3) {
            return {_mm256_permutevar8x32_epi32(load(table).v, i.v)};
        } else {
            const avx2 below = look_up<Bits - 1>(table, i);
            const avx2 above = look_up<Bits - 1>(table + (1U << (Bits - 1)), i);
            return {_mm256_castps_si256(
                _mm256_blendv_ps(_mm256_castsi256_ps(below.v), _mm256_castsi256_ps(above.v),
                                 _mm256_castsi256_ps(_mm256_slli_epi32(i.v, 32 - Bits))))};
        }
    }
    static avx2 descend(avx2 i, avx2 key, avx2 bound) noexcept {
        return {_mm256_sub_epi32(_mm256_add_epi32(i.v, i.v), greater(key, bound).v)};
    }
    static avx2 descend(avx2 i, avx2 high, avx2 low, avx2 bound_high, avx2 bound_low) noexcept {
        const avx2 above = greater(high, bound_high) |
                           (equal<uint32_t>(high, bound_high) & greater(low, bound_low));
        return {_mm256_sub_epi32(_mm256_add_epi32(i.v, i.v), above.v)};
    }
    static avx2 swap_bytes(avx2 a) noexcept {
        return {
            _mm256_shuffle_epi8(a.v, _mm256_broadcastsi128_si256(_mm_setr_epi8(
                                         3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12)))};
    }
    static void load_rows_be(const uint8_t* at, avx2& first, avx2& second) noexcept {
        // Rows i and i + 4 are paired, as in columns_each.
        const auto rows = [at](unsigned i) {
            const auto* from = reinterpret_cast<const __m128i*>(at);
            return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(from + i)),
                                           _mm_loadu_si128(from + i + 4), 1);
        };
        const __m256 r01 = _mm256_castsi256_ps(_mm256_unpacklo_epi64(rows(0), rows(1)));
        const __m256 r23 = _mm256_castsi256_ps(_mm256_unpacklo_epi64(rows(2), rows(3)));
        first = swap_bytes({_mm256_castps_si256(_mm256_shuffle_ps(r01, r23, 0x88))});
        second = swap_bytes({_mm256_castps_si256(_mm256_shuffle_ps(r01, r23, 0xdd))});
    }
    static void store_wide(uint64_t* to, avx2 a) noexcept {
        auto* const half = reinterpret_cast<__m256i*>(to);
        _mm256_storeu_si256(half, _mm256_cvtepu32_epi64(_mm256_castsi256_si128(a.v)));
        _mm256_storeu_si256(half + 1, _mm256_cvtepu32_epi64(_mm256_extracti128_si256(a.v, 1)));
    }
    static uint64_t merge_best(uint64_t* best, const uint8_t* in, uint32_t found,
                               const uint8_t* tops, uint32_t there) noexcept {
        const __m256i none = _mm256_setzero_si256();
        const __m256i matching = matching_of(in, found);
        const __m256i lowest = _mm256_and_si256(matching, _mm256_sub_epi64(none, matching));
        // The exponent of a float: its index.
        const __m256i index =
            _mm256_sub_epi64(_mm256_srli_epi64(_mm256_castps_si256(_mm256_cvtepi32_ps(lowest)), 23),
                             _mm256_set1_epi64x(127));
        const __m256i halves =
            _mm256_add_epi32(_mm256_shuffle_epi32(_mm256_add_epi32(index, index), 0xa0),
                             _mm256_set1_epi64x(int64_t{1} << 32));
        const __m256i first = load_bytes(tops, 2 * there).v;
        const __m256i second = load_bytes(tops + 32, there < 4 ? 0 : 2 * there - 8).v;
        const __m256i picked =
            select(_mm256_slli_epi64(index, 61), _mm256_permutevar8x32_epi32(second, halves),
                   _mm256_permutevar8x32_epi32(first, halves));
        const __m256i offered = _mm256_andnot_si256(_mm256_cmpeq_epi64(matching, none), picked);
        auto* const to = reinterpret_cast<__m256i*>(best);
        const __m256i before = _mm256_loadu_si256(to);
        const __m256i now = select(_mm256_cmpgt_epi64(offered, before), offered, before);
        _mm256_storeu_si256(to, now);
        const __m256i other = _mm256_permute4x64_epi64(now, 0x4e);
        const __m128i two =
            _mm256_castsi256_si128(select(_mm256_cmpgt_epi64(now, other), other, now));
        const auto x = static_cast<uint64_t>(_mm_cvtsi128_si64(two)),
                   y = static_cast<uint64_t>(_mm_extract_epi64(two, 1));
        return x < y ? x : y;
    }
    static uint32_t mask_low(uint32_t x, uint32_t n) noexcept { return _bzhi_u32(x, n); }
    static uint32_t sign_bits(avx2 a) noexcept {
        return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(a.v)));
    }
    /// By mask: the numbers of its bits, a byte each. No PDEP and PEXT, which are microcode on Zen 1 and 2: over 100 cycles.
    struct bit_numbers {
        uint64_t of[256];
    };
    static constexpr bit_numbers chosen = [] {
        bit_numbers out{};
        for (uint32_t mask = 0; mask < 256; ++mask)
            for (uint32_t bit = 0, n = 0; bit < 8; ++bit)
                if ((mask >> bit & 1) != 0) out.of[mask] |= uint64_t{bit} << 8 * n++;
        return out;
    }();
    struct compressor {
        __m256i order;
        explicit compressor(uint32_t mask) noexcept
            : order(_mm256_cvtepu8_epi32(
                  _mm_loadl_epi64(reinterpret_cast<const __m128i*>(&chosen.of[mask])))) {}
        void store(uint32_t* to, avx2 a) const noexcept {
            avx2::store(to, {_mm256_permutevar8x32_epi32(a.v, order)});
        }
    };
    // Helpers of merge_best; not part of the interface.
    static __m256i matching_of(const uint8_t* in, uint32_t found) noexcept {
        int four;
        std::memcpy(&four, in, sizeof four);
        return _mm256_and_si256(_mm256_cvtepu8_epi64(_mm_cvtsi32_si128(four)),
                                _mm256_set1_epi64x(found & 0xff));
    }
    /// Each u64 of a where the highest bit of `by` is set, else of b.
    static __m256i select(__m256i by, __m256i a, __m256i b) noexcept {
        return _mm256_castpd_si256(_mm256_blendv_pd(_mm256_castsi256_pd(b), _mm256_castsi256_pd(a),
                                                    _mm256_castsi256_pd(by)));
    }
};

}  // namespace
