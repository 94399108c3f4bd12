// SPDX-License-Identifier: BSD-3-Clause
// Stage punt: enqueues packets for control, with their metadata, on the worker's punt rings.
//   Reads   packet, parsed, in, hop, out, punt, drop
//   Writes  the mbuf's private area (burst.hpp, punted)
#include <rte_ring.h>

#include "datapath/graph.hpp"

namespace turnpike::datapath {

stage_mask run_punt(context& c, burst& b, packet_mask packets) noexcept {
    packet_mask drops = 0;
    for_each(packets, [&](uint32_t i) {
        rte_mbuf* m = b.packet[i];
        const punt_reason why = b.punt[i];
        const bool told = why == punt_reason::icmp_error || why == punt_reason::too_big;
        punted_of(m) = {.parsed = b.parsed[i],
                        .hop = b.hop[i],
                        .in_interface = b.in[i],
                        .in_port = b.in_port,
                        .out = b.out[i],
                        .domain = why == punt_reason::neigh_suppress ? b.domain[i] : uint16_t{0},
                        .why = why,
                        .drop = told ? b.drop[i] : drop_reason::none};
        const bool neighbourly = why == punt_reason::arp || why == punt_reason::nd;
        if (rte_ring_sp_enqueue(neighbourly ? c.neighbours_to_control : c.to_control, m) == 0)
            return;
        // The ring is full: a dropped packet keeps its drop reason; its source gets no ICMP error.
        drop_packet(b, i, told ? b.drop[i] : drop_reason::punt_ring_full, drops);
    });
    return move(b, drops, stage::drop);
}

}  // namespace turnpike::datapath
