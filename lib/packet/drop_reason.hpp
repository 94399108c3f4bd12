// SPDX-License-Identifier: BSD-3-Clause
// Drop reasons. Every packet that is freed instead of sent is counted under exactly one of them.
// The report prints the names under `drops`. app/turnpike/datapath/graph.hpp lists the stage or
// handler that owns each reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

// clang-format off: a reason is a line
#define TURNPIKE_DROP_REASONS(X)                                                                 \
    /* Ethernet */                                                                               \
    X(runt, "shorter than an Ethernet header")                                                   \
    X(no_interface, "no interface matches the frame's port and VLAN tag")                        \
    X(too_many_passes, "passed through more than the maximum of tunnels and routed bridges")     \
    X(ether_source_group, "source MAC address is multicast or broadcast")                        \
    X(ether_type_unknown, "Ethertype is neither IPv4, IPv6 nor ARP")                             \
    /* VLAN */                                                                                   \
    X(vlan_truncated, "truncated inside a VLAN tag")                                             \
    X(vlan_id_reserved, "VLAN ID is 4095 (reserved)")                                            \
    X(vlan_depth, "more VLAN tags than max_vlan_tags")                                           \
    /* ARP */                                                                                    \
    X(arp_truncated, "truncated ARP message")                                                    \
    X(arp_format, "ARP message is not for IPv4 over Ethernet")                                   \
    X(arp_operation, "ARP operation is neither request nor reply")                               \
    X(arp_sender_mac, "ARP sender MAC address is a group address or zero")                       \
    X(arp_sender_ip, "ARP sender IP address is not a valid host address")                        \
    X(arp_sender_is_us, "ARP sender IP address is our own: an address conflict (RFC 5227)")      \
    /* IPv4 */                                                                                   \
    X(ipv4_truncated, "truncated inside the header or before the total length")                  \
    X(ipv4_version, "IP version is not 4")                                                       \
    X(ipv4_header_length, "IHL is less than 5")                                                  \
    X(ipv4_total_length, "total length is less than the header length")                          \
    X(ipv4_fragment_beyond_end, "fragment extends beyond 65,535 bytes")                          \
    X(ipv4_checksum, "header checksum is wrong")                                                 \
    X(ipv4_ttl, "TTL expired")                                                                   \
    X(ipv4_source, "invalid source address (martian)")                                           \
    X(ipv4_destination, "invalid destination address (martian)")                                 \
    X(ipv4_source_routed, "source route option on an interface that rejects it (RFC 7126)")      \
    X(ipv4_source_is_destination, "source and destination address are equal")                    \
    /* IPv6 */                                                                                   \
    X(ipv6_truncated, "truncated inside the header or before the payload length")                \
    X(ipv6_version, "IP version is not 6")                                                       \
    X(ipv6_jumbogram, "jumbogram: payload length 0 with a hop-by-hop header")                    \
    X(ipv6_chain_truncated, "truncated inside an extension header")                              \
    X(ipv6_chain_long, "extension header chain exceeds max_header_bytes")                        \
    X(ipv6_hop_by_hop_late, "hop-by-hop header is not the first extension header")               \
    X(ipv6_routing_type_0, "routing header with segments left")                                  \
    X(ipv6_fragment_twice, "more than one fragment header")                                      \
    X(ipv6_hop_limit, "hop limit expired")                                                       \
    X(ipv6_source, "invalid source address (martian)")                                           \
    X(ipv6_destination, "invalid destination address (martian)")                                 \
    X(ipv6_source_is_destination, "source and destination address are equal")                    \
    /* ICMP */                                                                                   \
    X(icmp_truncated, "truncated ICMP message")                                                  \
    X(icmp_checksum, "ICMP checksum is wrong")                                                   \
    /* Neighbour discovery */                                                                    \
    X(nd_type, "not a neighbour discovery message")                                              \
    X(nd_fragment, "fragmented neighbour discovery message (RFC 6980)")                          \
    X(nd_hop_limit, "hop limit is not 255: the sender is not on this link")                      \
    X(nd_code, "ICMP code is not 0")                                                             \
    X(nd_option_empty, "an option has length 0")                                                 \
    X(nd_option_truncated, "an option extends beyond the message")                               \
    X(nd_option_source, "source link-layer address option with the unspecified source address")  \
    X(nd_source, "source address is not valid for the message type")                             \
    X(nd_destination, "destination address is not valid for the message type")                   \
    X(nd_target, "target address is multicast or not a valid next hop")                          \
    X(nd_solicited, "multicast neighbour advertisement with the solicited flag")                 \
    X(nd_link_address, "link-layer address is a group address, zero or of the wrong size")       \
    X(nd_not_contiguous, "message spans several mbufs and cannot be linearized")                 \
    /* Routing */                                                                                \
    X(dst_mac_not_ours, "unicast destination MAC address is not ours")                           \
    X(l2_multicast, "unicast IP packet in a broadcast or multicast frame")                       \
    X(vlan_on_routed_port, "VLAN-tagged, and the port has no sub-interfaces")                    \
    X(urpf, "reverse path check (uRPF) failed")                                                  \
    X(no_route, "no route to the destination")                                                   \
    X(route_blackhole, "the route is a blackhole")                                               \
    X(route_unreachable, "the route is unreachable")                                             \
    X(bogon_destination, "destination address is not forwarded (RFC 6890)")                      \
    X(route_prohibited, "the route is prohibit")                                                 \
    X(directed_broadcast, "to the broadcast or network address of a connected network")          \
    X(ipv4_too_big, "exceeds the egress MTU, don't-fragment set")                                \
    X(ipv4_needs_fragmenting, "exceeds the egress MTU and needs more than 120 fragments")        \
    X(fragment_memory, "no free mbuf for a fragment")                                            \
    X(ipv6_too_big, "exceeds the egress MTU")                                                    \
    X(headers_not_contiguous, "headers span several mbufs and cannot be linearized")             \
    X(link_local, "destination is an IPv6 link-local address")                                   \
    X(link_local_source, "source is an IPv6 link-local address")                                 \
    X(neighbour_failed, "next hop does not answer ARP or neighbour solicitations")               \
    X(neighbour_queue_full, "the next hop's queue of pending packets is full")                   \
    X(neighbour_limit, "the neighbour table is full")                                            \
    X(pending_limit, "limit of pending packets of all neighbours; the oldest one is dropped")    \
    X(neighbour_rate, "ARP or neighbour discovery over the interface's rate limit")              \
    X(acl_deny, "denied by the ingress ACL")                                                     \
    X(acl_deny_out, "denied by the egress ACL")                                                  \
    X(acl_l2_deny, "denied by the ingress L2 ACL")                                               \
    X(acl_l2_deny_out, "denied by the egress L2 ACL")                                            \
    /* Bridging */                                                                               \
    X(bridge_vlan, "the bridge port is not a member of the frame's VLAN")                        \
    X(bridge_source_own, "source MAC address is the bridge's own routed interface")              \
    X(bridge_locked, "source MAC address is not in the FDB of a locked port")                    \
    X(bridge_moving, "source MAC address moves too often and is dampened on another port")       \
    X(bridge_same_port, "the destination MAC address is on the ingress port")                    \
    X(bridge_isolated, "between two ports of one isolation group")                               \
    X(bridge_reserved, "reserved group address that bridges do not forward (01-80-c2-00-00-0x)") \
    X(bridge_storm_broadcast, "broadcast over the port's storm control rate")                    \
    X(bridge_storm_multicast, "multicast over the port's storm control rate")                    \
    X(bridge_storm_unknown, "unknown unicast over the port's storm control rate")                \
    X(flood_no_member, "flooded, and the bridge domain has no other port with link up")          \
    X(flood_memory, "no free mbuf for a flooded copy")                                           \
    X(vlan_no_headroom, "no headroom for a VLAN tag")                                            \
    /* Tunnels */                                                                                \
    X(vxlan_truncated,                                                                           \
      "truncated inside the UDP or VXLAN header, or UDP length exceeds the packet")              \
    X(vxlan_checksum, "UDP checksum is wrong, or 0 where the tunnel requires one")               \
    X(vxlan_flags, "the I flag (valid VNI) is not set")                                          \
    X(vxlan_reserved, "reserved bits are set: an extension that the tunnel does not support")    \
    X(vxlan_unknown_vni, "no tunnel with the packet's VNI")                                      \
    X(vxlan_unknown_vtep, "the VNI has no tunnel to the packet's source address")                \
    X(vxlan_inner_runt, "inner frame is shorter than an Ethernet header")                        \
    X(ecn_decap, "outer ECN is CE and the inner packet is not ECN-capable (RFC 6040)")           \
    X(tunnel_too_big, "exceeds the tunnel's MTU")                                                \
    X(tunnel_no_headroom, "no headroom for the tunnel headers")                                  \
    X(tunnel_to_self, "the tunnel's remote endpoint is a local address")                         \
    X(clone_depth, "nested floods: a flood into a tunnel inside a flood")                        \
    /* For us */                                                                                 \
    X(local_protocol, "for us, and no local service for its protocol or port")                   \
    X(local_fragment, "fragment for us: turnpike does not reassemble")                           \
    X(duplicate_address, "to a local address that failed duplicate address detection")           \
    X(icmp_rate, "echo request over the ICMP rate limit")                                        \
    X(host_if_rate, "for the kernel, over the interface's punt rate limit")                      \
    X(host_if_refused, "for the kernel, and its interface there is down")                        \
    X(punt_ring_full, "punt ring to the control thread is full")                                 \
    X(inject_ring_full, "inject ring from the control thread to the worker is full")             \
    X(originated_no_route, "originated by turnpike, and no route to its destination")            \
    X(originated_too_big,                                                                        \
      "originated by turnpike, exceeds the egress MTU and must not be fragmented")               \
    X(interface_gone, "interface was removed while the control thread had the packet")           \
    X(control_memory, "control thread had no memory for the packet")                             \
    /* Sending */                                                                                \
    X(tx_refused, "transmit failed twice: the transmit ring or the link is full")                \
    X(port_down, "egress port has no link")                                                      \
    X(stopping, "in the receive ring when turnpike stopped")
// clang-format on

namespace turnpike::packet {

/// The first value, none, is not a drop.
enum class drop_reason : uint8_t {
    none,
#define TURNPIKE_DROP_REASON(name, meaning) name,
    TURNPIKE_DROP_REASONS(TURNPIKE_DROP_REASON)
#undef TURNPIKE_DROP_REASON
        count_  ///< number of values
};

/// Name in the report, and meaning.
struct drop_text {
    std::string_view name, meaning;
};
inline constexpr drop_text drop_texts[] = {{"none", "not dropped"},
#define TURNPIKE_DROP_REASON(name, meaning) {#name, meaning},
                                           TURNPIKE_DROP_REASONS(TURNPIKE_DROP_REASON)
#undef TURNPIKE_DROP_REASON
};
inline constexpr size_t drop_reasons = static_cast<size_t>(drop_reason::count_);
static_assert(std::size(drop_texts) == drop_reasons);

constexpr std::string_view name(drop_reason reason) noexcept {
    return drop_texts[static_cast<size_t>(reason)].name;
}

}  // namespace turnpike::packet
