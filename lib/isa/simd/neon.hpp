// SPDX-License-Identifier: BSD-3-Clause
// SIMD operations, 128 bits, for AArch64; defined in sse42.hpp.
#pragma once

#include <arm_neon.h>

#include <cstdint>
#include <cstring>

#include "isa/simd/scalar.hpp"

namespace {

struct neon {
    static constexpr unsigned lanes = 4, look_up_bits = 0;
    uint32x4_t v;

    static neon set1(uint32_t x) noexcept { return {vdupq_n_u32(x)}; }
    static neon load(const uint32_t* from) noexcept { return {vld1q_u32(from)}; }
    static void store_any(void* to, neon a) noexcept {
        vst1q_u8(static_cast<uint8_t*>(to), vreinterpretq_u8_u32(a.v));
    }
    static neon load_any(const void* from) noexcept {
        return {vreinterpretq_u32_u8(vld1q_u8(static_cast<const uint8_t*>(from)))};
    }
    static neon load_pair(const void* low, const void* high) noexcept {
        return {vreinterpretq_u32_u8(vcombine_u8(vld1_u8(static_cast<const uint8_t*>(low)),
                                                 vld1_u8(static_cast<const uint8_t*>(high))))};
    }
    template <int N>
    [[nodiscard]] neon with_half(uint16_t x) const noexcept {
        return {vreinterpretq_u32_u16(vsetq_lane_u16(x, halves(*this), N))};
    }
    template <int N>
    [[nodiscard]] uint64_t word() const noexcept {
        return vgetq_lane_u64(vreinterpretq_u64_u32(v), N);
    }
    /// Row number n of 16 bytes at `at`, aligned; each half is one memory access. Later loads stay behind it,
    /// as behind every load of x86, on which stages rely.
    static neon load_row(const uint8_t* at, uint32_t n) noexcept {
        const auto* half = reinterpret_cast<const uint64_t*>(at + uint64_t{n} * 16);
        const uint64x2_t both =
            vcombine_u64(vcreate_u64(__atomic_load_n(half, __ATOMIC_ACQUIRE)),
                         vcreate_u64(__atomic_load_n(half + 1, __ATOMIC_ACQUIRE)));
        return {vreinterpretq_u32_u64(both)};
    }
    static void store(uint32_t* to, neon a) noexcept { vst1q_u32(to, a.v); }
    friend neon operator+(neon a, neon b) noexcept { return {vaddq_u32(a.v, b.v)}; }
    friend neon operator&(neon a, neon b) noexcept { return {vandq_u32(a.v, b.v)}; }
    friend neon operator|(neon a, neon b) noexcept { return {vorrq_u32(a.v, b.v)}; }
    friend neon operator^(neon a, neon b) noexcept { return {veorq_u32(a.v, b.v)}; }
    template <class T>
    static neon equal(neon a, neon b) noexcept {
        if constexpr (sizeof(T) == 1)
            return {vreinterpretq_u32_u8(
                vceqq_u8(vreinterpretq_u8_u32(a.v), vreinterpretq_u8_u32(b.v)))};
        if constexpr (sizeof(T) == 2)
            return {vreinterpretq_u32_u16(vceqq_u16(halves(a), halves(b)))};
        return {vceqq_u32(a.v, b.v)};
    }
    static bool any(neon a) noexcept { return vmaxvq_u32(a.v) != 0; }
    static unsigned popcount(uint64_t x) noexcept { return vaddv_u8(vcnt_u8(vcreate_u8(x))); }
    static void prefetch(const void* at) noexcept { __builtin_prefetch(at); }
    template <int Bits>
    static neon shift_right(neon a) noexcept {
        return {vshrq_n_u32(a.v, Bits)};
    }
    static neon shift_right_by(neon a, uint32_t n) noexcept {
        return {vshlq_u32(a.v, vdupq_n_s32(-static_cast<int32_t>(n)))};
    }
    static neon shift_left_by(neon a, uint32_t n) noexcept {
        return {vshlq_u32(a.v, vdupq_n_s32(static_cast<int32_t>(n)))};
    }
    static neon and_not(neon a, neon b) noexcept { return {vbicq_u32(b.v, a.v)}; }
    static neon swap_bytes(neon a) noexcept {
        return {vreinterpretq_u32_u8(vrev32q_u8(vreinterpretq_u8_u32(a.v)))};
    }
    static neon greater(neon a, neon b) noexcept {
        return {vcgtq_s32(vreinterpretq_s32_u32(a.v), vreinterpretq_s32_u32(b.v))};
    }
    static neon load_u32_each(const uint8_t* const* from, unsigned offset) noexcept {
        uint32_t x[lanes];
        for (unsigned i = 0; i < lanes; ++i) std::memcpy(&x[i], from[i] + offset, 4);
        return load(x);
    }
    static neon sum_halves_each(const uint8_t* const* from) noexcept {
        const auto sums = [&](unsigned i) {
            return vpaddlq_u16(vreinterpretq_u16_u8(vld1q_u8(from[i])));
        };
        return {vpaddq_u32(vpaddq_u32(sums(0), sums(1)), vpaddq_u32(sums(2), sums(3)))};
    }
    static neon load_bytes(const uint8_t* at, uint32_t /*there*/) noexcept { return load_any(at); }
    static neon subtract_halves(neon a, neon b) noexcept {
        return {vreinterpretq_u32_u16(vsubq_u16(halves(a), halves(b)))};
    }
    static neon subtract_halves_to_0(neon a, neon b) noexcept {
        return {vreinterpretq_u32_u16(vqsubq_u16(halves(a), halves(b)))};
    }
    static void load_columns(const uint8_t* at, const uint32_t* n, uint32_t* a, uint32_t* b,
                             uint32_t* c, uint32_t* d) noexcept {
        neon column[4];
        transpose([&](unsigned i) { return load_row(at, n[i]); }, column);
        store_columns(column, a, b, c, d);
    }
    static void load_columns_be(const uint8_t* const* from, uint32_t* a, uint32_t* b, uint32_t* c,
                                uint32_t* d) noexcept {
        neon column[4];
        columns_be_each(from, 0, column);
        store_columns(column, a, b, c, d);
    }
    static void columns_each(const uint8_t* const* from, unsigned offset,
                             neon (&column)[4]) noexcept {
        transpose([&](unsigned i) { return load_any(from[i] + offset); }, column);
    }
    static void columns_be_each(const uint8_t* const* from, unsigned offset,
                                neon (&column)[4]) noexcept {
        columns_each(from, offset, column);
        for (neon& c : column) c = swap_bytes(c);
    }
    template <int N>
    [[nodiscard]] uint32_t lane() const noexcept {
        return vgetq_lane_u32(v, N);
    }
    static neon widen_halves(const uint16_t* from) noexcept { return {vmovl_u16(vld1_u16(from))}; }
    static uint64_t narrow(neon a) noexcept {
        return vget_lane_u64(vreinterpret_u64_u16(vmovn_u32(a.v)), 0);
    }
    static neon least_halves(neon a, neon b) noexcept {
        return {vreinterpretq_u32_u16(vminq_u16(halves(a), halves(b)))};
    }
    static neon most(neon a, neon b) noexcept {
        return {vreinterpretq_u32_s32(
            vmaxq_s32(vreinterpretq_s32_u32(a.v), vreinterpretq_s32_u32(b.v)))};
    }
    static neon least(neon a, neon b) noexcept {
        return {vreinterpretq_u32_s32(
            vminq_s32(vreinterpretq_s32_u32(a.v), vreinterpretq_s32_u32(b.v)))};
    }
    [[nodiscard]] uint32_t highest() const noexcept {
        return static_cast<uint32_t>(vmaxvq_s32(vreinterpretq_s32_u32(v)));
    }
    [[nodiscard]] uint32_t lowest() const noexcept {
        return static_cast<uint32_t>(vminvq_s32(vreinterpretq_s32_u32(v)));
    }
    static void split_pairs(neon two, neon other_two, neon& first, neon& second) noexcept {
        first.v = vuzp1q_u32(two.v, other_two.v);
        second.v = vuzp2q_u32(two.v, other_two.v);
    }
    static uint64_t count_below(const int64_t* at, int64_t key) noexcept {
        const int64x2_t wanted = vdupq_n_s64(key);
        const auto below = [&](unsigned i) { return vcltq_s64(vld1q_s64(at + 2 * i), wanted); };
        const uint64x2_t minus =
            vaddq_u64(vaddq_u64(below(0), below(1)), vaddq_u64(below(2), below(3)));
        return uint64_t{0} - vaddvq_u64(minus);
    }
    static uint64_t merge_best(uint64_t* best, const uint8_t* in, uint32_t found,
                               const uint8_t* tops, uint32_t there) noexcept {
        return scalar::merge_best(best, in, found, tops,
                                  there);  // four loads; there are no gathers
    }
    static uint32_t mask_low(uint32_t x, uint32_t n) noexcept { return scalar::mask_low(x, n); }
    static void store_pairs(void* to, neon low, neon high) noexcept {
        auto* const bytes = static_cast<uint8_t*>(to);
        vst1q_u8(bytes, vreinterpretq_u8_u32(vzip1q_u32(low.v, high.v)));
        vst1q_u8(bytes + 16, vreinterpretq_u8_u32(vzip2q_u32(low.v, high.v)));
    }
    static uint32_t sign_bits(neon a) noexcept {
        static constexpr int32_t positions[lanes] = {0, 1, 2, 3};
        return vaddvq_u32(vshlq_u32(vshrq_n_u32(a.v, 31), vld1q_s32(positions)));
    }

    struct compressor {
        uint8x16_t order;
        explicit compressor(uint32_t mask) noexcept {
            // Indices of the set bits, four bits each, by mask.
            static constexpr uint16_t chosen[16] = {0x0000, 0x0000, 0x0001, 0x0010, 0x0002, 0x0020,
                                                    0x0021, 0x0210, 0x0003, 0x0030, 0x0031, 0x0310,
                                                    0x0032, 0x0320, 0x0321, 0x3210};
            static constexpr int32_t positions[lanes] = {0, -4, -8, -12};
            const uint32x4_t numbers = vandq_u32(
                vshlq_u32(vdupq_n_u32(chosen[mask]), vld1q_s32(positions)), vdupq_n_u32(3));
            order = vreinterpretq_u8_u32(vmlaq_n_u32(vdupq_n_u32(0x03020100), numbers, 0x04040404));
        }
        void store(uint32_t* to, neon a) const noexcept {
            neon::store(to, {vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32(a.v), order))});
        }
    };

    // Helpers; not part of the interface.
    static void store_columns(const neon (&column)[4], uint32_t* a, uint32_t* b, uint32_t* c,
                              uint32_t* d) noexcept {
        store(a, column[0]);
        store(b, column[1]);
        store(c, column[2]);
        store(d, column[3]);
    }
    static uint16x8_t halves(neon a) noexcept { return vreinterpretq_u16_u32(a.v); }
    template <class Row>
    static void transpose(const Row& row, neon (&column)[4]) noexcept {
        const uint32x4_t r0 = row(0).v, r1 = row(1).v, r2 = row(2).v, r3 = row(3).v;
        const uint64x2_t low01 = vreinterpretq_u64_u32(vzip1q_u32(r0, r1)),
                         low23 = vreinterpretq_u64_u32(vzip1q_u32(r2, r3)),
                         high01 = vreinterpretq_u64_u32(vzip2q_u32(r0, r1)),
                         high23 = vreinterpretq_u64_u32(vzip2q_u32(r2, r3));
        column[0].v = vreinterpretq_u32_u64(vzip1q_u64(low01, low23));
        column[1].v = vreinterpretq_u32_u64(vzip2q_u64(low01, low23));
        column[2].v = vreinterpretq_u32_u64(vzip1q_u64(high01, high23));
        column[3].v = vreinterpretq_u32_u64(vzip2q_u64(high01, high23));
    }
};

}  // namespace
