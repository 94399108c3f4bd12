// SPDX-License-Identifier: BSD-3-Clause
// Stage drop: counts packets under their drop reason and frees them.
//   Reads   packet, drop, in_port
#include <rte_mbuf.h>

#include "datapath/graph.hpp"
#include "datapath/latency.hpp"
#include "datapath/sampler.hpp"

namespace turnpike::datapath {

stage_mask run_drop(context& c, burst& b, packet_mask packets) noexcept {
    if (c.snapshot != nullptr && c.snapshot->sampling != nullptr) [[unlikely]]
        c.snapshot->sampling->of_producer[producer_of(c.worker)]->sample_dropped(*c.snapshot, b,
                                                                                 packets, c.now);
    if (c.awaiting != nullptr) [[unlikely]]
        c.awaiting->end_dropped(b, packets);
    if (c.latency != nullptr) [[unlikely]]
        c.latency->forget(b, packets);
    for_each(packets, [&](uint32_t i) {
        c.counters[b.in_port].drop(b.drop[i], b.packet[i]->pkt_len);
        rte_pktmbuf_free(b.packet[i]);
    });
    return 0;
}

}  // namespace turnpike::datapath
