// SPDX-License-Identifier: BSD-3-Clause
// Blocks of 16 bytes, such as descriptors. A vector has `count` blocks:
//
//   each(at)             block k from the 16 bytes at at(k), aligned to 8: both words together, or the upper first
//   pairs(of)            block k from {low, high} = of(k), two 64-bit words
//   all(low, high)       the same block `count` times
//   a & b, a | b, a + b  bitwise; sums of 64-bit words
//   shift_right<N>(a), shift_left<N>(a)  of 64-bit words
//   upper(a)             the upper word of each block becomes the lower, the upper 0
//   shuffle(a, by)       byte i of a block is its byte by[i] of `a`; 0 where bit 7 of by[i] is set
//   equal_upper(a, b)    bit k: block k of `a` has the upper word of that of `b`
//   store(to, a)         contiguous
//   store_two(at, a, b)  block k of `a` and that of `b` to the 32 bytes at at(k)
//
// The scalar set has none (`count` 0): a kernel then has only its remainder loop.
#pragma once

#include <cstdint>

namespace {

struct block_words {
    uint64_t low, high;
};

struct blocks_scalar {
    static constexpr unsigned count = 0;
};

}  // namespace
