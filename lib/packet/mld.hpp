// SPDX-License-Identifier: BSD-3-Clause
// Multicast listener discovery, version 2, of a node that listens to groups of its own: which groups
// those are, so that switches that snoop forward them. Source: RFC 3810 sections 5.1, 5.2 and 6.
#pragma once

#include <cstdint>
#include <span>

#include "packet/headers.hpp"
#include "packet/nd.hpp"
#include "packet/parse.hpp"

namespace turnpike::packet {

/// Groups that fit in one report of an Ethernet frame (RFC 3810 section 5.2.15: more go in others).
inline constexpr size_t mld_groups_max = 60;

/// What a record says of its group; without sources, all of them are listened to.
enum class mld_record : uint8_t {
    is_exclude = 2,  ///< an answer to a query
    to_exclude = 4,  ///< since now
};

/// Bytes of a report's frame: Ethernet, IPv6, hop-by-hop with a router alert, ICMPv6.
constexpr uint32_t mld_report_bytes(size_t groups) noexcept {
    return static_cast<uint32_t>(sizeof(ethernet_header) + sizeof(ipv6_header) + 8 + 8 +
                                 20 * groups);
}

/// The frame of a report to all MLDv2 routers, ff02::16.
/// sender  our MAC and link-local address        groups  at most mld_groups_max
/// Answers the frame's bytes; 0: it does not fit, or there are no groups
uint32_t write_mld_report(std::span<uint8_t> frame, const nd_host& sender,
                          std::span<const ipv6_address> groups, mld_record kind) noexcept;

/// A general or group-specific query (type 130) that came over no router.
[[nodiscard]] bool is_mld_query(std::span<const uint8_t> lead, const parsed& p) noexcept;

}  // namespace turnpike::packet
