// SPDX-License-Identifier: BSD-3-Clause
// Output: packets of a bridge's routing interface enter the bridge, others may get a VLAN tag.
#include "datapath/graph.hpp"
#include "datapath/take_tag.hpp"

namespace turnpike::datapath {

stage_mask iface_output(const snapshot& v, burst& b, packet_mask packets) noexcept {
    if (!v.bridge_routing) return enqueue(b, packets, v.puts_tags ? stage::vlan_push : stage::tx);
    packet_mask bridged = 0;
    for_each(packets, [&](uint32_t i) {
        const uint16_t by = b.out[i].interface;
        if (v.interfaces[by].bridge == 0) return;
        b.in[i] = by;
        bridged |= packet_mask{1} << i;
    });
    if (bridged == 0) return enqueue(b, packets, v.puts_tags ? stage::vlan_push : stage::tx);
    // Both kinds of packets: bridged ones have several domains and no tag.
    b.common_iface = 0;
    b.from_irb |= bridged;
    b.tagged &= ~bridged;
    const packet_mask rest = packets & ~bridged;
    return enqueue(b, bridged, stage::bridge) |
           enqueue(b, rest, v.puts_tags ? stage::vlan_push : stage::tx);
}

stage_mask l2_output(const snapshot& v, burst& b, packet_mask packets) noexcept {
    if (v.puts_tags) return enqueue(b, packets, stage::vlan_push);
    if (v.tunnels == nullptr) [[likely]]
        return enqueue(b, packets, stage::tx);
    packet_mask to_tunnels = 0;
    for_each(packets,
             [&](uint32_t i) { to_tunnels |= packet_mask{b.out[i].port == tunnel_port} << i; });
    return enqueue(b, to_tunnels, stage::vxlan_output) |
           enqueue(b, packets & ~to_tunnels, stage::tx);
}

packet_mask compact(burst& b, packet_mask packets) noexcept {
    packet_mask tagged = 0, outer = 0;
    uint32_t k = 0;
    b.bytes = 0;
    for_each(packets, [&](uint32_t i) {
        if ((b.tag_in_frame >> i & 1) != 0) vlan_pop(b, i);
        b.packet[k] = b.packet[i];
        b.bytes += b.packet[i]->pkt_len;
        b.single_segment_bytes[k] = b.single_segment_bytes[i];
        b.in[k] = b.in[i];
        b.tag[k] = b.tag[i];
        tagged |= (b.tagged >> i & 1) << k;
        if ((b.outer >> i & 1) != 0) {
            b.parsed[k] = b.parsed[i];
            outer |= packet_mask{1} << k;
        }
        ++k;
    });
    b.count = k;
    b.tagged = tagged;
    b.outer = outer;
    b.tag_in_frame = b.punted = b.from_irb = b.exceeds_mtu = 0;
    return all_of(k);
}

}  // namespace turnpike::datapath
