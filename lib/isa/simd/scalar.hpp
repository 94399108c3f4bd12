// SPDX-License-Identifier: BSD-3-Clause
// The words of sse42.hpp for one 32-bit lane: portable C++, and the meaning of every word.
#pragma once

#include <cstdint>
#include <cstring>

namespace {

struct scalar {
    static constexpr unsigned lanes = 1;
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
    static constexpr unsigned wide = 1;
    template <class T>
    static void zero_extend(uint64_t* to, const T* from) noexcept {
        *to = *from;
    }
    static unsigned popcount(uint64_t x) noexcept {  // the instruction needs flags scalar has not
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
};

}  // namespace
