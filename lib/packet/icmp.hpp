// SPDX-License-Identifier: BSD-3-Clause
// ICMP (RFC 792) and ICMPv6 (RFC 4443): validation, echo replies in place, and error messages with
// the rules for when none may be sent.
//
// `lead` is always the leading contiguous bytes of the frame that `p` was parsed from.
#pragma once

#include <cstdint>
#include <span>

#include "packet/drop_reason.hpp"
#include "packet/headers.hpp"
#include "packet/parse.hpp"

namespace turnpike::packet {

/// The folded sum of an ICMPv6 message with its pseudo-header (RFC 8200 section 8.1): 0xffff if and
/// only if its checksum is correct; the complement of the checksum if that field is 0.
[[nodiscard]] uint16_t icmp6_sum(const ipv6_address& source, const ipv6_address& destination,
                                 std::span<const uint8_t> message) noexcept;

/// Validate length and checksum of an ICMP or ICMPv6 message.
/// lead     must hold the whole datagram
/// Returns  icmp_truncated (also for a fragment, which is incomplete), icmp_checksum or none
[[nodiscard]] drop_reason check_icmp(std::span<const uint8_t> lead, const parsed& p) noexcept;

/// Turn an echo request to a unicast address into its reply: swaps the IP addresses, sets a new TTL
/// and the type, and updates both checksums incrementally, so that the data may lie in other
/// segments. The Ethernet header is unchanged.
/// lead     must hold the headers
/// Returns  false, without any change, if it is not a complete request without IPv4 options (RFC
///          1812 section 4.3.3.6 requires reversing a source route) and without an IPv6 routing header (RFC
///          8200 section 8.4: the reply must not have it)
[[nodiscard]] bool write_echo_reply(std::span<uint8_t> lead, const parsed& p) noexcept;

struct icmp_error {
    uint8_t type;
    uint8_t code;
    uint32_t rest = 0;  ///< the second word: MTU, or the pointer (IPv4: in its first byte)
};

/// True if an error may be sent for this packet. Never (RFC 1812 section 4.3.2.7, RFC 4443 section
/// 2.4 e) for packets that failed validation, ICMP errors, IPv4 fragments except the first, packets
/// whose source is not a single host, and packets to a multicast or broadcast address of either
/// layer, except IPv6 Packet Too Big and unrecognized options. The caller must check for IPv4
/// directed broadcast.
/// lead     must hold the headers
[[nodiscard]] bool may_report(std::span<const uint8_t> lead, const parsed& p,
                              const icmp_error& error) noexcept;

/// Maximum size of an error message, as an IP packet: RFC 1812 section 4.3.2.3, RFC 4443 section
/// 2.4 c.
inline constexpr uint32_t icmp4_error_max_bytes = 576;
inline constexpr uint32_t icmp6_error_max_bytes = 1280;

/// Write the complete IP packet of an error, from `source` (ours) to the reported packet's sender.
/// Quotes as much of it as the limits, `lead` and `packet` allow.
/// packet   out; must not overlap lead
/// Returns  the bytes written; 0 if may_report() is false, or if not even the IP header and 8 bytes
///          (or the whole payload) fit
[[nodiscard]] uint32_t write_icmp4_error(std::span<uint8_t> packet, std::span<const uint8_t> lead,
                                         const parsed& p, const icmp_error& error,
                                         uint32_t source) noexcept;
[[nodiscard]] uint32_t write_icmp6_error(std::span<uint8_t> packet, std::span<const uint8_t> lead,
                                         const parsed& p, const icmp_error& error,
                                         const ipv6_address& source) noexcept;

/// Initial TTL or hop limit of originated packets.
inline constexpr uint8_t default_ttl = 64;

}  // namespace turnpike::packet
