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

/// Memory an object takes, over objects side by side in the same pages, less 1.
double overhead_of(rte_mempool& mp);

}  // namespace turnpike::cache
