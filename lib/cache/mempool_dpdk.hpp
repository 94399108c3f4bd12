// SPDX-License-Identifier: BSD-3-Clause
// Object layout of a DPDK mempool.
#pragma once

#include <rte_mempool.h>

#include <cstdint>
#include <filesystem>
#include <vector>

#include "cache/placement.hpp"

namespace turnpike::cache {

/// Header, element and trailer without padding, and the hot lines: of a packet buffer the mbuf's
/// two and the first of the packet, of other elements the first two.
object_layout layout_of(const rte_mempool& mp);

/// Start addresses of the objects (their headers), in ascending order.
std::vector<uint64_t> addresses_of(rte_mempool& mp);

/// The caches of an lcore's CPU, of its first one if it may run on several; typical ones if they are unknown.
[[nodiscard]] geometry caches_of_lcore(unsigned lcore, const std::filesystem::path& sysfs = "/sys");

/// Boundary that no object may cross in memory with such pages; 0: none.
///
/// page_bytes  0: pages do not matter to DPDK (RTE_MEMPOOL_F_NO_IOVA_CONTIG)
///
/// With virtual I/O addresses a device does not depend on small pages. Huge pages are respected
/// anyway, as in DPDK: it costs next to nothing, and users of physical addresses rely on it.
uint64_t bound_of(uint64_t page_bytes) noexcept;

/// Mean distance of neighbouring objects in bytes; objects of separate stretches of memory are no neighbours. 0: no two are.
double distance_of(rte_mempool& mp);

/// Memory per object, by the same distances, relative to adjacent objects within bound_of()'s limits, less 1.
double overhead_of(rte_mempool& mp);

}  // namespace turnpike::cache
