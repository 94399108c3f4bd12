// SPDX-License-Identifier: BSD-3-Clause
#include "engine/eviction.hpp"

#include <cpuid.h>

#include <algorithm>

namespace turnpike::simnic {
namespace {

constexpr uintptr_t line_bytes = 64;

struct lines {
    uintptr_t first, end;
    lines(const void* at, uint32_t bytes) noexcept
        : first(reinterpret_cast<uintptr_t>(at) / line_bytes * line_bytes),
          end(reinterpret_cast<uintptr_t>(at) + bytes) {}
};

/// __builtin_cpu_supports of GCC 12 and clang 14 does not know clflushopt.
bool has_clflushopt() noexcept {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_CLFLUSHOPT) != 0;
}

/// CLFLUSHOPT evicts lines in parallel.
[[gnu::target("clflushopt")]] void evict_by_clflushopt(const void* at, uint32_t bytes) noexcept {
    const lines all(at, bytes);
    for (uintptr_t line = all.first; line < all.end; line += line_bytes)
        __builtin_ia32_clflushopt(reinterpret_cast<void*>(line));
}

/// CLFLUSH evicts lines serially.
void evict_by_clflush(const void* at, uint32_t bytes) noexcept {
    const lines all(at, bytes);
    for (uintptr_t line = all.first; line < all.end; line += line_bytes)
        __builtin_ia32_clflush(reinterpret_cast<const void*>(line));
}

constexpr eviction ways[] = {
    {"clflushopt", has_clflushopt, evict_by_clflushopt},
    {"clflush", []() noexcept { return true; }, evict_by_clflush},
};

}  // namespace

std::span<const eviction> evictions() noexcept { return ways; }

const eviction& fastest_eviction() noexcept {
    return *std::ranges::find_if(ways, [](const eviction& e) { return e.runs_here(); });
}

}  // namespace turnpike::simnic
