// SPDX-License-Identifier: BSD-3-Clause
// One block. Defined in scalar.hpp.
#pragma once

#include <immintrin.h>

#include "isa/blocks/scalar.hpp"

namespace {

inline __m128i block_at(const void* from) noexcept {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
}
inline __m128i block_of(block_words w) noexcept {
    return _mm_set_epi64x(static_cast<int64_t>(w.high), static_cast<int64_t>(w.low));
}

struct blocks_sse42 {
    static constexpr unsigned count = 1;
    __m128i v;

    template <class At>
    static blocks_sse42 each(const At& at) noexcept {
        return {block_at(at(0))};
    }
    template <class Of>
    static blocks_sse42 pairs(const Of& of) noexcept {
        return {block_of(of(0))};
    }
    static blocks_sse42 all(uint64_t low, uint64_t high) noexcept {
        return {block_of({low, high})};
    }
    friend blocks_sse42 operator&(blocks_sse42 a, blocks_sse42 b) noexcept {
        return {_mm_and_si128(a.v, b.v)};
    }
    friend blocks_sse42 operator|(blocks_sse42 a, blocks_sse42 b) noexcept {
        return {_mm_or_si128(a.v, b.v)};
    }
    friend blocks_sse42 operator+(blocks_sse42 a, blocks_sse42 b) noexcept {
        return {_mm_add_epi64(a.v, b.v)};
    }
    template <int N>
    static blocks_sse42 shift_right(blocks_sse42 a) noexcept {
        return {_mm_srli_epi64(a.v, N)};
    }
    template <int N>
    static blocks_sse42 shift_left(blocks_sse42 a) noexcept {
        return {_mm_slli_epi64(a.v, N)};
    }
    static blocks_sse42 upper(blocks_sse42 a) noexcept { return {_mm_srli_si128(a.v, 8)}; }
    static blocks_sse42 shuffle(blocks_sse42 a, blocks_sse42 by) noexcept {
        return {_mm_shuffle_epi8(a.v, by.v)};
    }
    static uint32_t equal_upper(blocks_sse42 a, blocks_sse42 b) noexcept {
        const __m128i same = _mm_cmpeq_epi64(a.v, b.v);
        return static_cast<uint32_t>(_mm_movemask_pd(_mm_castsi128_pd(same))) >> 1;
    }
    static void store(void* to, blocks_sse42 a) noexcept {
        _mm_storeu_si128(static_cast<__m128i*>(to), a.v);
    }
    template <class At>
    static void store_two(const At& at, blocks_sse42 a, blocks_sse42 b) noexcept {
        uint8_t* const to = at(0);
        store(to, a);
        store(to + 16, b);
    }
};

}  // namespace
