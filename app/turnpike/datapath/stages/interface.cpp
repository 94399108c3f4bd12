// SPDX-License-Identifier: BSD-3-Clause
// Stage interface: which interface each frame came in by, from its port and VLAN; its kind says where
// it goes. On a second pass the interface is known: it is the one that the tunnel's end named.
//   Reads   packet, in_port; port.{untagged, by_vlan}; on a second pass in
//   Writes  in, in_all
#include <rte_mbuf.h>

#include "datapath/graph.hpp"
#include "packet/headers.hpp"

namespace turnpike::datapath {
namespace {

using packet::drop_reason;

/// The interface of a whole frame on a port that has VLANs (IEEE 802.1Q section 9.6: a tag with
/// identifier 0 is only a priority).
uint16_t interface_of(const port_view& port, const rte_mbuf* m) noexcept {
    constexpr uint16_t tagged_bytes = sizeof(packet::ethernet_header) + sizeof(packet::vlan_tag);
    const auto* frame = rte_pktmbuf_mtod(m, const uint8_t*);
    const uint16_t type = packet::view<packet::ethernet_header>(frame).type;
    if ((type != packet::ether_type_vlan && type != packet::ether_type_service) ||
        m->data_len < tagged_bytes)
        return port.untagged;
    const auto& tag = packet::view<packet::vlan_tag>(frame + sizeof(packet::ethernet_header));
    const uint16_t id = tag.tci & packet::vlan_id_mask;
    return id == 0 ? port.untagged : port.by_vlan[id];
}

}  // namespace

stage_mask run_interface(context& c, burst& b, packet_mask packets) noexcept {
    const port_view& port = c.view->port[b.in_port];
    packet_mask patched = 0, nowhere = 0;
    stage routed = stage::parse;
    const auto sort = [&](uint32_t i) {
        const packet_mask one = packet_mask{1} << i;
        const interface_kind kind = c.view->interfaces[b.in[i]].kind;
        if (kind == interface_kind::patched) patched |= one;
        if (kind == interface_kind::none) nowhere |= one;
    };
    if (b.pass == 1 && port.by_vlan == nullptr) [[likely]] {
        b.in_all = port.untagged;
        for (uint16_t& in : b.in) in = port.untagged;
        const interface& in = c.view->interfaces[port.untagged];
        patched = in.kind == interface_kind::patched ? packets : 0;
        nowhere = in.kind == interface_kind::none ? packets : 0;
        routed = stage::plain;
    } else if (b.pass == 1) {
        b.in_all = 0;
        for_each(packets, [&](uint32_t i) {
            b.in[i] = interface_of(port, b.packet[i]);
            sort(i);
        });
    } else {
        for_each(packets, sort);
    }
    for_each(nowhere, [&](uint32_t i) { b.drop[i] = drop_reason::no_interface; });
    return move(b, patched, stage::xconnect) | move(b, packets & ~patched & ~nowhere, routed) |
           move(b, nowhere, stage::drop);
}

}  // namespace turnpike::datapath
