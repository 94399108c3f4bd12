// SPDX-License-Identifier: BSD-3-Clause
// Operations on 64-bit lanes, in plain C++: the definition for every other file of this folder.
//
// clang-format off
//   lanes                     64-bit lanes in a vector
//   all(x)                    every lane x
//   load(from), store(to, a)  lanes from and to memory, any alignment
//   load_first<Words>(from)   where Words is less than lanes: the first lanes, the rest 0
//   add32, add, mask          per 32-bit half; per lane; bits of both
//   multiply(a, b)            product of the low halves of each lane
//   high(a), swap(a)          the high half of each lane, as a lane; its halves exchanged
//   pick(a, b, c, d)          per lane: b == c ? a | d : a
//   differ(a, b, c)           per lane: a | (b ^ c)
//   nonzero(a)                bit i: lane i is not 0
//   key_words<Words>(k, w)    lane j = word w of the key at k + 8 * Words * j
//   equal_words<Lanes, Words>(line, key)
//                             bit i, below Lanes: u64 i of the line is word i % Words of key
//   equal_tags(line, tag)     bit i: u16 i of the line is `tag`; bits of 28 and above mean nothing
//   equal_key<Words>(a, b)    are the Words u64 at a and b equal
//   nonzero_bytes(from)       bit i: the i-th of 64 bytes is not 0
//   nonzero_counters<Shift>(metas, second, n)
//                             bit i, below n: the filter of metas[i], which begins at bit Shift, counts keys of
//                             the class of second[i] (hash/layout.hpp). Bits from n on mean nothing; arrays have
//                             room for whole vectors
//   prefetch(at)              the line of `at`, into all caches
// clang-format on
// Lines are aligned to 64 bytes and may be written concurrently: each aligned u64 is read atomically.
#pragma once

#include <cstdint>
#include <cstring>

namespace {

inline uint64_t word_at(const uint8_t* at) noexcept {
    uint64_t x;
    memcpy(&x, at, sizeof x);
    return x;
}

inline uint64_t shared_word_at(const uint8_t* at) noexcept {
    return __atomic_load_n(reinterpret_cast<const uint64_t*>(at), __ATOMIC_ACQUIRE);
}

/// A line as vectors may read it: the line itself, or, for TSan, which does not know that vector
/// loads are atomic per u64, a copy made of atomic reads.
struct line_copy {
#ifdef __SANITIZE_THREAD__
    alignas(64) uint64_t copy[8];
    explicit line_copy(const uint8_t* line, unsigned count = 8) noexcept {
        for (unsigned i = 0; i < count; ++i) copy[i] = shared_word_at(line + 8 * i);
    }
    const void* at(unsigned byte = 0) const noexcept {
        return reinterpret_cast<const uint8_t*>(copy) + byte;
    }
#else
    const uint8_t* line;
    explicit line_copy(const uint8_t* of, unsigned = 8) noexcept : line(of) {}
    const void* at(unsigned byte = 0) const noexcept { return line + byte; }
#endif
};

struct words_scalar {
    static constexpr unsigned lanes = 1;
    uint64_t v;

    static words_scalar all(uint64_t x) noexcept { return {x}; }
    static words_scalar load(const uint64_t* from) noexcept { return {*from}; }
    static void store(uint64_t* to, words_scalar a) noexcept { *to = a.v; }
    static words_scalar pick(words_scalar a, words_scalar b, words_scalar c,
                             words_scalar d) noexcept {
        return {a.v | (d.v & (uint64_t{0} - uint64_t{b.v == c.v}))};
    }
    static words_scalar differ(words_scalar a, words_scalar b, words_scalar c) noexcept {
        return {a.v | (b.v ^ c.v)};
    }
    static uint32_t nonzero(words_scalar a) noexcept { return a.v != 0; }
    static words_scalar add32(words_scalar a, words_scalar b) noexcept {
        return {((a.v + (b.v & ~0xffffffffULL)) & ~0xffffffffULL) |
                static_cast<uint32_t>(a.v + b.v)};
    }
    static words_scalar add(words_scalar a, words_scalar b) noexcept { return {a.v + b.v}; }
    static words_scalar mask(words_scalar a, words_scalar b) noexcept { return {a.v & b.v}; }
    static words_scalar multiply(words_scalar a, words_scalar b) noexcept {
        return {uint64_t{static_cast<uint32_t>(a.v)} * static_cast<uint32_t>(b.v)};
    }
    static words_scalar high(words_scalar a) noexcept { return {a.v >> 32}; }
    static words_scalar swap(words_scalar a) noexcept { return {a.v << 32 | a.v >> 32}; }
    template <unsigned Words>
    static words_scalar key_words(const uint8_t* keys, unsigned w) noexcept {
        return {word_at(keys + 8 * w)};
    }
    template <unsigned Lanes, unsigned Words>
    static uint32_t equal_words(const uint8_t* line, const uint8_t* key) noexcept {
        uint32_t equal = 0;
        for (unsigned i = 0; i < Lanes; ++i)
            equal |= uint32_t{shared_word_at(line + 8 * i) == word_at(key + 8 * (i % Words))} << i;
        return equal;
    }
    static uint32_t equal_tags(const uint8_t* line, uint16_t tag) noexcept {
        constexpr uint64_t ones = 0x0001000100010001, low15 = 0x7fff * ones;
        const uint64_t pattern = tag * ones;
        uint32_t equal = 0;
        for (unsigned i = 0; i < 7; ++i) {
            const uint64_t differ = shared_word_at(line + 8 * i) ^ pattern;
            const uint64_t same = ~(((differ & low15) + low15) | differ | low15);
            // Gather the four highest bits of the 16-bit lanes.
            equal |= static_cast<uint32_t>((same >> 15) * 0x1000200040008 >> 48 & 15) << (4 * i);
        }
        return equal;
    }
    template <unsigned Words>
    static bool equal_key(const uint8_t* a, const uint8_t* b) noexcept {
        uint64_t differ = 0;
        for (unsigned i = 0; i < Words; ++i)
            differ |= shared_word_at(a + 8 * i) ^ word_at(b + 8 * i);
        return differ == 0;
    }
    static uint64_t nonzero_bytes(const uint8_t* from) noexcept {
        constexpr uint64_t low7 = 0x7f7f7f7f7f7f7f7f, low1 = 0x0101010101010101;
        uint64_t nonzero = 0;
        for (unsigned i = 0; i < 8; ++i) {
            const uint64_t x = word_at(from + 8 * i);
            const uint64_t each = (((x & low7) + low7) | x) >> 7 & low1;
            nonzero |= (each * 0x0102040810204080 >> 56) << (8 * i);  // gather the bits
        }
        return nonzero;
    }
    template <unsigned Shift, class Meta>
    static uint64_t nonzero_counters(const Meta* metas, const uint64_t* second,
                                     uint32_t n) noexcept {
        uint64_t nonzero = 0;
        for (uint32_t i = 0; i < n; ++i)
            nonzero |=
                static_cast<uint64_t>((metas[i] >> ((second[i] >> 28 & 12) + Shift) & 15) != 0)
                << i;
        return nonzero;
    }
    static void prefetch(const void* at) noexcept { __builtin_prefetch(at); }
};

}  // namespace
