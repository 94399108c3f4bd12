// SPDX-License-Identifier: BSD-3-Clause
// One test body for all keys and values: FOR_ALL_SHAPES(name, body<Key, Value>).
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <unordered_map>
#include <vector>

#include "hash/table.hpp"

namespace turnpike::hash::test {

template <size_t Bytes>
struct key {
    std::array<uint64_t, Bytes / 8> words;
    bool operator==(const key&) const = default;
};
using key8 = key<8>;
using key16 = key<16>;
using key40 = key<40>;

struct key_hash {
    template <size_t Bytes>
    size_t operator()(const key<Bytes>& k) const noexcept {
        uint64_t h = 0;
        for (const uint64_t w : k.words) h = (h ^ w) * 0x9e3779b97f4a7c15 + (h >> 29);
        return h;
    }
};

/// Key number n: small numbers give keys that differ little, in their first or in their last word.
template <class Key>
Key numbered(uint64_t n) {
    Key k{};
    k.words[n % 2 == 0 ? 0 : k.words.size() - 1] = n / 2 + (n % 2 << 40);
    return k;
}

#define FOR_ALL_SHAPES(call)       \
    {                              \
        {                          \
            SCOPED_TRACE("8, 4");  \
            call(key8, uint32_t);  \
        }                          \
        {                          \
            SCOPED_TRACE("8, 8");  \
            call(key8, uint64_t);  \
        }                          \
        {                          \
            SCOPED_TRACE("16, 4"); \
            call(key16, uint32_t); \
        }                          \
        {                          \
            SCOPED_TRACE("16, 8"); \
            call(key16, uint64_t); \
        }                          \
        {                          \
            SCOPED_TRACE("40, 4"); \
            call(key40, uint32_t); \
        }                          \
        {                          \
            SCOPED_TRACE("40, 8"); \
            call(key40, uint64_t); \
        }                          \
    }

}  // namespace turnpike::hash::test
