// SPDX-License-Identifier: BSD-3-Clause
// The operations of sse42.hpp for one 32-bit lane: portable C++, and the reference for every
// operation.
#pragma once

#include <cstdint>
#include <cstring>

namespace {

struct scalar {
    static constexpr unsigned lanes = 1, look_up_bits = 0;
    uint32_t v;

    static scalar set1(uint32_t x) noexcept { return {x}; }
    static scalar load(const uint32_t* from) noexcept { return {*from}; }
    static void store(uint32_t* to, scalar a) noexcept { *to = a.v; }
    friend scalar operator+(scalar a, scalar b) noexcept { return {a.v + b.v}; }
    friend scalar operator&(scalar a, scalar b) noexcept { return {a.v & b.v}; }
    friend scalar operator|(scalar a, scalar b) noexcept { return {a.v | b.v}; }
    friend scalar operator^(scalar a, scalar b) noexcept { return {a.v ^ b.v}; }
    template <class T>
    static scalar equal(scalar a, scalar b) noexcept {
        uint32_t out = 0;
        for (unsigned i = 0; i < 32; i += 8 * sizeof(T)) {
            const bool same = static_cast<T>(a.v >> i) == static_cast<T>(b.v >> i);
            out |= (same ? uint32_t{static_cast<T>(~T{})} : 0) << i;
        }
        return {out};
    }
    static bool any(scalar a) noexcept { return a.v != 0; }
    static unsigned popcount(uint64_t x) noexcept {  // the scalar flags do not include POPCNT
        x -= x >> 1 & 0x5555'5555'5555'5555;
        x = (x & 0x3333'3333'3333'3333) + (x >> 2 & 0x3333'3333'3333'3333);
        x = (x + (x >> 4)) & 0x0f0f'0f0f'0f0f'0f0f;
        return static_cast<unsigned>(x * 0x0101'0101'0101'0101 >> 56);
    }
    static void prefetch(const void* at) noexcept { __builtin_prefetch(at); }
    template <int Bits>
    static scalar shift_right(scalar a) noexcept {
        return {a.v >> Bits};
    }
    static scalar load_u32_each(const uint8_t* const* from, unsigned offset) noexcept {
        uint32_t x;
        std::memcpy(&x, from[0] + offset, sizeof x);
        return {x};
    }
    static scalar sum_halves_each(const uint8_t* const* from) noexcept {
        uint32_t sum = 0;
        for (unsigned i = 0; i < 16; i += 4) {
            const uint32_t x = load_u32_each(from, i).v;
            sum += (x & 0xffff) + (x >> 16);
        }
        return {sum};
    }

    static scalar load_bytes(const uint8_t* at, [[maybe_unused]] uint32_t there) noexcept {
#ifdef __SANITIZE_THREAD__
        uint32_t x[lanes] = {};
        std::memcpy(x, at, 4 * (there < lanes ? there : lanes));
        return load(x);
#else
        scalar x;
        std::memcpy(&x.v, at, sizeof x.v);
        return x;
#endif
    }
    static scalar and_not(scalar a, scalar b) noexcept { return {~a.v & b.v}; }
    static scalar greater(scalar a, scalar b) noexcept {
        return {static_cast<int32_t>(a.v) > static_cast<int32_t>(b.v) ? ~0u : 0};
    }
    static scalar most(scalar a, scalar b) noexcept {
        return static_cast<int32_t>(a.v) > static_cast<int32_t>(b.v) ? a : b;
    }
    [[nodiscard]] uint32_t highest() const noexcept { return v; }
    static scalar swap_bytes(scalar a) noexcept { return {__builtin_bswap32(a.v)}; }
    static scalar shift_right_by(scalar a, uint32_t n) noexcept { return {a.v >> n}; }
    static scalar shift_left_by(scalar a, uint32_t n) noexcept { return {a.v << n}; }
    static scalar subtract_halves(scalar a, scalar b) noexcept {
        return {((a.v >> 16) - (b.v >> 16)) << 16 | ((a.v - b.v) & 0xffff)};
    }
    static scalar subtract_halves_to_0(scalar a, scalar b) noexcept {
        const uint32_t high_a = a.v >> 16, high_b = b.v >> 16;
        const uint32_t low_a = a.v & 0xffff, low_b = b.v & 0xffff;
        return {(high_a > high_b ? high_a - high_b : 0) << 16 |
                (low_a > low_b ? low_a - low_b : 0)};
    }
    static void load_columns(const uint8_t* at, const uint32_t* n, uint32_t* a, uint32_t* b,
                             uint32_t* c, uint32_t* d) noexcept {
        for (unsigned i = 0; i < 4; ++i) {
            const auto* row = reinterpret_cast<const uint64_t*>(at + uint64_t{n[i]} * 16);
            const uint64_t first = __atomic_load_n(row, __ATOMIC_ACQUIRE);
            const uint64_t second = __atomic_load_n(row + 1, __ATOMIC_ACQUIRE);
            a[i] = static_cast<uint32_t>(first);
            b[i] = static_cast<uint32_t>(first >> 32);
            c[i] = static_cast<uint32_t>(second);
            d[i] = static_cast<uint32_t>(second >> 32);
        }
    }
    static void load_columns_be(const uint8_t* const* from, uint32_t* a, uint32_t* b, uint32_t* c,
                                uint32_t* d) noexcept {
        for (unsigned i = 0; i < 4; ++i) {
            a[i] = __builtin_bswap32(load_u32_each(from + i, 0).v);
            b[i] = __builtin_bswap32(load_u32_each(from + i, 4).v);
            c[i] = __builtin_bswap32(load_u32_each(from + i, 8).v);
            d[i] = __builtin_bswap32(load_u32_each(from + i, 12).v);
        }
    }
    static void columns_each(const uint8_t* const* from, unsigned offset,
                             scalar (&column)[4]) noexcept {
        for (unsigned k = 0; k < 4; ++k) column[k] = load_u32_each(from, offset + 4 * k);
    }
    static void columns_be_each(const uint8_t* const* from, unsigned offset,
                                scalar (&column)[4]) noexcept {
        columns_each(from, offset, column);
        for (scalar& c : column) c = swap_bytes(c);
    }
    static uint64_t count_below(const int64_t* at, int64_t key) noexcept {
        uint64_t count = 0;
        for (unsigned i = 0; i < 8; ++i) count += at[i] < key;
        return count;
    }
    static uint64_t merge_best(uint64_t* best, const uint8_t* in, uint32_t found,
                               const uint8_t* tops, uint32_t /*there*/) noexcept {
        uint64_t least = ~uint64_t{0};
        for (unsigned c = 0; c < 4; ++c) {
            const uint32_t matching = found & in[c];
            uint64_t offered = 0;
            if (matching != 0)
                std::memcpy(&offered, tops + 8 * __builtin_ctz(matching), sizeof offered);
            if (best[c] < offered) best[c] = offered;
            if (best[c] < least) least = best[c];
        }
        return least;
    }
    static uint32_t mask_low(uint32_t x, uint32_t n) noexcept {
        return n < 32 ? x & ((1u << n) - 1) : x;
    }
    static uint32_t sign_bits(scalar a) noexcept { return a.v >> 31; }
    struct compressor {
        explicit compressor(uint32_t) noexcept {}
        void store(uint32_t* to, scalar a) const noexcept { *to = a.v; }
    };
};

}  // namespace
