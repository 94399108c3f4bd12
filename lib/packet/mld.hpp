// SPDX-License-Identifier: BSD-3-Clause
// Multicast listener discovery of a node that listens to groups of its own: which groups those are, so
// that switches that snoop forward them. Source: RFC 3810 sections 5.1, 5.2 and 6; version 1, which a
// link with an older router speaks (section 8), RFC 2710 section 3.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "packet/group_record.hpp"
#include "packet/headers.hpp"
#include "packet/nd.hpp"
#include "packet/parse.hpp"

namespace turnpike::packet {

/// Groups that fit in one report of an Ethernet frame (RFC 3810 section 5.2.15: more go in others).
inline constexpr size_t mld_groups_max = 60;

/// Bytes of a report's frame: Ethernet, IPv6, hop-by-hop with a router alert, ICMPv6.
constexpr uint32_t mld_report_bytes(size_t groups) noexcept {
    return static_cast<uint32_t>(sizeof(ethernet_header) + sizeof(ipv6_header) + 8 + 8 +
                                 20 * groups);
}

/// The frame of a report to all MLDv2 routers, ff02::16.
/// sender  our MAC and link-local address        groups  at most mld_groups_max
/// Answers the frame's bytes; 0: it does not fit, or there are no groups
uint32_t write_mld_report(std::span<uint8_t> frame, const nd_host& sender,
                          std::span<const ipv6_address> groups, group_record kind) noexcept;

/// Bytes of a version 1 report's frame: one group.
inline constexpr uint32_t mld1_report_bytes =
    sizeof(ethernet_header) + sizeof(ipv6_header) + 8 + 8 + sizeof(ipv6_address);

/// The frame of a version 1 report, to the group itself. Answers its bytes; 0: it does not fit.
uint32_t write_mld1_report(std::span<uint8_t> frame, const nd_host& sender,
                           const ipv6_address& group) noexcept;
/// The same of a group that is not listened to any more, to all routers.
uint32_t write_mld1_done(std::span<uint8_t> frame, const nd_host& sender,
                         const ipv6_address& group) noexcept;

struct mld_query {
    uint8_t version;           ///< 1 or 2
    uint32_t max_response_ms;  ///< answers are spread over it (RFC 3810 section 5.1.3)
    ipv6_address group;        ///< the unspecified one: all
};
/// A general or group-specific query (type 130) that came over no router; nullopt: none.
[[nodiscard]] std::optional<mld_query> read_mld_query(std::span<const uint8_t> lead,
                                                      const parsed& p) noexcept;

}  // namespace turnpike::packet
