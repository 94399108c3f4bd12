// SPDX-License-Identifier: BSD-3-Clause
// Stage iface_input: maps port and VLAN of each frame to its ingress interface, whose kind selects the next
// stage. On a further pass the interface is given: the tunnel's, or the bridge's routing interface. The outer
// tag is popped on VLAN-aware interfaces (IEEE 802.1Q-2018 section 6.9.1); where the bridge only reads it, it stays
// in the frame, and stage vlan_push replaces or pops it.
//   Reads   packet, in_port; port.{untagged, by_vlan, tag_type}; on a second pass in
//   Writes  in, common_iface, tagged, tag_in_frame, tag; the frame, and single_segment_bytes, where a tag is taken off
#include <rte_mbuf.h>

#include "datapath/graph.hpp"
#include "datapath/take_tag.hpp"

namespace turnpike::datapath {
namespace {

/// Sorts frames by the kind of their interface.
struct sorter {
    packet_mask patched = 0, bridged = 0, looked_into = 0, judged = 0, nowhere = 0;

    void add(const snapshot& v, uint16_t ifindex, packet_mask some) noexcept {
        switch (v.interfaces[ifindex].kind) {
            case interface_kind::routed:
                return;
            case interface_kind::patched:
                patched |= some;
                return;
            case interface_kind::bridged: {
                const bridge_member& member = v.bridges->members[ifindex];
                (member.judged_l2 ? judged : member.looked_into ? looked_into : bridged) |= some;
                return;
            }
            case interface_kind::none:
                nowhere |= some;
        }
    }
    stage_mask move_on(burst& b, packet_mask packets, stage routed) const noexcept {
        for_each(nowhere, [&](uint32_t i) { b.drop[i] = drop_reason::no_interface; });
        const packet_mask rest = packets & ~patched & ~bridged & ~looked_into & ~judged & ~nowhere;
        return move(b, patched, stage::xconnect) | move(b, rest, routed) |
               move(b, bridged, stage::bridge) | move(b, looked_into, stage::ip_input) |
               move(b, judged, stage::acl_l2) | move(b, nowhere, stage::drop);
    }
};

/// The interface of a frame on a port with VLANs. Its tag is recorded, or popped, where the
/// interface is VLAN-aware. VID 0 is a priority tag (section 9.6); 4095 is reserved, and a later
/// stage drops it with a reason.
uint16_t classify(const snapshot& v, const port_snapshot& port, burst& b, uint32_t i) noexcept {
    rte_mbuf* const m = b.packet[i];
    const found_tag found = find_tag(m, port.tag_type);
    if (found.is == found_tag::none) return port.untagged;
    const uint16_t id = found.tci & packet::vlan_id_mask;
    const uint16_t ifindex = id == 0 ? port.untagged : port.by_vlan[id];
    const interface& in = v.interfaces[ifindex];
    // A priority tag that the device stripped is treated as one that stage ip_input pops.
    if (in.tags == interface::unknown && (found.is != found_tag::by_device || id != 0))
        return ifindex;
    const packet_mask one = packet_mask{1} << i;
    b.tagged |= one;
    b.tag[i] = found.tci;
    if (found.is != found_tag::in_frame) {
        // The tag is the burst's now. A receiver on the other side of a ring would take the flag for a tag of its own.
        m->ol_flags &= ~(RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED);
        return ifindex;
    }
    if (in.tags == interface::known)
        b.tag_in_frame |= one;
    else
        vlan_pop(b, i);
    return ifindex;
}

/// Requires  packets is not empty
bool of_one_interface(const burst& b, packet_mask packets) noexcept {
    const uint16_t first = b.in[static_cast<size_t>(std::countr_zero(packets))];
    bool one = true;
    for_each(packets, [&](uint32_t i) { one &= b.in[i] == first; });
    return one;
}

/// Frames without an interface; the others of the burst stay on the common path.
__attribute__((noinline)) packet_mask of_no_interface(const snapshot& v, const burst& b,
                                                      packet_mask packets) noexcept {
    packet_mask none = 0;
    for_each(packets, [&](uint32_t i) {
        const bool nowhere = v.interfaces[b.in[i]].kind == interface_kind::none;
        none |= packet_mask{nowhere} << i;
    });
    return none;
}

/// For a burst whose remaining packets all have one ingress interface.
inline __attribute__((always_inline)) stage_mask go_one_way(const snapshot& v, burst& b,
                                                            packet_mask packets,
                                                            uint16_t ifindex) noexcept {
    b.common_iface = ifindex;
    sorter sorted;
    sorted.add(v, ifindex, packets);
    // With an ingress ACL, stage ip_input and acl_in come first, and stage vxlan_input finds the tunnels.
    return sorted.move_on(b, packets,
                          v.interfaces[ifindex].ends_tunnels ? stage::vxlan_fast : stage::ip_fast);
}

}  // namespace

stage_mask run_iface_input(context& c, burst& b, packet_mask packets) noexcept {
    const snapshot& v = *c.snapshot;
    const port_snapshot& port = v.port[b.in_port];
    if (b.pass == 1 && port.by_vlan == nullptr) [[likely]] {
        for (uint16_t& in : b.in) in = port.untagged;
        return go_one_way(v, b, packets, port.untagged);
    }
    if (b.pass == 1) for_each(packets, [&](uint32_t i) { b.in[i] = classify(v, port, b, i); });
    // Packets that rx dropped are not in the mask; on a further pass the rest of the burst has
    // left.
    const bool all_here = b.pass == 1 || packets == all_of(b.count);
    if (all_here && of_one_interface(b, packets))
        return go_one_way(v, b, packets, b.in[static_cast<size_t>(std::countr_zero(packets))]);
    const packet_mask nowhere = of_no_interface(v, b, packets), rest = packets & ~nowhere;
    if (all_here && nowhere != 0 && rest != 0 && of_one_interface(b, rest)) {
        for_each(nowhere, [&](uint32_t i) { b.drop[i] = drop_reason::no_interface; });
        return move(b, nowhere, stage::drop) |
               go_one_way(v, b, rest, b.in[static_cast<size_t>(std::countr_zero(rest))]);
    }
    b.common_iface = 0;
    sorter sorted;
    for_each(packets, [&](uint32_t i) { sorted.add(v, b.in[i], packet_mask{1} << i); });
    return sorted.move_on(b, packets, stage::ip_input);
}

}  // namespace turnpike::datapath
