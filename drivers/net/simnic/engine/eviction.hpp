// SPDX-License-Identifier: BSD-3-Clause
// memory=cold: evict device writes from every cache to memory, as on a machine without DDIO. A
// driver that does not prefetch then pays for the cache miss.
//
// Source: Intel SDM volume 2, CLFLUSHOPT; of the others: isa/flush.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "isa/flush.hpp"

namespace turnpike::simnic {

struct eviction {
    std::string_view name;
    bool (*runs_here)() noexcept;
    /// Evict the cache lines of [at, at + bytes) before the next settle() returns.
    void (*evict)(const void* at, uint32_t bytes) noexcept;
};

/// Fastest first; the last one runs on any CPU of the architecture.
[[nodiscard]] std::span<const eviction> evictions() noexcept;

/// The first one that this CPU supports.
[[nodiscard]] const eviction& fastest_eviction() noexcept;

/// Wait until evicted lines are in memory.
inline void settle() noexcept { isa::flush_fence(); }

}  // namespace turnpike::simnic
