// SPDX-License-Identifier: BSD-3-Clause
// Stage punt: polices punted packets by ingress interface and class, and enqueues them for control, with their
// metadata, on the punt ring of their class.
//   Reads   packet, parsed, in, hop, out, punt, drop; snapshot.punt
//   Writes  the mbuf's private area (burst.hpp, punted)
#include <rte_ring.h>

#include "datapath/capture.hpp"
#include "datapath/graph.hpp"
#include "datapath/latency.hpp"
#include "datapath/sampler.hpp"
#include "datapath/vlan_tag.hpp"

namespace turnpike::datapath {
namespace {

rte_ring* ring_of(const context& c, punt_class of) noexcept {
    switch (of) {
        case punt_class::routing:
            return c.routing_to_control;
        case punt_class::sessions:
            return c.sessions_to_control;
        case punt_class::replies:
        case punt_class::neighbours:
            return c.neighbours_to_control;
        case punt_class::local:
        case punt_class::icmp_error:
        case punt_class::too_big:
        case punt_class::resolve:
        case punt_class::other:
        case punt_class::count_:
            return c.to_control;
    }
    return c.to_control;
}

}  // namespace

stage_mask run_punt(context& c, burst& b, packet_mask packets) noexcept {
    if (c.latency != nullptr) [[unlikely]]
        c.latency->forget(b, packets);
    packet_mask drops = 0;
    for_each(packets, [&](uint32_t i) {
        const punt_reason why = b.punt[i];
        const bool sends_icmp = why == punt_reason::icmp_error || why == punt_reason::too_big;
        // A dropped packet keeps its drop reason; its source gets no ICMP error.
        const auto refuse = [&](drop_reason reason) {
            drop_packet(b, i, sends_icmp ? b.drop[i] : reason, drops);
        };
        const punt_class of = punt_class_of(b, i);
        punt_policer::row& policer = c.policing->of(b.in[i], of);
        if (!c.policing->bucket(b.in[i], b.in_port, of)
                 .allow(c.snapshot->punt[static_cast<size_t>(of)], c.now)) {
            policer.dropped.add(1);
            return refuse(drop_reason::punt_rate);
        }
        const bool has_mtu =
            why == punt_reason::resolve ||
            (why == punt_reason::icmp_error &&
             (b.drop[i] == drop_reason::ipv4_too_big || b.drop[i] == drop_reason::ipv6_too_big));
        rte_mbuf* m = b.packet[i];
        punted_of(m) = {.parsed = b.parsed[i],
                        .nexthop = b.nexthop[i],
                        .tag = removed_tag(*c.snapshot, b, i),
                        .in_interface = b.in[i],
                        .in_port = b.in_port,
                        .out = b.out[i],
                        .domain = why == punt_reason::neigh_suppress ? b.domain[i] : uint16_t{0},
                        .mtu = has_mtu ? b.mtu[i] : uint16_t{0},
                        .copy = b.copies,
                        .why = why,
                        .drop = sends_icmp ? b.drop[i] : drop_reason::none,
                        .of = of};
        if (c.captured != nullptr) [[unlikely]]
            copy_punted(c, b, i);
        if (rte_ring_sp_enqueue(ring_of(c, of), m) != 0) return refuse(drop_reason::punt_ring_full);
        policer.punted.add(1);
    });
    if (c.awaiting != nullptr) [[unlikely]]
        c.awaiting->end_punted(b, packets & ~drops);
    return enqueue(b, drops, stage::drop);
}

}  // namespace turnpike::datapath
