// SPDX-License-Identifier: BSD-3-Clause
// IPv6 neighbour discovery over Ethernet (RFC 4861, RFC 2464): validation of received messages, and
// the messages that turnpike sends.
#pragma once

#include <cstdint>
#include <span>

#include "packet/drop_reason.hpp"
#include "packet/headers.hpp"
#include "packet/parse.hpp"

namespace turnpike::packet {

/// Maximum length of a solicitation or advertisement that turnpike writes, untagged.
inline constexpr uint32_t nd_frame_bytes =
    sizeof(ethernet_header) + sizeof(ipv6_header) + sizeof(nd_message) + sizeof(nd_link_option);

/// True for the five neighbour discovery messages (ICMPv6 types 133 to 137); validate them with
/// check_nd.
constexpr bool is_nd(const parsed& p) noexcept {
    return p.l3 == l3_kind::ipv6 && (p.flags & flag_icmp) != 0 &&
           p.icmp_type >= icmp6_router_solicitation && p.icmp_type <= icmp6_redirect;
}

/// The validation rules of RFC 4861 sections 6.1.1, 6.1.2, 7.1.1, 7.1.2 and 8.1.
/// lead     the frame that `p` was parsed from; must hold the whole datagram
/// link     out: the MAC address of its source (solicitations, router advertisement) or target
///          (neighbour advertisement, redirect) link-layer address option, inside lead; nullptr
///          if it has none
/// Returns  the drop reason, or none
/// Threads  any. Errors none.
[[nodiscard]] drop_reason check_nd(std::span<const uint8_t> lead, const parsed& p,
                                   const mac_address*& link) noexcept;

/// A node's MAC and IP address.
struct nd_host {
    mac_address mac;
    ipv6_address address;
};

/// Write a solicitation for `target` to its solicited-node group; from the unspecified address it
/// is duplicate address detection (RFC 4862 section 5.4.2) without a link-layer option. Returns the
/// bytes written; 0 if `frame` is too small (nd_frame_bytes always suffice).
uint32_t write_neighbour_solicitation(std::span<uint8_t> frame, const nd_host& sender,
                                      const ipv6_address& target) noexcept;

/// Write a unicast solicitation to a known neighbour: unreachability detection (RFC 4861 section
/// 7.3).
uint32_t write_neighbour_probe(std::span<uint8_t> frame, const nd_host& sender,
                               const nd_host& target) noexcept;

/// Write an advertisement of sender.address. A reply to the unspecified address goes to all nodes,
/// unsolicited (RFC 4861 section 7.2.4), as does an announcement (section 7.2.6). `frame` may be
/// the solicitation itself.
/// flags  nd_flag_*
uint32_t write_neighbour_advertisement(std::span<uint8_t> frame, const nd_host& sender,
                                       const nd_host& destination, uint32_t flags) noexcept;

/// A better first hop for a destination: RFC 4861 section 4.5.
struct nd_redirect {
    ipv6_address target;     ///< another router's link-local address, or the destination itself
    const mac_address* mac;  ///< the target's; null: unknown
};

/// Write the complete IP packet of a redirect from `source` (our link-local address) to the sender
/// of the redirected packet. Quotes as much of it as `lead` holds and the limit allows.
/// packet   out; icmp6_error_max_bytes suffice
/// Returns  the bytes written; 0 if may_report() is false, or if there is no room
uint32_t write_redirect(std::span<uint8_t> packet, std::span<const uint8_t> lead, const parsed& p,
                        const nd_redirect& says, const ipv6_address& source) noexcept;

}  // namespace turnpike::packet
