// SPDX-License-Identifier: BSD-3-Clause
// Four blocks. Defined in scalar.hpp.
#pragma once

#include "isa/blocks/avx2.hpp"

namespace {

struct blocks_avx512 {
    static constexpr unsigned count = 4;
    __m512i v;

    template <class At>
    static blocks_avx512 each(const At& at) noexcept {
        return joined(blocks_avx2::each(at),
                      blocks_avx2::each([&](unsigned k) { return at(k + 2); }));
    }
    template <class Of>
    static blocks_avx512 pairs(const Of& of) noexcept {
        return joined(blocks_avx2::pairs(of),
                      blocks_avx2::pairs([&](unsigned k) { return of(k + 2); }));
    }
    static blocks_avx512 all(uint64_t low, uint64_t high) noexcept {
        return {_mm512_broadcast_i32x4(block_of({low, high}))};
    }
    friend blocks_avx512 operator&(blocks_avx512 a, blocks_avx512 b) noexcept {
        return {_mm512_and_si512(a.v, b.v)};
    }
    friend blocks_avx512 operator|(blocks_avx512 a, blocks_avx512 b) noexcept {
        return {_mm512_or_si512(a.v, b.v)};
    }
    friend blocks_avx512 operator+(blocks_avx512 a, blocks_avx512 b) noexcept {
        return {_mm512_add_epi64(a.v, b.v)};
    }
    template <int N>
    static blocks_avx512 shift_right(blocks_avx512 a) noexcept {
        return {_mm512_srli_epi64(a.v, N)};
    }
    template <int N>
    static blocks_avx512 shift_left(blocks_avx512 a) noexcept {
        return {_mm512_slli_epi64(a.v, N)};
    }
    static blocks_avx512 upper(blocks_avx512 a) noexcept { return {_mm512_bsrli_epi128(a.v, 8)}; }
    static blocks_avx512 shuffle(blocks_avx512 a, blocks_avx512 by) noexcept {
        return {_mm512_shuffle_epi8(a.v, by.v)};
    }
    static uint32_t equal_upper(blocks_avx512 a, blocks_avx512 b) noexcept {
        const uint32_t words = _mm512_cmpeq_epi64_mask(a.v, b.v);
        return (words >> 1 & 1) | (words >> 2 & 2) | (words >> 3 & 4) | (words >> 4 & 8);
    }
    static void store(void* to, blocks_avx512 a) noexcept { _mm512_storeu_si512(to, a.v); }
    template <class At>
    static void store_two(const At& at, blocks_avx512 a, blocks_avx512 b) noexcept {
        const __m512i first =
            _mm512_permutex2var_epi64(a.v, _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), b.v);
        const __m512i second =
            _mm512_permutex2var_epi64(a.v, _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15), b.v);
        blocks_avx2::store(at(0), {_mm512_castsi512_si256(first)});
        blocks_avx2::store(at(1), {_mm512_extracti64x4_epi64(first, 1)});
        blocks_avx2::store(at(2), {_mm512_castsi512_si256(second)});
        blocks_avx2::store(at(3), {_mm512_extracti64x4_epi64(second, 1)});
    }

  private:
    static blocks_avx512 joined(blocks_avx2 low, blocks_avx2 high) noexcept {
        return {_mm512_inserti64x4(_mm512_castsi256_si512(low.v), high.v, 1)};
    }
};

}  // namespace
