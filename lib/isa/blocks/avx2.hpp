// SPDX-License-Identifier: BSD-3-Clause
// Two blocks. Defined in scalar.hpp.
#pragma once

#include "isa/blocks/sse42.hpp"

namespace {

struct blocks_avx2 {
    static constexpr unsigned count = 2;
    __m256i v;

    template <class At>
    static blocks_avx2 each(const At& at) noexcept {
        return {joined(block_at(at(0)), block_at(at(1)))};
    }
    template <class Of>
    static blocks_avx2 pairs(const Of& of) noexcept {
        return {joined(block_of(of(0)), block_of(of(1)))};
    }
    static blocks_avx2 all(uint64_t low, uint64_t high) noexcept {
        return {_mm256_broadcastsi128_si256(block_of({low, high}))};
    }
    friend blocks_avx2 operator&(blocks_avx2 a, blocks_avx2 b) noexcept {
        return {_mm256_and_si256(a.v, b.v)};
    }
    friend blocks_avx2 operator|(blocks_avx2 a, blocks_avx2 b) noexcept {
        return {_mm256_or_si256(a.v, b.v)};
    }
    friend blocks_avx2 operator+(blocks_avx2 a, blocks_avx2 b) noexcept {
        return {_mm256_add_epi64(a.v, b.v)};
    }
    template <int N>
    static blocks_avx2 shift_right(blocks_avx2 a) noexcept {
        return {_mm256_srli_epi64(a.v, N)};
    }
    template <int N>
    static blocks_avx2 shift_left(blocks_avx2 a) noexcept {
        return {_mm256_slli_epi64(a.v, N)};
    }
    static blocks_avx2 upper(blocks_avx2 a) noexcept { return {_mm256_srli_si256(a.v, 8)}; }
    static blocks_avx2 shuffle(blocks_avx2 a, blocks_avx2 by) noexcept {
        return {_mm256_shuffle_epi8(a.v, by.v)};
    }
    static uint32_t equal_upper(blocks_avx2 a, blocks_avx2 b) noexcept {
        const __m256i same = _mm256_cmpeq_epi64(a.v, b.v);
        const auto words = static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(same)));
        return (words >> 1 & 1) | (words >> 2 & 2);
    }
    static void store(void* to, blocks_avx2 a) noexcept {
        _mm256_storeu_si256(static_cast<__m256i*>(to), a.v);
    }
    template <class At>
    static void store_two(const At& at, blocks_avx2 a, blocks_avx2 b) noexcept {
        store(at(0), {_mm256_permute2x128_si256(a.v, b.v, 0x20)});
        store(at(1), {_mm256_permute2x128_si256(a.v, b.v, 0x31)});
    }

  private:
    static __m256i joined(__m128i low, __m128i high) noexcept {
        return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
    }
};

}  // namespace
