// SPDX-License-Identifier: BSD-3-Clause
// memory=cold: what the device has written goes out of every cache to memory, where a NIC's writes end on a
// machine without DDIO. Then a host that forgot to prefetch waits for it.
// Source: Intel SDM volume 2, CLFLUSHOPT, CLFLUSH; volume 1 section 11.4.4 (MFENCE orders them).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace turnpike::simnic {

struct eviction {
    std::string_view name;
    bool (*runs_here)() noexcept;
    /// The lines that [at, at + bytes) lies in, at some time before the next settle() returns.
    void (*evict)(const void* at, uint32_t bytes) noexcept;
};

/// The quickest first; the last runs on any x86-64.
[[nodiscard]] std::span<const eviction> evictions() noexcept;

/// The first of them that runs here.
[[nodiscard]] const eviction& fastest_eviction() noexcept;

/// What was evicted is in memory.
inline void settle() noexcept { __builtin_ia32_mfence(); }

}  // namespace turnpike::simnic
