// SPDX-License-Identifier: BSD-3-Clause
// Wire formats of the headers that turnpike reads and writes. Every member is a byte or a
// big-endian field, so a header may have any alignment: header_at<ipv4_header>(bytes) is the header at
// that address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/byte_order.hpp"
#include "net/ip.hpp"
#include "net/mac.hpp"

namespace turnpike::packet {

using turnpike::broadcast_mac;
using turnpike::ipv6_address;
using turnpike::mac_address;

/// Values of an Ethernet type field (IEEE registration authority). Values below ether_type_first
/// are an IEEE 802.3 length.
enum ether_type : uint16_t {
    ether_type_first = 0x0600,
    ether_type_ipv4 = 0x0800,
    ether_type_arp = 0x0806,
    ether_type_vlan = 0x8100,  ///< IEEE 802.1Q customer tag
    ether_type_ipv6 = 0x86dd,
    ether_type_service = 0x88a8,  ///< IEEE 802.1ad service tag
};
/// Whether a VLAN tag follows.
constexpr bool is_vlan_type(uint16_t type) noexcept {
    return type == ether_type_vlan || type == ether_type_service;
}

struct ethernet_header {
    mac_address destination;
    mac_address source;
    be16 type;
};
inline constexpr uint32_t ethernet_bytes = 14;
static_assert(sizeof(ethernet_header) == ethernet_bytes && offsetof(ethernet_header, type) == 12);

/// The bytes after a vlan or service ether type (IEEE 802.1Q section 9.6).
struct vlan_tag {
    be16 tci;   ///< PCP (3 bits), DEI, VLAN ID (12 bits)
    be16 type;  ///< EtherType of the payload
};
static_assert(sizeof(vlan_tag) == 4);
inline constexpr uint16_t vlan_id_mask = 0x0fff;
inline constexpr uint16_t reserved_vlan_id = 0x0fff;

/// RFC 826, for IPv4 over Ethernet.
struct arp_message {
    be16 hardware_type;
    be16 protocol_type;
    uint8_t hardware_bytes;
    uint8_t protocol_bytes;
    be16 operation;
    mac_address sender_mac;
    be32 sender_ip;
    mac_address target_mac;
    be32 target_ip;
};
static_assert(sizeof(arp_message) == 28 && offsetof(arp_message, sender_mac) == 8 &&
              offsetof(arp_message, target_ip) == 24);
inline constexpr uint16_t arp_hardware_ethernet = 1;
inline constexpr uint16_t arp_request = 1;
inline constexpr uint16_t arp_reply = 2;

/// RFC 791 section 3.1.
struct ipv4_header {
    uint8_t version_ihl;
    uint8_t tos;
    be16 total_bytes;
    be16 id;
    be16 fragment;  ///< ipv4_dont_fragment, ipv4_more_fragments, offset in units of 8 bytes
    uint8_t ttl;
    uint8_t protocol;
    be16 checksum;
    be32 source;
    be32 destination;

    uint8_t version() const noexcept { return version_ihl >> 4; }
    uint8_t header_bytes() const noexcept { return static_cast<uint8_t>((version_ihl & 15) * 4); }
};
static_assert(sizeof(ipv4_header) == 20 && offsetof(ipv4_header, ttl) == 8 &&
              offsetof(ipv4_header, source) == 12 && offsetof(ipv4_header, destination) == 16);
inline constexpr uint16_t ipv4_dont_fragment = 0x4000;
inline constexpr uint16_t ipv4_more_fragments = 0x2000;
inline constexpr uint16_t ipv4_fragment_offset = 0x1fff;

/// RFC 8200 section 3.
struct ipv6_header {
    be32 version_class_flow;
    be16 payload_bytes;
    uint8_t next_header;
    uint8_t hop_limit;
    ipv6_address source;
    ipv6_address destination;

    uint8_t version() const noexcept { return version_class_flow.bytes[0] >> 4; }
};
static_assert(sizeof(ipv6_header) == 40 && offsetof(ipv6_header, hop_limit) == 7 &&
              offsetof(ipv6_header, source) == 8 && offsetof(ipv6_header, destination) == 24);

/// The format of RFC 8200 sections 4.3, 4.4, 4.6 and RFC 6275 section 6.1: length in units of 8
/// bytes, not counting the first 8. RFC 4302 section 2.2 (authentication): units of 4, not counting
/// the first 8 bytes.
struct ipv6_extension {
    uint8_t next_header;
    uint8_t length_units;
    uint8_t routing_type;   ///< routing header only
    uint8_t segments_left;  ///< routing header only
    uint8_t rest[4];
};
static_assert(sizeof(ipv6_extension) == 8);

/// RFC 8200 section 4.5.
struct ipv6_fragment {
    uint8_t next_header;
    uint8_t reserved;
    be16 offset_more;  ///< offset in bytes (mask the low three bits); bit 0: more fragments
    be32 id;
};
static_assert(sizeof(ipv6_fragment) == 8);
inline constexpr uint16_t ipv6_fragment_offset = 0xfff8;
inline constexpr uint16_t ipv6_more_fragments = 1;

/// IANA protocol numbers.
enum ip_protocol : uint8_t {
    protocol_hop_by_hop = 0,
    protocol_icmp = 1,
    protocol_igmp = 2,
    protocol_tcp = 6,
    protocol_udp = 17,
    protocol_routing = 43,
    protocol_fragment = 44,
    protocol_authentication = 51,
    protocol_icmpv6 = 58,
    protocol_none = 59,
    protocol_destination_options = 60,
    protocol_sctp = 132,
    protocol_mobility = 135,
    protocol_udp_lite = 136,
    protocol_hip = 139,
    protocol_shim6 = 140,
};

/// IPv6 extension headers after which hosts look for an upper layer: IANA's list without ESP (50), whose payload is
/// encrypted, and without Mobility (RFC 6275 section 6.1.1), HIP (RFC 7401 section 5.1) and Shim6 (RFC 5533 section 5.2), which
/// hosts take as the upper layer: an ACL must not find ports behind them.
constexpr bool is_ipv6_extension(uint8_t next_header) noexcept {
    switch (next_header) {
        case protocol_hop_by_hop:
        case protocol_routing:
        case protocol_fragment:
        case protocol_authentication:
        case protocol_destination_options:
            return true;
        default:
            return false;
    }
}

/// RFC 768.
struct udp_header {
    be16 source_port;
    be16 destination_port;
    be16 bytes;
    be16 checksum;
};
static_assert(sizeof(udp_header) == 8);

/// RFC 7348 section 5, after the UDP header.
struct vxlan_header {
    be32 flags;  ///< vxlan_has_vni; the other bits are reserved
    be32 vni;    ///< 24 bits; the last byte is reserved
};
static_assert(sizeof(vxlan_header) == 8);
inline constexpr uint16_t vxlan_port = 4789;
inline constexpr uint32_t vxlan_has_vni = 0x0800'0000;

/// RFC 9293 section 3.1.
struct tcp_header {
    be16 source_port;
    be16 destination_port;
    be32 sequence;
    be32 acknowledgment;
    uint8_t data_offset;  ///< high four bits, in units of 4 bytes
    uint8_t flags;
    be16 window;
    be16 checksum;
    be16 urgent;
};
static_assert(sizeof(tcp_header) == 20 && offsetof(tcp_header, flags) == 13);

/// RFC 792 and RFC 4443 section 2.1: ICMP for IPv4 and IPv6. `rest`: echo identifier and sequence,
/// MTU, pointer, or unused, by type.
struct icmp_header {
    uint8_t type;
    uint8_t code;
    be16 checksum;
    be32 rest;
};
static_assert(sizeof(icmp_header) == 8);

enum icmp4_type : uint8_t {
    icmp4_echo_reply = 0,
    icmp4_unreachable = 3,
    icmp4_source_quench = 4,
    icmp4_redirect = 5,
    icmp4_echo = 8,
    icmp4_time_exceeded = 11,
    icmp4_parameter_problem = 12,
};
inline constexpr uint8_t icmp4_code_fragmentation_needed = 4;  ///< RFC 1191 section 4

enum icmp6_type : uint8_t {
    icmp6_unreachable = 1,
    icmp6_too_big = 2,
    icmp6_time_exceeded = 3,
    icmp6_parameter_problem = 4,
    icmp6_first_informational = 128,  ///< below: errors (RFC 4443 section 2.1)
    icmp6_echo = 128,
    icmp6_echo_reply = 129,
    icmp6_router_solicitation = 133,
    icmp6_router_advertisement = 134,
    icmp6_neighbour_solicitation = 135,
    icmp6_neighbour_advertisement = 136,
    icmp6_redirect = 137,
};

/// RFC 4861 section 4.3 and 4.4: solicitation and advertisement.
struct nd_message {
    icmp_header icmp;  ///< rest: nd_flag_* in an advertisement
    ipv6_address target;
};
static_assert(sizeof(nd_message) == 24);
inline constexpr uint32_t nd_flag_router = 0x8000'0000;
inline constexpr uint32_t nd_flag_solicited = 0x4000'0000;
inline constexpr uint32_t nd_flag_override = 0x2000'0000;

/// RFC 4861 section 4.6.1, for Ethernet (RFC 2464 section 6).
struct nd_link_option {
    uint8_t type;
    uint8_t length_units;  ///< in units of 8 bytes, including this header
    mac_address mac;
};
static_assert(sizeof(nd_link_option) == 8);
inline constexpr uint8_t nd_option_source_link = 1;
inline constexpr uint8_t nd_option_target_link = 2;

/// The header at `bytes`; all sizeof(Header) bytes must be readable.
template <class Header>
inline const Header& header_at(const uint8_t* bytes) noexcept {
    static_assert(alignof(Header) == 1);
    return *reinterpret_cast<const Header*>(bytes);
}
template <class Header>
inline Header& header_at(uint8_t* bytes) noexcept {
    static_assert(alignof(Header) == 1);
    return *reinterpret_cast<Header*>(bytes);
}

}  // namespace turnpike::packet
