// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace turnpike {

/// Alignment of words that different threads write: the longest cache line of the architecture's CPUs
/// (DPDK's RTE_CACHE_LINE_SIZE, of a generic build).
#if defined(__aarch64__)
inline constexpr size_t cache_line_bytes = 128;
#else
inline constexpr size_t cache_line_bytes = 64;
#endif

}  // namespace turnpike
