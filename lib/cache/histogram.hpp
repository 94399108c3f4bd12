// SPDX-License-Identifier: BSD-3-Clause
// How many of a pool's hot lines meet in each set of a cache: figures 14 and 15 of the source
// (placement.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cache/placement.hpp"

namespace turnpike::cache {

struct histogram {
    std::vector<uint32_t> lines{};  ///< [sets]

    [[nodiscard]] uint32_t most() const noexcept;
    [[nodiscard]] double mean() const noexcept;
    [[nodiscard]] double most_over_mean() const noexcept;  ///< 0 without lines
    /// No set has more than most_lines().
    [[nodiscard]] bool even() const noexcept;
};

/// What we call even: at a mean of 16 lines a set and more, 1.15 times the mean; below, one more than
/// the mean rounded up.
[[nodiscard]] uint64_t most_lines(uint64_t lines, uint64_t sets) noexcept;

/// Of objects where they are.
/// objects  [n] their addresses: physical ones, or such as agree with them below a page
/// hot      byte offsets of each object's hot lines
[[nodiscard]] histogram measured(const level& of, std::span<const uint64_t> objects,
                                 std::span<const uint32_t> hot);

/// The places of `objects` in memory that starts at an address.
[[nodiscard]] std::vector<uint64_t> places(const placement& by, uint64_t objects,
                                           uint64_t address = 0);

}  // namespace turnpike::cache
