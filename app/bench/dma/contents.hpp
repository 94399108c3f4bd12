// SPDX-License-Identifier: BSD-3-Clause
// Test patterns for buffers, which detect bytes that were not moved or moved to a wrong place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace turnpike::bench::dma {

/// The 8 bytes at `word` of the pattern for `tag` (splitmix64: any two patterns differ nearly
/// everywhere).
constexpr uint64_t contents_word(uint64_t tag, uint64_t word) noexcept {
    uint64_t z = (tag << 24) + word + 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/// Little endian; the last word is truncated to the size.
void write_contents(std::span<std::byte> at, uint64_t tag) noexcept;
/// Offset of the first byte that differs from write_contents(); nullopt: all bytes are equal.
[[nodiscard]] std::optional<size_t> first_difference(std::span<const std::byte> at,
                                                     uint64_t tag) noexcept;

/// The same for a repeated word, as written by rte_dma_fill().
[[nodiscard]] std::optional<size_t> first_difference_from_fill(std::span<const std::byte> at,
                                                               uint64_t word) noexcept;

}  // namespace turnpike::bench::dma
