// SPDX-License-Identifier: BSD-3-Clause
// The bytes of the host buffer that a row accesses, and their order.
//
// Source: Neugebauer et al., "Understanding PCIe performance for end host networking" (SIGCOMM 2018), section 4
// and figure 4: a window of the buffer is accessed repeatedly, in units of whole cache lines.
//
//   | unit 0                        | unit 1              ...   | unit n - 1
//   | offset | transfer bytes | rest to the end of the line | ...
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace turnpike::bench::dma {

inline constexpr uint32_t host_line_bytes = 64;

enum class access_pattern { sequential, random };

struct access_window {
    uint64_t bytes = 8192;
    uint32_t transfer_bytes = 64;
    uint32_t offset_bytes = 0;  ///< offset of a transfer from the start of a cache line

    /// Offset plus transfer, rounded up to whole lines: each transfer covers the same number of
    /// lines.
    [[nodiscard]] uint64_t unit_bytes() const noexcept {
        const uint64_t used = uint64_t{offset_bytes} + transfer_bytes;
        return (used + host_line_bytes - 1) / host_line_bytes * host_line_bytes;
    }
    [[nodiscard]] uint64_t units() const noexcept { return bytes / unit_bytes(); }
    /// Offset of a unit's transfer from the window's start.
    [[nodiscard]] uint64_t place_of(uint64_t unit) const noexcept {
        return unit * unit_bytes() + offset_bytes;
    }
    bool operator==(const access_window&) const = default;
};

inline constexpr uint64_t largest_window_bytes = uint64_t{1} << 30;

/// Errors  EINVAL: no transfer, an offset beyond a line, a window over 1 GB or with fewer than
/// `least` units
[[nodiscard]] result<void> validate(const access_window& w, uint64_t least = 1);

/// Units 0 to units - 1 without repetition; random: the same order for the same seed.
[[nodiscard]] std::vector<uint32_t> visit_order(uint64_t units, access_pattern pattern,
                                                uint64_t seed);

/// "4096", "8K", "64M", "1G", in powers of 1,024. Errors EINVAL.
[[nodiscard]] result<uint64_t> parse_bytes(const std::string& text, const std::string& option);

/// "64", "8K", "64M": the format of parse_bytes().
[[nodiscard]] std::string bytes_text(uint64_t bytes);

}  // namespace turnpike::bench::dma
