// SPDX-License-Identifier: BSD-3-Clause
// Number of a pool's hot lines per cache set: figures 14 and 15 of the source (placement.hpp).
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
    [[nodiscard]] double max_over_mean() const noexcept;  ///< 0 without lines
    /// No set has more than max_lines().
    [[nodiscard]] bool even() const noexcept;
};

/// The limit for an even spread: at a mean of 16 lines per set and more, 1.15 times the mean;
/// below, one more than the mean rounded up.
[[nodiscard]] uint64_t max_lines(uint64_t lines, uint64_t sets) noexcept;

/// Measure objects at their addresses.
///
/// objects  [n] their addresses: physical ones, or addresses that equal them below the page size
/// hot      byte offsets of each object's hot lines
/// align    of the objects: where it is several lines, their sets count as one
[[nodiscard]] histogram measured(const level& of, std::span<const uint64_t> objects,
                                 std::span<const uint32_t> hot, uint32_t align = 1);

/// Addresses of `objects` objects in memory that starts at an address.
[[nodiscard]] std::vector<uint64_t> places(const placement& by, uint64_t objects,
                                           uint64_t address = 0);

}  // namespace turnpike::cache
