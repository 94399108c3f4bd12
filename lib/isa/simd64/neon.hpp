// SPDX-License-Identifier: BSD-3-Clause
// Operations on 64-bit lanes, 128 bits, for AArch64. Defined in scalar.hpp.
#pragma once

#include <arm_neon.h>

#include "isa/simd64/scalar.hpp"

namespace {

struct words_neon {
    static constexpr unsigned lanes = 2;
    uint64x2_t v;

    static words_neon all(uint64_t x) noexcept { return {vdupq_n_u64(x)}; }
    static words_neon load(const uint64_t* from) noexcept { return {vld1q_u64(from)}; }
    static void store(uint64_t* to, words_neon a) noexcept { vst1q_u64(to, a.v); }
    static words_neon pick(words_neon a, words_neon b, words_neon c, words_neon d) noexcept {
        return {vorrq_u64(a.v, vandq_u64(vceqq_u64(b.v, c.v), d.v))};
    }
    static words_neon differ(words_neon a, words_neon b, words_neon c) noexcept {
        return {vorrq_u64(a.v, veorq_u64(b.v, c.v))};
    }
    static uint32_t nonzero(words_neon a) noexcept { return both(vtstq_u64(a.v, a.v)); }
    static words_neon add32(words_neon a, words_neon b) noexcept {
        return {vreinterpretq_u64_u32(
            vaddq_u32(vreinterpretq_u32_u64(a.v), vreinterpretq_u32_u64(b.v)))};
    }
    static words_neon add(words_neon a, words_neon b) noexcept { return {vaddq_u64(a.v, b.v)}; }
    static words_neon mask(words_neon a, words_neon b) noexcept { return {vandq_u64(a.v, b.v)}; }
    static words_neon multiply(words_neon a, words_neon b) noexcept {
        return {vmull_u32(vmovn_u64(a.v), vmovn_u64(b.v))};
    }
    static words_neon high(words_neon a) noexcept { return {vshrq_n_u64(a.v, 32)}; }
    static words_neon swap(words_neon a) noexcept {
        return {vreinterpretq_u64_u32(vrev64q_u32(vreinterpretq_u32_u64(a.v)))};
    }
    template <unsigned Words>
    static words_neon key_words(const uint8_t* keys, unsigned w) noexcept {
        return {vcombine_u64(vcreate_u64(word_at(keys + 8 * w)),
                             vcreate_u64(word_at(keys + 8 * (Words + w))))};
    }
    template <unsigned Lanes, unsigned Words>
    static uint32_t equal_words(const uint8_t* line, const uint8_t* key) noexcept {
        const uint64x2_t wanted = Words == 1 ? vdupq_n_u64(word_at(key)) : raw(key);
        uint32_t equal = 0;
        for (unsigned i = 0; i < Lanes; i += 2)
            equal |= both(vceqq_u64(raw(line + 8 * i), wanted)) << i;
        return equal;
    }
    static uint32_t equal_tags(const uint8_t* line, uint16_t tag) noexcept {
        const uint16x8_t wanted = vdupq_n_u16(tag);
        const auto same = [&](unsigned i) {
            return vmovn_u16(vceqq_u16(vreinterpretq_u16_u64(raw(line + 16 * i)), wanted));
        };
        return bits(vcombine_u8(same(0), same(1))) | bits(vcombine_u8(same(2), same(3))) << 16;
    }
    template <unsigned Words>
    static bool equal_key(const uint8_t* a, const uint8_t* b) noexcept {
        if constexpr (Words == 1) return shared_word_at(a) == word_at(b);
        uint64x2_t differ = veorq_u64(raw(a), raw(b));
        if constexpr (Words == 5) {
            differ = vorrq_u64(differ, veorq_u64(raw(a + 16), raw(b + 16)));
            const uint64_t last = shared_word_at(a + 32) ^ word_at(b + 32);
            differ = vorrq_u64(differ, vcombine_u64(vcreate_u64(last), vcreate_u64(0)));
        }
        return both(vtstq_u64(differ, differ)) == 0;
    }
    static uint64_t nonzero_bytes(const uint8_t* from) noexcept {
        uint64_t nonzero = 0;
        for (unsigned i = 0; i < 4; ++i) {
            const uint8x16_t x = vld1q_u8(from + 16 * i);
            nonzero |= uint64_t{bits(vtstq_u8(x, x))} << (16 * i);
        }
        return nonzero;
    }
    template <unsigned Shift, class Meta>
    static uint64_t nonzero_counters(const Meta* metas, const uint64_t* second,
                                     uint32_t n) noexcept {
        return words_scalar::nonzero_counters<Shift>(metas, second, n);
    }
    static void prefetch(const void* at) noexcept { __builtin_prefetch(at); }

    // Helpers; not part of the interface.
    /// Each aligned u64 is read atomically (Arm ARM, "Requirements for single-copy atomicity").
    static uint64x2_t raw(const uint8_t* from) noexcept {
        return vreinterpretq_u64_u8(vld1q_u8(from));
    }
    /// Bit i: lane i, which is all ones or 0.
    static uint32_t both(uint64x2_t a) noexcept {
        return static_cast<uint32_t>((vgetq_lane_u64(a, 0) & 1) | (vgetq_lane_u64(a, 1) & 2));
    }
    /// Bit i: byte i, which is all ones or 0.
    static uint32_t bits(uint8x16_t a) noexcept {
        const uint8x16_t each =
            vandq_u8(a, vreinterpretq_u8_u64(vdupq_n_u64(0x8040'2010'0804'0201)));
        return vaddv_u8(vget_low_u8(each)) | uint32_t{vaddv_u8(vget_high_u8(each))} << 8;
    }
};

}  // namespace
