// SPDX-License-Identifier: BSD-3-Clause
// Stage rx: what rx_burst returned is counted; what is no frame goes no further.
//   Reads   packet, count, in_port
//   Writes  the port's counters
#include <rte_mbuf.h>

#include <algorithm>

#include "datapath/graph.hpp"
#include "packet/headers.hpp"

namespace turnpike::datapath {

stage_mask run_rx(context& c, burst& b, packet_mask packets) noexcept {
    uint64_t bytes = 0;
    uint32_t shortest = UINT32_MAX;
    for_each(packets, [&](uint32_t i) {
        bytes += b.packet[i]->pkt_len;
        shortest = std::min(shortest, b.packet[i]->pkt_len);
    });
    cost::port_counters& counted = c.counters[b.in_port];
    counted.rx_packets.add(b.count);
    counted.rx_bytes.add(bytes);
    counted.rx_bursts.add(1);
    if (c.sampled) [[unlikely]]
        for_each(packets, [&](uint32_t i) { counted.rx_sizes.add(b.packet[i]->pkt_len); });
    packet_mask runts = 0;
    if (shortest < sizeof(packet::ethernet_header)) [[unlikely]]
        for_each(packets, [&](uint32_t i) {
            if (b.packet[i]->pkt_len < sizeof(packet::ethernet_header))
                drop_packet(b, i, packet::drop_reason::runt, runts);
        });
    return move(b, packets & ~runts, stage::interface) | move(b, runts, stage::drop);
}

}  // namespace turnpike::datapath
