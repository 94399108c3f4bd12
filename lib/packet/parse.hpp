// SPDX-License-Identifier: BSD-3-Clause
// Frame parser: VLAN tags, layer 3, upper-layer header, and validity for forwarding.
//
//   | Ethernet 14 | tags 0, 4, 8 | IPv4 20-60 / IPv6 40 + chain | upper header | payload | padding
//   | 0             |             l2_bytes                        upper_offset           | frame
//                 |              <------------------- l3_bytes -------------------->   <-padding->
//
// One pass, no state, no allocation. It reads only the leading contiguous bytes (an mbuf's first
// segment); if the headers exceed them it returns need_more, and the caller copies
// enough_bytes(frame) to a scratch buffer and calls again, once.
//
// Two verdicts, because a cross-connect forwards any Ethernet frame, while a router must drop
// invalid packets: l2_drop and l3_drop. Other modules validate addresses (ipv4.hpp, ipv6.hpp), the
// IPv4 header checksum of a whole burst (ipv4_sum_kernels in checksum.hpp), and the bodies of ARP
// (arp.hpp) and neighbour discovery (nd.hpp).
#pragma once

#include <cstdint>
#include <span>

#include "packet/drop_reason.hpp"
#include "packet/headers.hpp"

namespace turnpike::packet {

/// Limit for headers, including the fixed part of the upper-layer header: packets beyond it are
/// dropped (ipv6_chain_long; RFC 8883 describes such limits). Real chains have one or two headers.
inline constexpr uint32_t max_header_bytes = 256;

/// IEEE 802.1ad: a service tag and a customer tag.
inline constexpr uint8_t max_vlan_tags = 2;

/// Leading bytes that always suffice for parse().
constexpr uint32_t enough_bytes(uint32_t frame_bytes) noexcept {
    return frame_bytes < max_header_bytes ? frame_bytes : max_header_bytes;
}

enum class l3_kind : uint8_t { other, arp, ipv4, ipv6 };

enum packet_flag : uint16_t {
    flag_ipv4_options = 1 << 0,   ///< IHL over 5
    flag_dont_fragment = 1 << 1,  ///< IPv4
    flag_fragment =
        1 << 2,  ///< a fragment; not an IPv6 atomic fragment (RFC 6946), which is a whole datagram
    flag_more_fragments = 1 << 3,
    flag_hop_by_hop = 1 << 4,            ///< IPv6
    flag_routing = 1 << 5,               ///< IPv6
    flag_fragment_header = 1 << 6,       ///< IPv6, also of atomic fragments
    flag_ports = 1 << 7,                 ///< source_port and destination_port are valid
    flag_tcp = 1 << 8,                   ///< tcp_flags is valid
    flag_icmp = 1 << 9,                  ///< icmp_type and icmp_code are valid
    flag_upper_cut = 1 << 10,            ///< the datagram ends inside the upper-layer header
    flag_authentication = 1 << 11,       ///< IPv6
    flag_destination_options = 1 << 12,  ///< IPv6
};

/// Integers are in host order; offsets count from the frame's first byte. Fields that do not apply
/// are 0, as are fields after the one that caused a drop.
struct parsed {
    drop_reason l2_drop =
        drop_reason::none;  ///< not a frame: must not be forwarded, other fields are 0
    drop_reason l3_drop = drop_reason::none;  ///< a router must drop it; the first reason found
    l3_kind l3 = l3_kind::other;
    uint8_t vlan_tags = 0;  ///< tags parsed, max_vlan_tags at most
    uint16_t outer_tci = 0;
    uint16_t inner_tci = 0;  ///< the second tag's
    uint16_t type = 0;       ///< Ethernet type after the tags
    uint16_t flags = 0;      ///< packet_flag

    uint8_t l2_bytes = 0;        ///< offset of layer 3
    uint8_t upper_protocol = 0;  ///< IPv4 protocol, or the last next header of the IPv6 chain
    uint16_t upper_offset = 0;  ///< offset of the upper-layer header, or of a later fragment's data
    uint32_t l3_bytes = 0;      ///< ARP 28, IP total length, otherwise the rest of the frame
    uint32_t padding_bytes = 0;  ///< frame - l2_bytes - l3_bytes
    uint8_t ipv4_header_bytes = 0;
    uint8_t tcp_flags = 0;
    uint8_t icmp_type = 0;
    uint8_t icmp_code = 0;
    uint16_t fragment_offset_bytes = 0;
    uint16_t source_port = 0;  ///< TCP, UDP, UDP-Lite, SCTP
    uint16_t destination_port = 0;
    uint32_t fragment_id = 0;

    bool operator==(const parsed&) const noexcept = default;

    bool is(packet_flag flag) const noexcept { return (flags & flag) != 0; }
    bool is_later_fragment() const noexcept { return fragment_offset_bytes != 0; }
    /// Offset of the IP source address; for l3 ipv4 and ipv6 only.
    uint32_t source_offset() const noexcept { return l2_bytes + (is_ipv4() ? 12U : 8U); }
    uint32_t destination_offset() const noexcept { return l2_bytes + (is_ipv4() ? 16U : 24U); }
    bool is_ipv4() const noexcept { return l3 == l3_kind::ipv4; }
};

enum class parse_status : uint8_t { done, need_more };

/// lead         the frame's first bytes; no more than frame_bytes
/// frame_bytes  the whole frame, without its FCS
/// out          the result; invalid after need_more
/// Returns  need_more only if lead is shorter than enough_bytes(frame_bytes); the result does not
///          depend on the length of lead
/// Threads  any. Errors none.
[[nodiscard]] parse_status parse(std::span<const uint8_t> lead, uint32_t frame_bytes,
                                 parsed& out) noexcept;

}  // namespace turnpike::packet
