// SPDX-License-Identifier: BSD-3-Clause
// Stage urpf: on interfaces with uRPF, drops packets whose source address has no route back (RFC 3704): by any
// interface (loose), or by the ingress interface (strict). Applies to packets to the router, too, but not to packets
// punted before a lookup (ARP, ND, link-scope multicast): their sources need no route.
//   Reads   packet, in, parsed, punted, vxlan_to_us; interface.urpf_strict, snapshot.{vrf, hops}
//   Writes  drop
#include "datapath/reverse_path.hpp"
#include "datapath/stages/look_up.hpp"
#include "packet/ipv6.hpp"

namespace turnpike::datapath {

stage_mask run_urpf(context& c, burst& b, packet_mask packets) noexcept {
    const snapshot& v = *c.snapshot;
    packet_mask drops = 0;
    const auto is_on_link = [&](uint32_t i) noexcept {
        const packet::parsed& p = b.parsed[i];
        if (p.is_ipv4()) return false;
        const auto* ip =
            rte_pktmbuf_mtod_offset(b.packet[i], const packet::ipv6_header*, p.l2_bytes);
        return packet::is_link_local(ip->source);
    };
    look_up(
        v, b, packets,
        [&](uint32_t i, bool& v4) noexcept {
            return address_at(b, i, b.parsed[i].source_offset(), v4);
        },
        [&](uint32_t i, uint32_t nexthop) noexcept {
            if (!leads_back(v, nexthop, v.interfaces[b.in[i]]) && !is_on_link(i))
                drop_packet(b, i, drop_reason::urpf, drops);
        });
    return go_on_input(v, b, packets & ~drops, stage::urpf) | enqueue(b, drops, stage::drop);
}

}  // namespace turnpike::datapath
