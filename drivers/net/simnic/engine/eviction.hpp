// SPDX-License-Identifier: BSD-3-Clause
// memory=cold: evict device writes from every cache to memory, as on a machine without DDIO. A
// driver that does not prefetch then pays for the cache miss.
//
// Source: Intel SDM volume 2, CLFLUSHOPT, CLFLUSH; volume 1 section 11.4.4 (MFENCE orders them).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace turnpike::simnic {

struct eviction {
    std::string_view name;
    bool (*runs_here)() noexcept;
    /// Evict the cache lines of [at, at + bytes) before the next settle() returns.
    void (*evict)(const void* at, uint32_t bytes) noexcept;
};

/// Fastest first; the last one runs on any x86-64.
[[nodiscard]] std::span<const eviction> evictions() noexcept;

/// The first one that this CPU supports.
[[nodiscard]] const eviction& fastest_eviction() noexcept;

/// Wait until evicted lines are in memory.
inline void settle() noexcept { __builtin_ia32_mfence(); }

}  // namespace turnpike::simnic
