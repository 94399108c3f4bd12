// SPDX-License-Identifier: BSD-3-Clause
// ICMP (RFC 792) and ICMPv6 (RFC 4443): validation, echo replies in place, and error messages with
// the rules that say about what none may be sent.
//
// `lead` is always the leading contiguous bytes of the frame that `p` was parsed from.
#pragma once

#include <cstdint>
#include <span>

#include "packet/drop_reason.hpp"
#include "packet/headers.hpp"
#include "packet/parse.hpp"

namespace turnpike::packet {

/// The folded sum of an ICMPv6 message with its pseudo-header (RFC 8200 section 8.1): 0xffff
/// exactly where its checksum is right; the complement of the checksum where that field is 0.
[[nodiscard]] uint16_t icmp6_sum(const ipv6_address& source, const ipv6_address& destination,
                                 std::span<const uint8_t> message) noexcept;

/// Length and checksum of an ICMP message of either IP, before we act on it.
/// lead     must hold the whole datagram
/// Answers  icmp_cut (also for a fragment: not a whole message), icmp_checksum or none
[[nodiscard]] drop_reason check_icmp(std::span<const uint8_t> lead, const parsed& p) noexcept;

/// Turn an echo request to a unicast address into its reply: IP addresses exchanged, a new TTL, the
/// type, and both checksums by what changed, so that the data may lie in other segments. The
/// Ethernet header stays as it is.
/// lead     must hold the headers
/// Answers  false, and has changed nothing, for what is no whole request without IPv4 options
///          (RFC 1812 section 4.3.3.6 would have a source route reversed)
[[nodiscard]] bool write_echo_reply(std::span<uint8_t> lead, const parsed& p) noexcept;

struct icmp_error {
    uint8_t type;
    uint8_t code;
    uint32_t rest = 0;  ///< the second word: MTU, or the pointer (IPv4: in its first byte)
};

/// May this packet be reported with that error? Never (RFC 1812 section 4.3.2.7, RFC 4443 section
/// 2.4 e) what failed validation, an ICMP error, an IPv4 fragment but the first, what came from no
/// single host's address, or what went to a multicast or broadcast address of either layer, IPv6
/// Packet Too Big and unrecognized options excepted. That an IPv4 destination is a directed
/// broadcast only the caller can know.
/// lead     must hold the headers
[[nodiscard]] bool may_report(std::span<const uint8_t> lead, const parsed& p,
                              const icmp_error& error) noexcept;

/// What an error message may have at most, as an IP packet: RFC 1812 section 4.3.2.3, RFC 4443
/// section 2.4 c.
inline constexpr uint32_t icmp4_error_max_bytes = 576;
inline constexpr uint32_t icmp6_error_max_bytes = 1280;

/// Write the whole IP packet, from `source` (ours) to the reported packet's sender, quoting as much
/// of it as it may have, as `lead` holds and as `packet` has room for.
/// packet   out; not part of lead
/// Answers  the bytes written; 0 where may_report says no, or where not even the IP header and
///          8 bytes more (or all there is) can be quoted
[[nodiscard]] uint32_t write_icmp4_error(std::span<uint8_t> packet, std::span<const uint8_t> lead,
                                         const parsed& p, const icmp_error& error,
                                         uint32_t source) noexcept;
[[nodiscard]] uint32_t write_icmp6_error(std::span<uint8_t> packet, std::span<const uint8_t> lead,
                                         const parsed& p, const icmp_error& error,
                                         const ipv6_address& source) noexcept;

/// What our own packets start with.
inline constexpr uint8_t default_ttl = 64;

}  // namespace turnpike::packet
