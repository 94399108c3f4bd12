// SPDX-License-Identifier: BSD-3-Clause
// Why a packet was freed instead of sent. One list for the whole product: the name is what the
// report prints under `drops`, and every freed packet is counted under exactly one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace turnpike::packet {

/// none first: not a drop.
enum class drop_reason : uint8_t {
    none,
    // Ethernet
    runt,                ///< shorter than an Ethernet header
    ether_source_group,  ///< from a multicast or broadcast MAC address
    ether_type_unknown,  ///< neither IPv4, IPv6 nor ARP
    // VLAN
    vlan_cut,          ///< ends inside a tag
    vlan_id_reserved,  ///< VLAN identifier 4095
    vlan_depth,        ///< more tags than max_vlan_tags
    // ARP
    arp_cut,           ///< ends inside the message
    arp_format,        ///< not for IPv4 over Ethernet
    arp_operation,     ///< neither request nor reply
    arp_sender_mac,    ///< sender's MAC address is a group or zero
    arp_sender_ip,     ///< sender's IP address cannot be a host's
    arp_sender_is_us,  ///< somebody uses our address
    // IPv4
    ipv4_cut,            ///< ends inside the header or before the total length
    ipv4_version,        ///< version is not 4
    ipv4_header_length,  ///< IHL under 5
    ipv4_total_length,   ///< total length shorter than the header
    ipv4_checksum,       ///< header checksum is wrong
    ipv4_ttl,            ///< time to live used up
    ipv4_source,         ///< from an address no packet may be from
    ipv4_destination,    ///< to an address no packet may be sent on to
    ipv4_source_is_destination,
    // IPv6
    ipv6_cut,              ///< ends inside the header or before the payload length
    ipv6_version,          ///< version is not 6
    ipv6_jumbogram,        ///< payload length 0 with a hop-by-hop header
    ipv6_chain_cut,        ///< payload ends inside an extension header
    ipv6_chain_long,       ///< headers go past max_header_bytes
    ipv6_hop_by_hop_late,  ///< a hop-by-hop header that is not the first
    ipv6_routing_type_0,   ///< source routing with segments left
    ipv6_fragment_twice,   ///< two fragment headers
    ipv6_hop_limit,        ///< hop limit used up
    ipv6_source,           ///< from an address no packet may be from
    ipv6_destination,      ///< to an address no packet may be sent on to
    ipv6_source_is_destination,
    // ICMP
    icmp_cut,       ///< shorter than its type's message
    icmp_checksum,  ///< checksum is wrong
    // Neighbour discovery
    nd_type,           ///< not a neighbour discovery message
    nd_fragment,       ///< came in fragments
    nd_hop_limit,      ///< hop limit is not 255: from another link
    nd_code,           ///< ICMP code is not 0
    nd_option_empty,   ///< an option of length 0
    nd_option_cut,     ///< an option past the end
    nd_option_source,  ///< source link-layer address from the unspecified address
    nd_source,         ///< wrong kind of source address for its type
    nd_destination,    ///< wrong kind of destination address for its type
    nd_target,         ///< target is multicast, or no next hop
    nd_solicited,      ///< an answer to nobody: solicited and multicast
    nd_link_address,   ///< link-layer address of the wrong size, a group or zero
    // Routing
    other_mac,               ///< unicast to a MAC address that is not the port's
    group_mac,               ///< a unicast IP packet in a broadcast or multicast frame
    vlan_on_routed_port,     ///< tagged, and the port has no sub-interfaces
    no_route,                ///< no route to its destination
    route_blackhole,         ///< its route says so
    route_unreachable,       ///< its route says so
    directed_broadcast,      ///< to a connected network's broadcast or network address
    ipv4_too_big,            ///< over the link's MTU, don't-fragment set
    ipv4_needs_fragmenting,  ///< over the link's MTU, don't-fragment clear
    ipv6_too_big,            ///< over the link's MTU
    headers_scattered,       ///< headers lie in segments that cannot be put together
    link_local,              ///< IPv6 from or to an address that is good on its own link only
    neighbour_failed,        ///< the next hop does not answer
    neighbour_queue_full,    ///< too many packets wait for that next hop already
    neighbour_limit,         ///< no room for another neighbour
    acl_deny,                ///< an access list said so
    // For us
    local_protocol,  ///< nobody here takes that protocol or port
    local_fragment,  ///< a fragment for us: nobody reassembles
    icmp_rate,       ///< an echo request beyond the rate of our replies
    control_busy,    ///< the ring to or from control was full
    // Sending
    tx_refused,  ///< the driver refused it twice: its ring or its link is full
    port_down,   ///< the port it should leave by has no link
    stopping,    ///< turnpike was told to stop when it was still in the receive ring
    count_       ///< how many there are
};

inline constexpr std::string_view drop_names[] = {
    "none",
    // Ethernet
    "runt",
    "ether_source_group",
    "ether_type_unknown",
    // VLAN
    "vlan_cut",
    "vlan_id_reserved",
    "vlan_depth",
    // ARP
    "arp_cut",
    "arp_format",
    "arp_operation",
    "arp_sender_mac",
    "arp_sender_ip",
    "arp_sender_is_us",
    // IPv4
    "ipv4_cut",
    "ipv4_version",
    "ipv4_header_length",
    "ipv4_total_length",
    "ipv4_checksum",
    "ipv4_ttl",
    "ipv4_source",
    "ipv4_destination",
    "ipv4_source_is_destination",
    // IPv6
    "ipv6_cut",
    "ipv6_version",
    "ipv6_jumbogram",
    "ipv6_chain_cut",
    "ipv6_chain_long",
    "ipv6_hop_by_hop_late",
    "ipv6_routing_type_0",
    "ipv6_fragment_twice",
    "ipv6_hop_limit",
    "ipv6_source",
    "ipv6_destination",
    "ipv6_source_is_destination",
    // ICMP
    "icmp_cut",
    "icmp_checksum",
    // Neighbour discovery
    "nd_type",
    "nd_fragment",
    "nd_hop_limit",
    "nd_code",
    "nd_option_empty",
    "nd_option_cut",
    "nd_option_source",
    "nd_source",
    "nd_destination",
    "nd_target",
    "nd_solicited",
    "nd_link_address",
    // Routing
    "other_mac",
    "group_mac",
    "vlan_on_routed_port",
    "no_route",
    "route_blackhole",
    "route_unreachable",
    "directed_broadcast",
    "ipv4_too_big",
    "ipv4_needs_fragmenting",
    "ipv6_too_big",
    "headers_scattered",
    "link_local",
    "neighbour_failed",
    "neighbour_queue_full",
    "neighbour_limit",
    "acl_deny",
    // For us
    "local_protocol",
    "local_fragment",
    "icmp_rate",
    "control_busy",
    // Sending
    "tx_refused",
    "port_down",
    "stopping",
};
inline constexpr size_t drop_reasons = static_cast<size_t>(drop_reason::count_);
static_assert(std::size(drop_names) == drop_reasons);

constexpr std::string_view name(drop_reason reason) noexcept {
    return drop_names[static_cast<size_t>(reason)];
}

}  // namespace turnpike::packet
