// SPDX-License-Identifier: BSD-3-Clause
// What buffers hold, so that a byte that was not moved, or moved to another place, is seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace turnpike::bench::dma {

/// The 8 bytes at `word` of what `tag` stands for (splitmix64: any two differ nearly everywhere).
constexpr uint64_t contents_word(uint64_t tag, uint64_t word) noexcept {
    uint64_t z = (tag << 24) + word + 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/// Little endian, the last word cut where the bytes end.
void write_contents(std::span<std::byte> at, uint64_t tag) noexcept;
/// Where the first byte differs from write_contents(); none: all are as they should be.
[[nodiscard]] std::optional<size_t> first_difference(std::span<const std::byte> at,
                                                     uint64_t tag) noexcept;

/// One word over and over, as rte_dma_fill() writes it.
[[nodiscard]] std::optional<size_t> first_difference_from_fill(std::span<const std::byte> at,
                                                               uint64_t word) noexcept;

}  // namespace turnpike::bench::dma
