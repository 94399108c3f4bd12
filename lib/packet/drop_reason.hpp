// SPDX-License-Identifier: BSD-3-Clause
// Why a packet was freed instead of sent. One list for the whole product: the name is what the
// report prints under `drops`, and every freed packet is counted under exactly one. Which stage or
// handler drops for a reason: app/turnpike/datapath/graph.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

// clang-format off: a reason is a line
#define TURNPIKE_DROP_REASONS(X)                                                              \
    /* Ethernet */                                                                            \
    X(runt, "shorter than an Ethernet header")                                                \
    X(no_interface, "no interface takes frames of its port with its tag")                     \
    X(too_many_passes, "by more tunnels, and bridges that route, than may be on one way")     \
    X(ether_source_group, "from a multicast or broadcast MAC address")                        \
    X(ether_type_unknown, "neither IPv4, IPv6 nor ARP")                                       \
    /* VLAN */                                                                                \
    X(vlan_cut, "ends inside a tag")                                                          \
    X(vlan_id_reserved, "VLAN identifier 4095")                                               \
    X(vlan_depth, "more tags than max_vlan_tags")                                             \
    /* ARP */                                                                                 \
    X(arp_cut, "ends inside the message")                                                     \
    X(arp_format, "not for IPv4 over Ethernet")                                               \
    X(arp_operation, "neither request nor reply")                                             \
    X(arp_sender_mac, "sender's MAC address is a group or zero")                              \
    X(arp_sender_ip, "sender's IP address cannot be a host's")                                \
    X(arp_sender_is_us, "somebody uses our address")                                          \
    /* IPv4 */                                                                                \
    X(ipv4_cut, "ends inside the header or before the total length")                          \
    X(ipv4_version, "version is not 4")                                                       \
    X(ipv4_header_length, "IHL under 5")                                                      \
    X(ipv4_total_length, "total length shorter than the header")                              \
    X(ipv4_fragment_beyond_end, "fragment that ends behind byte 65,535 of its datagram")      \
    X(ipv4_checksum, "header checksum is wrong")                                              \
    X(ipv4_ttl, "time to live used up")                                                       \
    X(ipv4_source, "from an address no packet may be from")                                   \
    X(ipv4_destination, "to an address no packet may be sent on to")                          \
    X(ipv4_source_routed, "its sender says by whom it is to go (RFC 7126), and may not here") \
    X(ipv4_source_is_destination, "from and to the same address")                             \
    /* IPv6 */                                                                                \
    X(ipv6_cut, "ends inside the header or before the payload length")                        \
    X(ipv6_version, "version is not 6")                                                       \
    X(ipv6_jumbogram, "payload length 0 with a hop-by-hop header")                            \
    X(ipv6_chain_cut, "payload ends inside an extension header")                              \
    X(ipv6_chain_long, "headers go past max_header_bytes")                                    \
    X(ipv6_hop_by_hop_late, "a hop-by-hop header that is not the first")                      \
    X(ipv6_routing_type_0, "source routing with segments left")                               \
    X(ipv6_fragment_twice, "two fragment headers")                                            \
    X(ipv6_hop_limit, "hop limit used up")                                                    \
    X(ipv6_source, "from an address no packet may be from")                                   \
    X(ipv6_destination, "to an address no packet may be sent on to")                          \
    X(ipv6_source_is_destination, "from and to the same address")                             \
    /* ICMP */                                                                                \
    X(icmp_cut, "shorter than its type's message")                                            \
    X(icmp_checksum, "checksum is wrong")                                                     \
    /* Neighbour discovery */                                                                 \
    X(nd_type, "not a neighbour discovery message")                                           \
    X(nd_fragment, "came in fragments")                                                       \
    X(nd_hop_limit, "hop limit is not 255: from another link")                                \
    X(nd_code, "ICMP code is not 0")                                                          \
    X(nd_option_empty, "an option of length 0")                                               \
    X(nd_option_cut, "an option past the end")                                                \
    X(nd_option_source, "source link-layer address from the unspecified address")             \
    X(nd_source, "wrong kind of source address for its type")                                 \
    X(nd_destination, "wrong kind of destination address for its type")                       \
    X(nd_target, "target is multicast, or no next hop")                                       \
    X(nd_solicited, "an answer to nobody: solicited and multicast")                           \
    X(nd_link_address, "link-layer address of the wrong size, a group or zero")               \
    X(nd_scattered, "in several buffers that cannot be put together")                         \
    /* Routing */                                                                             \
    X(other_mac, "unicast to a MAC address that is not the port's")                           \
    X(group_mac, "a unicast IP packet in a broadcast or multicast frame")                     \
    X(vlan_on_routed_port, "tagged, and the port has no sub-interfaces")                      \
    X(reverse_path, "its source is not behind the interface that it came in by (urpf)")       \
    X(no_route, "no route to its destination")                                                \
    X(route_blackhole, "its route says so")                                                   \
    X(route_unreachable, "its route says so")                                                 \
    X(special_purpose, "to an address that is not forwarded (RFC 6890)")                      \
    X(route_prohibited, "its route says that it may not go there")                            \
    X(directed_broadcast, "to a connected network's broadcast or network address")            \
    X(ipv4_too_big, "over the link's MTU, don't-fragment set")                                \
    X(ipv4_needs_fragmenting, "over the link's MTU, and would be more than 120 fragments")    \
    X(fragment_memory, "a fragment: no buffer was free")                                      \
    X(ipv6_too_big, "over the link's MTU")                                                    \
    X(headers_scattered, "headers lie in segments that cannot be put together")               \
    X(link_local, "to an IPv6 address that is good on its own link only")                     \
    X(link_local_source, "from an IPv6 address that is good on its own link only")            \
    X(neighbour_failed, "the next hop does not answer")                                       \
    X(neighbour_queue_full, "too many packets wait for that next hop already")                \
    X(neighbour_limit, "no room for another neighbour")                                       \
    X(held_limit, "too many packets wait for all neighbours together: the oldest goes first") \
    X(neighbour_rate, "ARP or neighbour discovery beyond the rate of its interface")          \
    X(acl_deny, "an access list said so on its way in")                                       \
    X(acl_deny_out, "an access list said so on its way out")                                  \
    X(acl_l2_deny, "an L2 list said so on its way in")                                        \
    X(acl_l2_deny_out, "an L2 list said so on its way out")                                   \
    /* Bridging */                                                                            \
    X(bridge_vlan, "its member of the bridge takes no frames of that VLAN")                   \
    X(bridge_source_own, "from the MAC address of its bridge's own routing interface")        \
    X(bridge_locked, "from a station that a locked member does not know")                     \
    X(bridge_moving, "from a station that moved too often, and not where it is held")         \
    X(bridge_same_port, "its destination is where it came from")                              \
    X(bridge_isolated, "between two members of one isolation group")                          \
    X(bridge_reserved, "to a group address that bridges do not forward (01-80-c2-00-00-0x)")  \
    X(bridge_storm_broadcast, "more broadcast than its member may bring")                     \
    X(bridge_storm_multicast, "more multicast than its member may bring")                     \
    X(bridge_storm_unknown, "more to unknown stations than its member may bring")             \
    X(bridge_nobody, "flooded, and its domain has no other member whose link is up")          \
    X(flood_memory, "a copy of what is flooded: no buffer was free")                          \
    X(vlan_room, "no room in front of the frame for a tag")                                   \
    /* Tunnels */                                                                             \
    X(vxlan_cut, "ends inside the UDP or VXLAN header, or is longer than its packet")         \
    X(vxlan_checksum, "its UDP checksum is wrong, or 0 where that is not agreed on")          \
    X(vxlan_flags, "without the flag that it has a network identifier")                       \
    X(vxlan_reserved, "with reserved bits set: an extension that its tunnel does not know")   \
    X(vxlan_network, "of a network identifier that ends nowhere here")                        \
    X(vxlan_endpoint, "of a network that we know, from an endpoint that we do not")           \
    X(vxlan_inner_runt, "what is in it is shorter than an Ethernet header")                   \
    X(vxlan_congested, "marked as congested on its way, and its sender cannot be told")       \
    X(tunnel_too_big, "longer than its tunnel takes")                                         \
    X(tunnel_room, "no room in front of the frame for a tunnel's headers")                    \
    X(tunnel_to_self, "its tunnel's other end is an address of ours")                         \
    X(walk_depth, "copies of copies: a flood in a tunnel in a flood")                         \
    /* For us */                                                                              \
    X(local_protocol, "nobody here takes that protocol or port")                              \
    X(local_fragment, "a fragment for us: nobody reassembles")                                \
    X(duplicate_address, "to an address of ours that somebody else has, too")                 \
    X(icmp_rate, "an echo request beyond the rate of our replies")                            \
    X(host_rate, "for the kernel, beyond the rate of its interface")                          \
    X(host_refused, "for the kernel, which took it not: its interface is down there")         \
    X(control_busy, "the ring to control was full")                                           \
    X(outlet_busy, "the ring from control to the worker was full")                            \
    X(own_no_route, "a message of ours, and there is no route to its receiver")               \
    X(own_too_big, "a message of ours is longer than its link takes, and is not fragmented")  \
    X(interface_gone, "its interface was removed while control had it")                       \
    X(control_memory, "control had no memory for it")                                         \
    /* Sending */                                                                             \
    X(tx_refused, "the driver refused it twice: its ring or its link is full")                \
    X(port_down, "the port it should leave by has no link")                                   \
    X(stopping, "turnpike was told to stop when it was still in the receive ring")
// clang-format on

namespace turnpike::packet {

/// none first: not a drop.
enum class drop_reason : uint8_t {
    none,
#define TURNPIKE_DROP_REASON(name, meaning) name,
    TURNPIKE_DROP_REASONS(TURNPIKE_DROP_REASON)
#undef TURNPIKE_DROP_REASON
        count_  ///< how many there are
};

/// What the report calls it, and what it means.
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
