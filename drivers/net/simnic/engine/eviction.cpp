// SPDX-License-Identifier: BSD-3-Clause
#include "engine/eviction.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>

namespace turnpike::simnic {
namespace {

struct lines {
    uintptr_t step, first, end;
    lines(const void* at, uint32_t bytes) noexcept
        : step(isa::flush_bytes()),
          first(reinterpret_cast<uintptr_t>(at) / step * step),
          end(reinterpret_cast<uintptr_t>(at) + bytes) {}
};

#if defined(__x86_64__)
/// __builtin_cpu_supports of GCC 12 and clang 14 does not know clflushopt.
bool has_clflushopt() noexcept {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_CLFLUSHOPT) != 0;
}

/// CLFLUSHOPT evicts lines in parallel.
[[gnu::target("clflushopt")]] void evict_by_clflushopt(const void* at, uint32_t bytes) noexcept {
    const lines all(at, bytes);
    for (uintptr_t line = all.first; line < all.end; line += all.step)
        __builtin_ia32_clflushopt(reinterpret_cast<void*>(line));
}
#endif

/// CLFLUSH evicts lines serially.
void evict_line_by_line(const void* at, uint32_t bytes) noexcept {
    const lines all(at, bytes);
    for (uintptr_t line = all.first; line < all.end; line += all.step)
        isa::flush_line(reinterpret_cast<const void*>(line));
}

constexpr bool always() noexcept { return true; }

constexpr eviction ways[] = {
#if defined(__x86_64__)
    {"clflushopt", has_clflushopt, evict_by_clflushopt},
    {"clflush", always, evict_line_by_line},
#else
    {"dc civac", always, evict_line_by_line},
#endif
};

}  // namespace

std::span<const eviction> evictions() noexcept { return ways; }

const eviction& fastest_eviction() noexcept {
    return *std::ranges::find_if(ways, [](const eviction& e) { return e.runs_here(); });
}

}  // namespace turnpike::simnic
