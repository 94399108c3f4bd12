// SPDX-License-Identifier: BSD-3-Clause
// Operations on segmented mbufs.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>

namespace turnpike::datapath {

/// Move bytes from later segments into the first until it holds `bytes` of them.
/// Requires bytes <= pkt_len
/// Answers  false, with nothing changed, where the first segment has no room or is shared
bool pull_up(rte_mbuf* m, uint32_t bytes) noexcept;

/// Trim `bytes` from the end of the packet, over several segments if necessary.
void trim(rte_mbuf* m, uint32_t bytes) noexcept;

}  // namespace turnpike::datapath
