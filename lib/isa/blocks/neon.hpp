// SPDX-License-Identifier: BSD-3-Clause
// One block, for AArch64. Defined in scalar.hpp.
#pragma once

#include <arm_neon.h>

#include "isa/blocks/scalar.hpp"

namespace {

struct blocks_neon {
    static constexpr unsigned count = 1;
    uint64x2_t v;

    /// Loads of 16 bytes are two accesses in any order: the upper word is loaded first.
    template <class At>
    static blocks_neon each(const At& at) noexcept {
        const auto* const words = reinterpret_cast<const uint64_t*>(at(0));
        const uint64_t high = __atomic_load_n(words + 1, __ATOMIC_ACQUIRE);
        return of(__atomic_load_n(words, __ATOMIC_RELAXED), high);
    }
    template <class Of>
    static blocks_neon pairs(const Of& pair) noexcept {
        const block_words w = pair(0);
        return of(w.low, w.high);
    }
    static blocks_neon all(uint64_t low, uint64_t high) noexcept { return of(low, high); }
    friend blocks_neon operator&(blocks_neon a, blocks_neon b) noexcept {
        return {vandq_u64(a.v, b.v)};
    }
    friend blocks_neon operator|(blocks_neon a, blocks_neon b) noexcept {
        return {vorrq_u64(a.v, b.v)};
    }
    friend blocks_neon operator+(blocks_neon a, blocks_neon b) noexcept {
        return {vaddq_u64(a.v, b.v)};
    }
    template <int N>
    static blocks_neon shift_right(blocks_neon a) noexcept {
        return {vshrq_n_u64(a.v, N)};
    }
    template <int N>
    static blocks_neon shift_left(blocks_neon a) noexcept {
        return {vshlq_n_u64(a.v, N)};
    }
    static blocks_neon upper(blocks_neon a) noexcept { return {vextq_u64(a.v, vdupq_n_u64(0), 1)}; }
    static blocks_neon shuffle(blocks_neon a, blocks_neon by) noexcept {
        return {vreinterpretq_u64_u8(
            vqtbl1q_u8(vreinterpretq_u8_u64(a.v), vreinterpretq_u8_u64(by.v)))};
    }
    static uint32_t equal_upper(blocks_neon a, blocks_neon b) noexcept {
        return static_cast<uint32_t>(vgetq_lane_u64(vceqq_u64(a.v, b.v), 1) & 1);
    }
    static void store(void* to, blocks_neon a) noexcept {
        vst1q_u8(static_cast<uint8_t*>(to), vreinterpretq_u8_u64(a.v));
    }
    template <class At>
    static void store_two(const At& at, blocks_neon a, blocks_neon b) noexcept {
        uint8_t* const to = at(0);
        store(to, a);
        store(to + 16, b);
    }

  private:
    static blocks_neon of(uint64_t low, uint64_t high) noexcept {
        return {vcombine_u64(vcreate_u64(low), vcreate_u64(high))};
    }
};

}  // namespace
