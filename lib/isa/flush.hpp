// SPDX-License-Identifier: BSD-3-Clause
// Eviction of cache lines to memory.
// Source: Intel SDM volume 2, CLFLUSH; volume 1 section 11.4.4 (MFENCE orders it). Arm ARM (DDI 0487), DC CIVAC, which
// Linux permits to programs, and CTR_EL0.DminLine.
#pragma once

#include <cstdint>

namespace turnpike::isa {

/// Bytes that flush_line evicts at least.
inline uintptr_t flush_bytes() noexcept {
#if defined(__aarch64__)
    uint64_t cache_type;
    asm("mrs %0, ctr_el0" : "=r"(cache_type));
    return uintptr_t{4} << (cache_type >> 16 & 15);
#else
    return 64;
#endif
}

/// Evict the line of `at` from all caches before the next flush_fence() returns.
inline void flush_line(const void* at) noexcept {
#if defined(__x86_64__)
    __builtin_ia32_clflush(at);
#else
    asm volatile("dc civac, %0" : : "r"(at) : "memory");
#endif
}

inline void flush_fence() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_mfence();
#else
    asm volatile("dsb sy" : : : "memory");
#endif
}

}  // namespace turnpike::isa
