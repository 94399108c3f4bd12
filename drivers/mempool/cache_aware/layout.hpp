// SPDX-License-Identifier: BSD-3-Clause
// Maps a pool's flags and memory to parameters of lib/cache's placement.
#pragma once

#include <rte_mempool.h>

#include <cstdint>

namespace turnpike::cache_aware {

/// False: the pool's flags require DPDK's own layout, objects side by side.
bool is_spread(const rte_mempool& mp) noexcept;

/// The page size of the memory at an address, EAL's or any other.
uint64_t page_at(const void* address) noexcept;

}  // namespace turnpike::cache_aware
