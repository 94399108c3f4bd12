// SPDX-License-Identifier: BSD-3-Clause
// The one's complement sum over several segments of an mbuf. (rte_raw_cksum_mbuf of DPDK 22.11 is wrong where a segment
// starts at an odd offset: it swaps a sum that is not folded.)
#pragma once

#include <rte_byteorder.h>
#include <rte_mbuf.h>

#include <algorithm>

#include "packet/checksum.hpp"

namespace turnpike::datapath {

/// Offload flags of a packet's headers; invalid once headers are added or removed in front.
inline constexpr uint64_t header_offload_flags =
    RTE_MBUF_F_RX_L4_CKSUM_MASK | RTE_MBUF_F_RX_OUTER_L4_CKSUM_MASK;

/// Folded, in memory byte order. Requires that all bytes are in the packet.
inline uint16_t sum_of(const rte_mbuf* m, uint32_t offset, uint32_t bytes) noexcept {
    packet::native_sum all;
    for (uint32_t done = 0; bytes != 0; m = m->next) {
        if (offset >= m->data_len) {
            offset -= m->data_len;
            continue;
        }
        const uint32_t here = std::min(bytes, m->data_len - offset);
        packet::native_sum part;
        part.add(rte_pktmbuf_mtod_offset(m, const uint8_t*, offset), here);
        all.add(uint64_t{done % 2 == 0 ? part.folded() : rte_bswap16(part.folded())});
        done += here;
        bytes -= here;
        offset = 0;
    }
    return all.folded();
}

}  // namespace turnpike::datapath
