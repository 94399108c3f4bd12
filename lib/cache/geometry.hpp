// SPDX-License-Identifier: BSD-3-Clause
// The data caches of a CPU, from sysfs.
//
// Source: Documentation/ABI/testing/sysfs-devices-system-cpu, /sys/devices/system/cpu/cpu*/cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace turnpike::cache {

/// One level. A line at address A lies in set (A / line_bytes) % sets.
struct level {
    unsigned number = 0;  ///< 1, 2, 3
    uint32_t sets = 0;
    uint32_t ways = 0;
    uint32_t line_bytes = 0;
    std::string shared_cpus{};  ///< CPUs that share the cache, as "0-1"; empty: unknown

    [[nodiscard]] uint64_t size_bytes() const noexcept {
        return uint64_t{sets} * ways * line_bytes;
    }
    /// Addresses this far apart map to the same set.
    [[nodiscard]] uint64_t way_bytes() const noexcept { return uint64_t{sets} * line_bytes; }
    /// Sets of units of `bytes`, a line or several.
    [[nodiscard]] uint32_t sets_of(uint32_t bytes) const noexcept {
        return std::max<uint32_t>(1, static_cast<uint32_t>(way_bytes() / bytes));
    }
};

struct geometry {
    std::vector<level> levels{};  ///< data and unified caches, the nearest first
    std::string source{};         ///< the folder it was read from, or the error

    /// nullptr: no such level, or its geometry is unknown
    [[nodiscard]] const level* find(unsigned number) const noexcept;
};

/// Read one CPU's caches.
///
/// sysfs   the root of sysfs
/// Errors  ENOENT: sysfs describes no cache (some virtual machines). If a level lacks sets or ways,
///         they are computed from its size; a level without enough values is skipped.
[[nodiscard]] result<geometry> read_geometry(const std::filesystem::path& sysfs = "/sys",
                                             unsigned cpu = 0);

/// "1:64x8,2:2048x8": level, sets, ways, in lines of 64 bytes. Errors EINVAL.
[[nodiscard]] result<geometry> parse_geometry(const std::string& text);

/// read_geometry(), or on failure 32 KB of 8 ways and 1 MB of 8 ways: an even spread over these
/// sets is also even on most other caches.
[[nodiscard]] geometry geometry_or_typical(const std::filesystem::path& sysfs = "/sys",
                                           unsigned cpu = 0);

}  // namespace turnpike::cache
