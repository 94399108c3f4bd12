// SPDX-License-Identifier: BSD-3-Clause
// The device's parser: packet type for the descriptor, checksums to verify or insert.
#pragma once

#include <cstdint>

#include "descriptor.hpp"
#include "packet/headers.hpp"

namespace turnpike::simnic {

/// Use 32-bit members: a smaller struct is returned in registers, packed from narrow stores, and
/// every frame then waits for store forwarding (75 of 220 cycles, turnpike-bench-pmd).
struct frame_class {
    uint32_t ptype = 0;
    uint32_t protocol = 0;          ///< the IP header's; 0: none
    uint32_t l3_at = 0, l4_at = 0;  ///< offsets; 0: no such header
    uint32_t end = 0;               ///< end of the IP packet (padding follows)
};
static_assert(sizeof(frame_class) > 16);

namespace detail {

using namespace packet;

constexpr uint8_t protocol_tcp_number = 6, protocol_udp_number = 17, protocol_sctp_number = 132,
                  protocol_icmp_number = 1, protocol_icmp6_number = 58, next_fragment = 44;

inline uint32_t l4_ptype(uint8_t protocol) noexcept {
    switch (protocol) {
        case protocol_tcp_number:
            return ptype_l4_tcp;
        case protocol_udp_number:
            return ptype_l4_udp;
        case protocol_sctp_number:
            return ptype_l4_sctp;
        case protocol_icmp_number:
        case protocol_icmp6_number:
            return ptype_l4_icmp;
        default:
            return 0;
    }
}

inline void classify_ipv4(const uint8_t* frame, uint32_t bytes, uint32_t at,
                          frame_class& c) noexcept {
    if (at + sizeof(ipv4_header) > bytes) return;
    const auto& ip = *reinterpret_cast<const ipv4_header*>(frame + at);
    const uint32_t header = ip.header_bytes();
    const uint32_t total = ip.total_bytes;
    if (ip.version() != 4 || header < sizeof(ipv4_header) || total < header || at + total > bytes)
        return;
    c.ptype |= header > sizeof(ipv4_header) ? ptype_l3_ipv4_options : ptype_l3_ipv4;
    c.l3_at = at;
    c.protocol = ip.protocol;
    c.end = at + total;
    const bool fragment = (ip.fragment & (ipv4_more_fragments | ipv4_fragment_offset)) != 0;
    c.ptype |= fragment ? uint32_t{ptype_l4_fragment} : l4_ptype(ip.protocol);
    if (!fragment) c.l4_at = at + header;
}

inline void classify_ipv6(const uint8_t* frame, uint32_t bytes, uint32_t at,
                          frame_class& c) noexcept {
    if (at + sizeof(ipv6_header) > bytes) return;
    const auto& ip = *reinterpret_cast<const ipv6_header*>(frame + at);
    const uint32_t end = at + static_cast<uint32_t>(sizeof(ipv6_header)) + ip.payload_bytes;
    if (ip.version() != 6 || end > bytes) return;
    const uint32_t l4 = l4_ptype(ip.next_header);
    c.l3_at = at;
    c.protocol = ip.next_header;
    c.end = end;
    const bool fragment = ip.next_header == next_fragment;
    // The device does not parse IPv6 extension headers: their payload has no L4 type and no
    // checksum.
    const bool extended = ip.next_header == 0 || ip.next_header == 43 || ip.next_header == 60 ||
                          ip.next_header == 51 || fragment;
    c.ptype |= extended ? ptype_l3_ipv6_extensions : ptype_l3_ipv6;
    c.ptype |= fragment ? uint32_t{ptype_l4_fragment} : l4;
    if (l4 != 0) c.l4_at = at + static_cast<uint32_t>(sizeof(ipv6_header));
}

}  // namespace detail

/// Accepts any bytes. Threads any. Errors none.
[[nodiscard]] inline frame_class classify(const uint8_t* frame, uint32_t bytes) noexcept {
    using namespace packet;
    frame_class c;
    if (bytes < sizeof(ethernet_header)) return c;
    uint32_t at = sizeof(ethernet_header);
    uint16_t type = load_be<uint16_t>(frame + 12);
    c.ptype = ptype_l2_ether;
    // One or two tags: IEEE 802.1Q section 9.6 specifies 0x88a8 for the outer one; many networks
    // use 0x8100.
    for (uint32_t tagged = ptype_l2_vlan; tagged <= ptype_l2_qinq; ++tagged) {
        const bool outer = type == ether_type_service && tagged == ptype_l2_vlan;
        if ((type != ether_type_vlan && !outer) || at + sizeof(vlan_tag) > bytes) break;
        c.ptype = tagged;
        type = load_be<uint16_t>(frame + at + 2);
        at += sizeof(vlan_tag);
    }
    if (type == ether_type_ipv4)
        detail::classify_ipv4(frame, bytes, at, c);
    else if (type == ether_type_ipv6)
        detail::classify_ipv6(frame, bytes, at, c);
    else if (type == ether_type_arp)
        c.ptype = ptype_l2_arp;
    return c;
}

/// The checksum bits of an RX write-back.
[[nodiscard]] uint32_t verify_checksums(const frame_class& c, const uint8_t* frame) noexcept;

/// Insert the checksums that a TX command requests, if the frame has their headers.
void insert_checksums(uint64_t command, uint8_t* frame, uint32_t bytes) noexcept;

}  // namespace turnpike::simnic
