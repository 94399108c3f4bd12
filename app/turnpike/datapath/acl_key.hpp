// SPDX-License-Identifier: BSD-3-Clause
// The key of a packet for access lists (state::acl_key), as the stages match it and explain shows it.
#pragma once

#include <cstring>

#include "acl/acl.hpp"
#include "packet/nd.hpp"
#include "packet/parse.hpp"
#include "state/acl.hpp"

namespace turnpike::datapath {

template <class Key>
inline constexpr bool is_ipv4_key = sizeof(Key) == sizeof(acl::key4);

/// The fields that are at the same place in each packet of a family: addresses, DSCP; and the VLAN.
/// vlan  state::acl_key::tagged and the ID, or 0
template <class Key>
void begin_key(Key& k, const uint8_t* l3, uint16_t vlan) noexcept {
    constexpr bool v4 = is_ipv4_key<Key>;
    std::memcpy(&k, l3 + (v4 ? 12 : 8), sizeof k.source + sizeof k.destination);
    k.dscp = v4 ? l3[1] : static_cast<uint8_t>(load_be<uint16_t>(l3) >> 4);
    k.vlan = vlan;
}

/// Byte 13 of the TCP header, and the flags of state::acl_key.
inline uint16_t acl_flags_of(const packet::parsed& p, const uint8_t* l3) noexcept {
    namespace key = state::acl_key;
    // Flags of packet::parsed are the key's flags, shifted by one bit.
    constexpr unsigned known_shift = 1;
    constexpr uint16_t known_flags =
        packet::flag_ports | packet::flag_tcp | packet::flag_icmp | packet::flag_upper_cut;
    static_assert(packet::flag_ports << known_shift == key::has_ports);
    static_assert(packet::flag_tcp << known_shift == key::has_tcp_flags);
    static_assert(packet::flag_icmp << known_shift == key::has_icmp_type);
    static_assert(packet::flag_upper_cut << known_shift == key::tiny_fragment);
    unsigned out = p.tcp_flags | (p.flags & known_flags) << known_shift;
    if (p.is_later_fragment()) {
        out |= key::later_fragment;
        // RFC 1858 section 3: a fragment at offset 1 (8 bytes) overlays TCP's flags.
        if (p.fragment_offset_bytes == 8 && p.upper_protocol == packet::protocol_tcp)
            out |= key::tiny_fragment;
    }
    if (packet::is_nd(p) && packet::header_at<packet::ipv6_header>(l3).hop_limit == 255)
        out |= key::neighbour_discovery;
    return static_cast<uint16_t>(out);
}

/// Bits of an IPv6 packet's extension headers in the key's fields.
template <class Key>
void note_extensions(Key& k, const packet::parsed& p) noexcept {
    namespace key = state::acl_key;
    constexpr uint16_t any = packet::flag_hop_by_hop | packet::flag_routing |
                             packet::flag_fragment_header | packet::flag_authentication |
                             packet::flag_destination_options;
    if ((p.flags & any) == 0) [[likely]]
        return;
    unsigned flags = k.tcp_flags, vlan = k.vlan;
    if (p.is(packet::flag_authentication)) flags |= key::has_authentication;
    if (p.is(packet::flag_routing)) flags |= key::has_routing;
    if (p.is(packet::flag_hop_by_hop)) vlan |= key::has_hop_by_hop;
    if (p.is(packet::flag_fragment_header)) vlan |= key::has_fragment_header;
    if (p.is(packet::flag_destination_options)) vlan |= key::has_destination_options;
    k.tcp_flags = static_cast<uint16_t>(flags);
    k.vlan = static_cast<uint16_t>(vlan);
}

/// The fields of the upper layer, and the flags.
template <class Key>
void write_upper(Key& k, const packet::parsed& p, const uint8_t* l3) noexcept {
    k.source_port = p.is(packet::flag_icmp) ? p.icmp_type : p.source_port;
    k.destination_port = p.is(packet::flag_icmp) ? p.icmp_code : p.destination_port;
    k.protocol = p.upper_protocol;
    k.tcp_flags = acl_flags_of(p, l3);
    if constexpr (!is_ipv4_key<Key>) note_extensions(k, p);
}

}  // namespace turnpike::datapath
