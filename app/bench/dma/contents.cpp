// SPDX-License-Identifier: BSD-3-Clause
#include "contents.hpp"

#include <algorithm>
#include <cstring>

namespace turnpike::bench::dma {
namespace {

template <class Word>
std::optional<size_t> first_unlike(std::span<const std::byte> at, const Word& word_of) noexcept {
    for (size_t done = 0; done < at.size(); done += 8) {
        const uint64_t wanted = word_of(done / 8);
        const size_t bytes = std::min<size_t>(8, at.size() - done);
        if (std::memcmp(&at[done], &wanted, bytes) == 0) continue;
        std::byte expected[8];
        std::memcpy(expected, &wanted, sizeof expected);
        size_t same = 0;
        while (at[done + same] == expected[same]) ++same;
        return done + same;
    }
    return std::nullopt;
}

}  // namespace

void write_contents(std::span<std::byte> at, uint64_t tag) noexcept {
    for (size_t done = 0; done < at.size(); done += 8) {
        const uint64_t word = contents_word(tag, done / 8);
        std::memcpy(&at[done], &word, std::min<size_t>(8, at.size() - done));
    }
}

std::optional<size_t> first_difference(std::span<const std::byte> at, uint64_t tag) noexcept {
    return first_unlike(at, [tag](size_t word) { return contents_word(tag, word); });
}

std::optional<size_t> first_difference_from_fill(std::span<const std::byte> at,
                                                 uint64_t word) noexcept {
    return first_unlike(at, [word](size_t) { return word; });
}

}  // namespace turnpike::bench::dma
