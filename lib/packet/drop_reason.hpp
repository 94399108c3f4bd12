// SPDX-License-Identifier: BSD-3-Clause
// Drop reasons of lib/packet and lib/rxtx: malformed headers, and a full transmit ring. An application continues
// these numbers with its own reasons (app/turnpike/datapath/drop_reason.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

// clang-format off
#define TURNPIKE_PACKET_DROP_REASONS(X) \
    /* Ethernet */ \
    X(runt, "shorter than an Ethernet header") \
    X(ether_source_group, "source MAC address is multicast or broadcast") \
    X(ether_type_unknown, "Ethertype is neither IPv4, IPv6 nor ARP") \
    /* VLAN */ \
    X(vlan_truncated, "truncated inside a VLAN tag") \
    X(vlan_id_reserved, "VLAN ID is 4095 (reserved)") \
    X(vlan_depth, "more VLAN tags than max_vlan_tags") \
    /* ARP */ \
    X(arp_truncated, "truncated ARP message") \
    X(arp_format, "ARP message is not for IPv4 over Ethernet") \
    X(arp_operation, "ARP operation is neither request nor reply") \
    X(arp_sender_mac, "ARP sender MAC address is a group address or zero") \
    X(arp_sender_ip, "ARP sender IP address is not a valid host address") \
    X(arp_sender_is_us, "ARP sender IP address is our own: an address conflict (RFC 5227)") \
    /* IPv4 */ \
    X(ipv4_truncated, "truncated inside the header or before the total length") \
    X(ipv4_version, "IP version is not 4") \
    X(ipv4_header_length, "IHL is less than 5") \
    X(ipv4_total_length, "total length is less than the header length") \
    X(ipv4_fragment_beyond_end, "fragment extends beyond 65,535 bytes") \
    X(ipv4_checksum, "header checksum is wrong") \
    X(ipv4_ttl, "TTL expired") \
    X(ipv4_source, "invalid source address (martian)") \
    X(ipv4_destination, "invalid destination address (martian)") \
    X(ipv4_source_is_destination, "source and destination address are equal") \
    /* IPv6 */ \
    X(ipv6_truncated, "truncated inside the header or before the payload length") \
    X(ipv6_version, "IP version is not 6") \
    X(ipv6_jumbogram, "jumbogram: payload length 0 with a hop-by-hop header") \
    X(ipv6_chain_truncated, "truncated inside an extension header") \
    X(ipv6_chain_long, "extension header chain exceeds max_header_bytes") \
    X(ipv6_hop_by_hop_late, "hop-by-hop header is not the first extension header") \
    X(ipv6_routing_type_0, "routing header of type 0 with segments left") \
    X(ipv6_fragment_twice, "more than one fragment header") \
    X(ipv6_hop_limit, "hop limit expired") \
    X(ipv6_source, "invalid source address (martian)") \
    X(ipv6_destination, "invalid destination address (martian)") \
    X(ipv6_source_is_destination, "source and destination address are equal") \
    /* ICMP */ \
    X(icmp_truncated, "truncated ICMP message") \
    X(icmp_checksum, "ICMP checksum is wrong") \
    /* Neighbour discovery */ \
    X(nd_type, "not a neighbour discovery message") \
    X(nd_fragment, "fragmented neighbour discovery message (RFC 6980)") \
    X(nd_hop_limit, "hop limit is not 255: the sender is not on this link") \
    X(nd_code, "ICMP code is not 0") \
    X(nd_option_empty, "an option has length 0") \
    X(nd_option_truncated, "an option extends beyond the message") \
    X(nd_option_source, "source link-layer address option with the unspecified source address") \
    X(nd_source, "source address is not valid for the message type") \
    X(nd_destination, "destination address is not valid for the message type") \
    X(nd_target, "target address is multicast or not a valid next hop") \
    X(nd_solicited, "multicast neighbour advertisement with the solicited flag") \
    X(nd_link_address, "link-layer address is a group address, zero or of the wrong size") \
    /* Sending */ \
    X(tx_refused, "transmit failed twice: the transmit ring or the link is full")
// clang-format on

namespace turnpike::packet {

/// The first value, none, is not a drop.
enum class drop_reason : uint8_t {
    none,
#define TURNPIKE_DROP_REASON(name, meaning) name,
    TURNPIKE_PACKET_DROP_REASONS(TURNPIKE_DROP_REASON)
#undef TURNPIKE_DROP_REASON
        count_  ///< number of values
};

/// Room for the reasons of this list and of the application's list, which continues the numbers.
inline constexpr size_t max_drop_reasons = 192;

/// Name in the report, and meaning.
struct drop_text {
    std::string_view name, meaning;
};
inline constexpr drop_text drop_texts[] = {{"none", "not dropped"},
#define TURNPIKE_DROP_REASON(name, meaning) {#name, meaning},
                                           TURNPIKE_PACKET_DROP_REASONS(TURNPIKE_DROP_REASON)
#undef TURNPIKE_DROP_REASON
};
inline constexpr size_t drop_reasons = static_cast<size_t>(drop_reason::count_);
static_assert(std::size(drop_texts) == drop_reasons);

constexpr std::string_view name(drop_reason reason) noexcept {
    return drop_texts[static_cast<size_t>(reason)].name;
}

}  // namespace turnpike::packet
