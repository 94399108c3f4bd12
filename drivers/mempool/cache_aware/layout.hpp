// SPDX-License-Identifier: BSD-3-Clause
// Where a mempool's objects lie: lib/cache's placement for what the pool is for and lies in.
#pragma once

#include <rte_mempool.h>

#include "cache/placement.hpp"

namespace turnpike::cache_aware {

/// False: the pool's flags ask for objects side by side, as DPDK's own functions lay them.
bool is_spread(const rte_mempool& mp) noexcept;

/// Header, element and trailer without padding, and the lines that a packet buffer's users touch: the
/// mbuf's two and the first of the packet. Of other elements the first two lines count.
cache::object_layout layout_of(const rte_mempool& mp);

/// What no object may cross in memory with such pages; 0: anything.
/// page_bytes  0: DPDK says that pages do not matter (RTE_MEMPOOL_F_NO_IOVA_CONTIG)
/// With virtual I/O addresses a device sees no small pages. Huge ones are respected all the same, as
/// DPDK does: it costs next to nothing, and what passes physical addresses on relies on it.
uint64_t bound_of(uint64_t page_bytes) noexcept;

/// The page size of the memory at an address, EAL's or any other.
uint64_t page_at(const void* address) noexcept;

}  // namespace turnpike::cache_aware
