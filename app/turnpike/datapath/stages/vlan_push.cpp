// SPDX-License-Identifier: BSD-3-Clause
// Stage vlan_push: pushes VLAN tags (IEEE 802.1Q-2018 section 6.9.2) for VLAN interfaces and bridge members that send
// tagged, by the device where it can insert tags, else in software. A tag that is still in the frame is replaced
// or popped.
//   Reads   packet, out, domain, tagged, tag_in_frame, tag; interface.{kind, vlan}, member.tag_out, port.inserts_tags
//   Writes  the frame; single_segment_bytes does not hold behind it
#include <rte_mbuf.h>

#include "datapath/graph.hpp"
#include "datapath/take_tag.hpp"

namespace turnpike::datapath {
namespace {

constexpr uint16_t priority_mask = 0xf000;  ///< PCP and DEI

/// TPID and TCI of the packet's egress tag; 0: untagged.
uint32_t tag_of(const snapshot& v, const burst& b, uint32_t i) noexcept {
    const interface& out = v.interfaces[b.out[i].interface];
    if (out.kind == interface_kind::routed)
        return out.vlan == 0 ? 0 : uint32_t{packet::ether_type_vlan} << 16 | out.vlan;
    if (out.kind != interface_kind::bridged) return 0;
    const bridge_member& member = v.bridges->members[b.out[i].interface];
    if (member.tag_out == nullptr) return 0;
    const uint32_t tag = member.tag_out[b.domain[i] - member.first_domain];
    if (tag == 0 || (b.tagged >> i & 1) == 0) return tag;
    return tag | (b.tag[i] & priority_mask);
}

}  // namespace

stage_mask run_vlan_push(context& c, burst& b, packet_mask packets) noexcept {
    const snapshot& v = *c.snapshot;
    packet_mask drops = 0;
    for_each(packets, [&](uint32_t i) {
        const uint32_t tag = tag_of(v, b, i);
        rte_mbuf* const m = b.packet[i];
        if ((b.tag_in_frame >> i & 1) != 0) return tag != 0 ? change_tag(m, tag) : vlan_pop(m);
        if (tag == 0) return;
        if (v.port[b.out[i].port].inserts_tags && tag >> 16 == packet::ether_type_vlan) {
            m->vlan_tci = static_cast<uint16_t>(tag);
            m->ol_flags |= RTE_MBUF_F_TX_VLAN;
        } else if (!vlan_push(m, tag)) {
            drop_packet(b, i, drop_reason::vlan_no_headroom, drops);
        }
    });
    packet_mask tunnelled = 0;
    if (v.tunnels != nullptr) [[unlikely]]
        for_each(packets & ~drops,
                 [&](uint32_t i) { tunnelled |= packet_mask{b.out[i].port == tunnel_port} << i; });
    return move(b, tunnelled, stage::vxlan_output) |
           move(b, packets & ~drops & ~tunnelled, stage::tx) | move(b, drops, stage::drop);
}

}  // namespace turnpike::datapath
