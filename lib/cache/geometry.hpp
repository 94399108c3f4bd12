// SPDX-License-Identifier: BSD-3-Clause
// The data caches of a CPU, as Linux describes them.
// Source: Documentation/ABI/testing/sysfs-devices-system-cpu, /sys/devices/system/cpu/cpu*/cache.
#pragma once

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
    std::string shared_cpus{};  ///< who has the same cache, as "0-1"; empty: not said

    [[nodiscard]] uint64_t size_bytes() const noexcept {
        return uint64_t{sets} * ways * line_bytes;
    }
    /// Addresses this far apart meet in one set.
    [[nodiscard]] uint64_t way_bytes() const noexcept { return uint64_t{sets} * line_bytes; }
};

struct geometry {
    std::vector<level> levels{};  ///< that hold data, the nearest first
    std::string source{};         ///< the folder it was read from, or why it was not

    /// nullptr: there is none, or nobody says how it is made
    [[nodiscard]] const level* find(unsigned number) const noexcept;
};

/// Read one CPU's caches.
/// sysfs   the root of sysfs
/// Errors  ENOENT: it describes no cache (some virtual machines). Of a level that does not say its
///         sets or ways they are worked out of its size; a level where that cannot be is left out.
[[nodiscard]] result<geometry> read_geometry(const std::filesystem::path& sysfs = "/sys",
                                             unsigned cpu = 0);

/// "1:64x8,2:2048x8": level, sets, ways, in lines of 64 bytes. Errors EINVAL.
[[nodiscard]] result<geometry> parse_geometry(const std::string& text);

/// read_geometry(), or 32 KB of 8 ways and 1 MB of 8 ways where it fails: an even spread over the
/// sets of these is even over those of most.
[[nodiscard]] geometry geometry_or_typical(const std::filesystem::path& sysfs = "/sys",
                                           unsigned cpu = 0);

}  // namespace turnpike::cache
