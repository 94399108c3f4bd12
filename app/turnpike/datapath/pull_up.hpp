// SPDX-License-Identifier: BSD-3-Clause
// Headers that lie in several segments of an mbuf, made contiguous.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>

namespace turnpike::datapath {

/// Move bytes from the later segments into the first until it holds `bytes` of them.
/// Requires bytes <= pkt_len
/// Answers  false, and has changed nothing, where the first segment has no room or is shared
bool pull_up(rte_mbuf* m, uint32_t bytes) noexcept;

/// Cut `bytes` off the end of the packet, over as many segments as that takes.
void cut_tail(rte_mbuf* m, uint32_t bytes) noexcept;

}  // namespace turnpike::datapath
