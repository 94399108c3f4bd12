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
