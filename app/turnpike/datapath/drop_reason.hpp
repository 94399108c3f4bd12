// SPDX-License-Identifier: BSD-3-Clause
// Drop reasons of the datapath. The list continues that of lib/packet, whose numbers it keeps. Every packet that is freed
// instead of sent is counted under exactly one of them. The report prints the names under `drops`; graph.hpp lists
// the stage or handler that owns each reason.
#pragma once

#include "packet/drop_reason.hpp"

// clang-format off
#define TURNPIKE_DATAPATH_DROP_REASONS(X) \
    /* Ethernet */ \
    X(ether_not_contiguous, "Ethernet header spans several mbufs and cannot be linearized") \
    X(no_interface, "no interface matches the frame's port and VLAN tag") \
    X(too_many_passes, "passed through more than the maximum of tunnels and routed bridges") \
    /* IPv4 */ \
    X(ipv4_source_routed, "source route option on an interface that rejects it (RFC 7126)") \
    /* Neighbour discovery */ \
    X(nd_not_contiguous, "message spans several mbufs and cannot be linearized") \
    /* Routing */ \
    X(dst_mac_not_ours, "unicast destination MAC address is not ours") \
    X(l2_multicast, "unicast IP packet in a broadcast or multicast frame") \
    X(vlan_on_routed_port, "VLAN-tagged, and the port has no sub-interfaces") \
    X(urpf, "reverse path check (uRPF) failed") \
    X(no_route, "no route to the destination") \
    X(route_blackhole, "the route is a blackhole") \
    X(route_unreachable, "the route is unreachable") \
    X(bogon_destination, "destination address is not forwarded (RFC 6890)") \
    X(route_prohibited, "the route is prohibit") \
    X(directed_broadcast, "to the broadcast or network address of a connected network") \
    X(ipv4_too_big, "exceeds the egress MTU, don't-fragment set") \
    X(ipv4_needs_fragmenting, "exceeds the egress MTU and needs more than 120 fragments") \
    X(fragment_memory, "no free mbuf for a fragment") \
    X(ipv6_too_big, "exceeds the egress MTU") \
    X(headers_not_contiguous, "headers span several mbufs and cannot be linearized") \
    X(link_local, "destination is an IPv6 link-local address") \
    X(link_local_source, "source is an IPv6 link-local address") \
    X(neighbour_failed, "next hop does not answer ARP or neighbour solicitations") \
    X(neighbour_queue_full, "the next hop's queue of pending packets is full") \
    X(neighbour_limit, "the neighbour table is full") \
    X(pending_limit, "limit of pending packets of all neighbours; the oldest one is dropped") \
    X(neighbour_rate, "ARP or neighbour discovery over the interface's rate limit") \
    X(resolve_rate, "unknown neighbour, and solicitations are over their interface's rate") \
    X(acl_deny, "denied by the ingress ACL") \
    X(acl_deny_out, "denied by the egress ACL") \
    X(acl_l2_deny, "denied by the ingress L2 ACL") \
    X(acl_l2_deny_out, "denied by the egress L2 ACL") \
    /* Bridging */ \
    X(bridge_vlan, "the bridge port is not a member of the frame's VLAN") \
    X(bridge_source_own, "source MAC address is the bridge's own routed interface") \
    X(bridge_locked, "source MAC address is not in the FDB of a locked port") \
    X(bridge_moving, "source MAC address moves too often and is dampened on another port") \
    X(bridge_same_port, "the destination MAC address is on the ingress port") \
    X(bridge_isolated, "between two ports of one isolation group") \
    X(bridge_too_big, "longer than the MTU of the bridge's ports allows") \
    X(bridge_reserved, "reserved group address that bridges do not forward (01-80-c2-00-00-0x)") \
    X(bridge_storm_broadcast, "broadcast over the port's storm control rate") \
    X(bridge_storm_multicast, "multicast over the port's storm control rate") \
    X(bridge_storm_unknown, "unknown unicast over the port's storm control rate") \
    X(flood_no_member, "flooded, and the bridge domain has no other port with link up") \
    X(flood_memory, "no free mbuf for a flooded copy") \
    X(vlan_no_headroom, "no headroom for a VLAN tag") \
    /* Tunnels */ \
    X(vxlan_truncated, "truncated inside the UDP or VXLAN header, or UDP length exceeds the packet") \
    X(vxlan_checksum, "UDP checksum is wrong, or 0 where the tunnel requires one") \
    X(vxlan_flags, "the I flag (valid VNI) is not set") \
    X(vxlan_reserved, "reserved bits are set: an extension that the tunnel does not support") \
    X(vxlan_unknown_vni, "no tunnel with the packet's VNI") \
    X(vxlan_unknown_vtep, "the VNI has no tunnel to the packet's source address") \
    X(vxlan_inner_runt, "inner frame is shorter than an Ethernet header") \
    X(ecn_decap, "outer ECN is CE and the inner packet is not ECN-capable (RFC 6040)") \
    X(tunnel_too_big, "exceeds the tunnel's MTU") \
    X(tunnel_no_headroom, "no headroom for the tunnel headers") \
    X(tunnel_to_self, "the tunnel's remote endpoint is a local address") \
    X(clone_depth, "nested floods: a flood into a tunnel inside a flood") \
    /* For us */ \
    X(local_protocol, "for us, and no local service for its protocol or port") \
    X(local_fragment, "fragment for us: turnpike does not reassemble") \
    X(duplicate_address, "to a local address that failed duplicate address detection") \
    X(icmp_rate, "echo request over the ICMP rate limit") \
    X(host_if_rate, "for the kernel, over the interface's punt rate limit") \
    X(host_if_refused, "for the kernel, and its interface there is down") \
    X(punt_rate, "for the control thread, over the rate of its class on its interface") \
    X(punt_ring_full, "punt ring to the control thread is full") \
    X(inject_ring_full, "inject ring from the control thread to the worker is full") \
    X(originated_no_route, "originated by turnpike, and no route to its destination") \
    X(originated_too_big, "originated by turnpike, exceeds the egress MTU and must not be fragmented") \
    X(interface_gone, "interface was removed while the control thread had the packet") \
    X(control_memory, "control thread had no memory for the packet") \
    /* Sending */ \
    X(port_down, "egress port has no link") \
    X(stopping, "in the receive ring when turnpike stopped")
// clang-format on

namespace turnpike::datapath {

/// The first value, none, is not a drop.
enum class drop_reason : uint8_t {
    none,
#define TURNPIKE_DROP_REASON(name, meaning) name,
    TURNPIKE_PACKET_DROP_REASONS(TURNPIKE_DROP_REASON)
        TURNPIKE_DATAPATH_DROP_REASONS(TURNPIKE_DROP_REASON)
#undef TURNPIKE_DROP_REASON
            count_  ///< number of values
};

/// The datapath's value for a drop reason of lib/packet.
constexpr drop_reason drop_reason_of(packet::drop_reason reason) noexcept {
    return static_cast<drop_reason>(reason);
}
static_assert(drop_reason_of(packet::drop_reason::tx_refused) == drop_reason::tx_refused);

inline constexpr packet::drop_text drop_texts[] = {
    {"none", "not dropped"},
#define TURNPIKE_DROP_REASON(name, meaning) {#name, meaning},
    TURNPIKE_PACKET_DROP_REASONS(TURNPIKE_DROP_REASON)
        TURNPIKE_DATAPATH_DROP_REASONS(TURNPIKE_DROP_REASON)
#undef TURNPIKE_DROP_REASON
};
inline constexpr size_t drop_reasons = static_cast<size_t>(drop_reason::count_);
static_assert(std::size(drop_texts) == drop_reasons);
static_assert(drop_reasons <= packet::max_drop_reasons);

constexpr std::string_view name(drop_reason reason) noexcept {
    return drop_texts[static_cast<size_t>(reason)].name;
}

}  // namespace turnpike::datapath
