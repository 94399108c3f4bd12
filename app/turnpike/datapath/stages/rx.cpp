// SPDX-License-Identifier: BSD-3-Clause
// Stage rx: what rx_burst returned is counted.
//   Reads   packet, count, in_port
//   Writes  the port's counters
#include <rte_mbuf.h>

#include "datapath/graph.hpp"

namespace turnpike::datapath {

stage_mask run_rx(context& c, burst& b, packet_mask packets) noexcept {
    uint64_t bytes = 0;
    for_each(packets, [&](uint32_t i) { bytes += b.packet[i]->pkt_len; });
    cost::port_counters& counted = c.counters[b.in_port];
    counted.rx_packets.add(b.count);
    counted.rx_bytes.add(bytes);
    counted.rx_bursts.add(1);
    if (c.sampled) [[unlikely]]
        for_each(packets, [&](uint32_t i) { counted.rx_sizes.add(b.packet[i]->pkt_len); });
    return move(b, packets, stage::interface);
}

}  // namespace turnpike::datapath
