// SPDX-License-Identifier: BSD-3-Clause
// A DPDK mempool's objects as this room sees objects.
#pragma once

#include <rte_mempool.h>

#include <cstdint>
#include <vector>

#include "cache/placement.hpp"

namespace turnpike::cache {

/// Header, element and trailer without padding, and the lines that a packet buffer's users touch: the
/// mbuf's two and the first of the packet. Of other elements the first two lines count.
object_layout layout_of(const rte_mempool& mp);

/// Where the objects (their headers) start, in the order of addresses.
std::vector<uint64_t> addresses_of(rte_mempool& mp);

/// What no object may cross in memory with such pages; 0: anything.
/// page_bytes  0: DPDK says that pages do not matter (RTE_MEMPOOL_F_NO_IOVA_CONTIG)
/// With virtual I/O addresses a device sees no small pages. Huge ones are respected all the same, as
/// DPDK does: it costs next to nothing, and what passes physical addresses on relies on it.
uint64_t bound_of(uint64_t page_bytes) noexcept;

/// Memory an object takes, over objects side by side as bound_of() permits, less 1.
double overhead_of(rte_mempool& mp);

}  // namespace turnpike::cache
