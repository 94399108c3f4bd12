// SPDX-License-Identifier: BSD-3-Clause
// SIMD operations, 128 bits: 32-bit lanes. Every simd/<isa>.hpp defines the same operations, so
// that a kernel is a template over the vector type; scalar.hpp is their reference in plain C++.
//
//   lanes                        32-bit lanes in a vector
//   set1(x)                      every lane x
//   load_u32_each(p, offset)     lane i = the 4 bytes at p[i] + offset (memory order)
//   sum_halves_each(p)           lane i = sum of the 8 16-bit words in the 16 bytes at p[i]
//   a + b, a & b, a | b, a ^ b, shift_right<n> per lane
//   load(from), store(to, a)     lanes from and to memory, any alignment
//   equal<T>(a, b)               all bits of each T-sized part where a and b are equal, else 0
//   any(a)                       true if any bit is set
//   popcount(x)                  bits set in one u64
//   prefetch(at)                 prefetch the line of `at` into all caches; harmless for any address
//   load_bytes(at, there)        lanes from any address; only the first `there` are valid, a concurrent
//                                writer may write the rest
//   and_not(a, b)                ~a & b
//   greater(a, b)                all bits of each lane where a > b, signed
//   most(a, b), a.highest()      the greater of each two lanes, the greatest lane, signed
//   swap_bytes(a)                each lane in the other byte order
//   shift_right_by(a, n), shift_left_by(a, n)   the same n for all lanes, below 32
//   subtract_halves(a, b), subtract_halves_to_0(a, b)   16-bit parts: modulo 2^16; saturating at 0
//   load_columns(at, n, a, b, c, d)   rows n[0..3] of 16 bytes at `at`, as four columns of u32; loads
//                                8 bytes atomically
//   load_columns_be(from, a, b, c, d)   the 16 bytes at from[0..3] as four columns of u32, converted
//                                from big-endian
//   columns_each(p, offset, column)      column[k], lane i = the k-th of the four u32 at p[i] + offset
//   columns_be_each(p, offset, column)   the same of big-endian u32
//   count_below(at, key)         how many of the eight i64 at `at`, 64-byte aligned, are below key
//   merge_best(best, in, found, tops, there)   best[c] of four u64 below 2^63 = the higher of best[c] and
//                                tops[i], i the lowest bit of found & in[c], if there is any; found has
//                                eight bits; of the eight tops `there` are valid. Returns the lowest best
//   mask_low(x, n)               the n lowest bits of x; n below 256
//   sign_bits(a)                 bit i = the highest bit of lane i
//   compressor(mask).store(to, a)   the lanes whose bits are set, consecutively; writes a whole vector,
//                                the lanes after the selected ones are undefined
//
// Only of instruction sets with permutations of 32-bit lanes (look_up_bits > 0):
//   look_up_bits                 the most bits of an index for which look_up is fast; 0: no look_up
//   look_up<bits>(table, i)      lane k = table[i[k]], i[k] below 2^bits. The table is 64-byte aligned, and
//                                readable for at least 64 bytes
//   descend(i, key, bound)       2 * i + (key > bound ? 1 : 0), signed
//   descend(i, high, low, bound_high, bound_low)   the same for numbers of two signed words, compared
//                                by the first, then by the second
//   load_rows_be(at, first, second)   lane i = the first, second big-endian u32 of the 16 bytes at
//                                at + 16 * i; AVX-512, load_rows_be<1>: the third, fourth
//   store_wide(to, a)            lanes as u64
//
// Only of AVX-512:
//   shift_right_each(a, n)       each lane by its own n
//   gather(at, offset)           lane i = the u32 at `at` + offset[i] bytes, offset[i] below 2^31
//   gather_where(bits, at, offset, otherwise)   the same for lanes with any of `bits`; others: `otherwise`
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "isa/simd/rows128.hpp"

namespace {

struct sse42 {
    static constexpr unsigned lanes = 4, look_up_bits = 0;
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

    static sse42 load_bytes(const uint8_t* at, [[maybe_unused]] uint32_t there) noexcept {
#ifdef __SANITIZE_THREAD__
        uint32_t x[lanes] = {};
        std::memcpy(x, at, 4 * (there < lanes ? there : lanes));
        return load(x);
#else
        return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))};
#endif
    }
    static sse42 and_not(sse42 a, sse42 b) noexcept { return {_mm_andnot_si128(a.v, b.v)}; }
    static sse42 greater(sse42 a, sse42 b) noexcept { return {_mm_cmpgt_epi32(a.v, b.v)}; }
    static sse42 swap_bytes(sse42 a) noexcept {
        return {_mm_shuffle_epi8(
            a.v, _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12))};
    }
    static sse42 most(sse42 a, sse42 b) noexcept { return {_mm_max_epi32(a.v, b.v)}; }
    [[nodiscard]] uint32_t highest() const noexcept {
        const __m128i two = _mm_max_epi32(v, _mm_unpackhi_epi64(v, v));
        return static_cast<uint32_t>(
            _mm_cvtsi128_si32(_mm_max_epi32(two, _mm_shuffle_epi32(two, 1))));
    }
    static sse42 shift_right_by(sse42 a, uint32_t n) noexcept {
        return {_mm_srl_epi32(a.v, _mm_cvtsi32_si128(static_cast<int>(n)))};
    }
    static sse42 shift_left_by(sse42 a, uint32_t n) noexcept {
        return {_mm_sll_epi32(a.v, _mm_cvtsi32_si128(static_cast<int>(n)))};
    }
    static sse42 subtract_halves(sse42 a, sse42 b) noexcept { return {_mm_sub_epi16(a.v, b.v)}; }
    static sse42 subtract_halves_to_0(sse42 a, sse42 b) noexcept {
        return {_mm_subs_epu16(a.v, b.v)};
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
                             sse42 (&column)[4]) noexcept {
        const __m128i r0 = load_any(from[0] + offset).v, r1 = load_any(from[1] + offset).v,
                      r2 = load_any(from[2] + offset).v, r3 = load_any(from[3] + offset).v;
        const __m128i low01 = _mm_unpacklo_epi32(r0, r1), low23 = _mm_unpacklo_epi32(r2, r3);
        const __m128i high01 = _mm_unpackhi_epi32(r0, r1), high23 = _mm_unpackhi_epi32(r2, r3);
        column[0].v = _mm_unpacklo_epi64(low01, low23);
        column[1].v = _mm_unpackhi_epi64(low01, low23);
        column[2].v = _mm_unpacklo_epi64(high01, high23);
        column[3].v = _mm_unpackhi_epi64(high01, high23);
    }
    static void columns_be_each(const uint8_t* const* from, unsigned offset,
                                sse42 (&column)[4]) noexcept {
        columns_each(from, offset, column);
        for (sse42& c : column) c = swap_bytes(c);
    }
    // Operations of this file only, for code compiled for DPDK's baseline.
    static void store_any(void* to, sse42 a) noexcept {
        _mm_storeu_si128(static_cast<__m128i*>(to), a.v);
    }
    static sse42 load_any(const void* from) noexcept {
        return {_mm_loadu_si128(static_cast<const __m128i*>(from))};
    }
    /// 8 bytes at `low` and 8 at `high`.
    static sse42 load_pair(const void* low, const void* high) noexcept {
        const __m128 first = _mm_castsi128_ps(_mm_loadl_epi64(static_cast<const __m128i*>(low)));
        return {_mm_castps_si128(_mm_loadh_pi(first, static_cast<const __m64*>(high)))};
    }
    /// 16-bit part N replaced by x.
    template <int N>
    [[nodiscard]] sse42 with_half(uint16_t x) const noexcept {
        return {_mm_insert_epi16(v, x, N)};
    }
    /// 64-bit part N.
    template <int N>
    [[nodiscard]] uint64_t word() const noexcept {
        if constexpr (N == 0) return static_cast<uint64_t>(_mm_cvtsi128_si64(v));
        return static_cast<uint64_t>(_mm_extract_epi64(v, N));
    }
    /// Row number n of 16 bytes at `at`; loads 8 bytes atomically.
    static sse42 load_row(const uint8_t* at, uint32_t n) noexcept { return {rows128::row(at, n)}; }
    template <int N>
    [[nodiscard]] uint32_t lane() const noexcept {
        return static_cast<uint32_t>(_mm_extract_epi32(v, N));
    }
    /// lane i = the 16 bits from[i]
    static sse42 widen_halves(const uint16_t* from) noexcept {
        return {_mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)))};
    }
    /// The inverse, as one word: of lanes below 2^16.
    static uint64_t narrow(sse42 a) noexcept {
        return static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_packus_epi32(a.v, a.v)));
    }
    /// The first words of four pairs, and the second ones.
    static void split_pairs(sse42 two, sse42 other_two, sse42& first, sse42& second) noexcept {
        const __m128 a = _mm_castsi128_ps(two.v), b = _mm_castsi128_ps(other_two.v);
        first.v = _mm_castps_si128(_mm_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0)));
        second.v = _mm_castps_si128(_mm_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1)));
    }
    /// Minimum of unsigned 16-bit parts; minimum of signed lanes.
    static sse42 least_halves(sse42 a, sse42 b) noexcept { return {_mm_min_epu16(a.v, b.v)}; }
    static sse42 least(sse42 a, sse42 b) noexcept { return {_mm_min_epi32(a.v, b.v)}; }
    /// The lowest lane, signed.
    [[nodiscard]] uint32_t lowest() const noexcept {
        const __m128i two = _mm_min_epi32(v, _mm_unpackhi_epi64(v, v));
        return static_cast<uint32_t>(
            _mm_cvtsi128_si32(_mm_min_epi32(two, _mm_shuffle_epi32(two, 1))));
    }
    /// to[i] = high lane i, low lane i
    static void store_pairs(void* to, sse42 low, sse42 high) noexcept {
        auto* const pair = static_cast<__m128i*>(to);
        _mm_storeu_si128(pair, _mm_unpacklo_epi32(low.v, high.v));
        _mm_storeu_si128(pair + 1, _mm_unpackhi_epi32(low.v, high.v));
    }
    static uint64_t count_below(const int64_t* at, int64_t key) noexcept {
        const __m128i wanted = _mm_set1_epi64x(key);
        const auto below = [&](int i) {
            return _mm_cmpgt_epi64(wanted,
                                   _mm_load_si128(reinterpret_cast<const __m128i*>(at) + i));
        };
        const __m128i bytes = _mm_packs_epi16(_mm_packs_epi32(below(0), below(1)),
                                              _mm_packs_epi32(below(2), below(3)));
        return popcount(static_cast<uint32_t>(_mm_movemask_epi8(bytes))) / 2;
    }
    static uint64_t merge_best(uint64_t* best, const uint8_t* in, uint32_t found,
                               const uint8_t* tops, [[maybe_unused]] uint32_t there) noexcept {
        int four;
        std::memcpy(&four, in, sizeof four);
        const __m128i none = _mm_setzero_si128();
        const __m128i matching = _mm_and_si128(_mm_cvtepu8_epi32(_mm_cvtsi32_si128(four)),
                                               _mm_set1_epi32(static_cast<int>(found & 0xff)));
        const __m128i lowest = _mm_and_si128(matching, _mm_sub_epi32(none, matching));
        // The exponent of a float: its index.
        const __m128i index = _mm_sub_epi32(
            _mm_srli_epi32(_mm_castps_si128(_mm_cvtepi32_ps(lowest)), 23), _mm_set1_epi32(127));
        uint32_t number[4];
        store(number, {index});
        const auto top = [&](unsigned c) {
            const uint32_t n = number[c] & 7;
            long long x = 0;
#ifdef __SANITIZE_THREAD__
            if (n >= there) return x;
#endif
            std::memcpy(&x, tops + 8 * n, sizeof x);
            return x;
        };
        const __m128i unmatched = _mm_cmpeq_epi32(matching, none);
        return lowest_of(store_higher(best, _mm_set_epi64x(top(1), top(0)),
                                      _mm_unpacklo_epi32(unmatched, unmatched)),
                         store_higher(best + 2, _mm_set_epi64x(top(3), top(2)),
                                      _mm_unpackhi_epi32(unmatched, unmatched)));
    }
    static uint32_t mask_low(uint32_t x, uint32_t n) noexcept {
        return n < 32 ? x & ((1u << n) - 1) : x;
    }
    static uint32_t sign_bits(sse42 a) noexcept {
        return static_cast<uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(a.v)));
    }
    // Helpers of merge_best; not part of the interface.
    static __m128i store_higher(uint64_t* best, __m128i offered, __m128i unmatched) noexcept {
        auto* const to = reinterpret_cast<__m128i*>(best);
        const __m128i before = _mm_loadu_si128(to);
        const __m128i better = _mm_cmpgt_epi64(_mm_andnot_si128(unmatched, offered), before);
        const __m128i now = _mm_blendv_epi8(before, offered, better);
        _mm_storeu_si128(to, now);
        return now;
    }
    static uint64_t lowest_of(__m128i a, __m128i b) noexcept {
        const __m128i two = _mm_blendv_epi8(a, b, _mm_cmpgt_epi64(a, b));
        const auto x = static_cast<uint64_t>(_mm_cvtsi128_si64(two)),
                   y = static_cast<uint64_t>(_mm_extract_epi64(two, 1));
        return x < y ? x : y;
    }
    struct compressor {
        __m128i order;
        explicit compressor(uint32_t mask) noexcept {
            // Indices of the set bits, four bits each, by mask.
            static constexpr uint16_t chosen[16] = {0x0000, 0x0000, 0x0001, 0x0010, 0x0002, 0x0020,
                                                    0x0021, 0x0210, 0x0003, 0x0030, 0x0031, 0x0310,
                                                    0x0032, 0x0320, 0x0321, 0x3210};
            const uint32_t c = chosen[mask];
            const __m128i numbers = _mm_setr_epi32(c & 3, c >> 4 & 3, c >> 8 & 3, c >> 12);
            order = _mm_add_epi8(_mm_mullo_epi32(numbers, _mm_set1_epi32(0x04040404)),
                                 _mm_set1_epi32(0x03020100));
        }
        void store(uint32_t* to, sse42 a) const noexcept {
            sse42::store(to, {_mm_shuffle_epi8(a.v, order)});
        }
    };
};

}  // namespace
