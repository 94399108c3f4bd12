// SPDX-License-Identifier: BSD-3-Clause
// Prefetch of a line that is to be written: it is taken from other CPUs' caches at once. (GCC emits a plain prefetch for
// __builtin_prefetch(at, 1) unless it may use PREFETCHW, which every x86-64 CPU accepts: AMD64 manual volume 3, Intel
// SDM volume 2 "PREFETCHW": a CPU without it treats the code as a no-operation.)
#pragma once

#include <cstdint>

namespace turnpike::isa {

inline void prefetch_to_write(const uint8_t* at) noexcept {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(*at));
#else
    __builtin_prefetch(at, 1);
#endif
}

}  // namespace turnpike::isa
