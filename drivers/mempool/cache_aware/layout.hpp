// SPDX-License-Identifier: BSD-3-Clause
// What a pool's flags and memory ask of lib/cache's placement.
#pragma once

#include <rte_mempool.h>

#include <cstdint>

namespace turnpike::cache_aware {

/// False: the pool's flags ask for objects side by side, as DPDK's own functions lay them.
bool is_spread(const rte_mempool& mp) noexcept;

/// What no object may cross in memory with such pages; 0: anything.
/// page_bytes  0: DPDK says that pages do not matter (RTE_MEMPOOL_F_NO_IOVA_CONTIG)
/// With virtual I/O addresses a device sees no small pages. Huge ones are respected all the same, as
/// DPDK does: it costs next to nothing, and what passes physical addresses on relies on it.
uint64_t bound_of(uint64_t page_bytes) noexcept;

/// The page size of the memory at an address, EAL's or any other.
uint64_t page_at(const void* address) noexcept;

}  // namespace turnpike::cache_aware
