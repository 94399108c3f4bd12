// SPDX-License-Identifier: BSD-3-Clause
// Multicast listener discovery for groups that turnpike itself joins: reports, so that snooping
// switches forward the groups' packets. Source: RFC 3810 sections 5.1, 5.2 and 6; version 1 on
// links with an older router (section 8), RFC 2710 section 3.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "packet/group_record.hpp"
#include "packet/headers.hpp"
#include "packet/nd.hpp"
#include "packet/parse.hpp"

namespace turnpike::packet {

/// Maximum groups per report in an Ethernet frame (RFC 3810 section 5.2.15: further groups need
/// another report).
inline constexpr size_t mld_groups_max = 60;

/// Length of a report's frame: Ethernet, IPv6, hop-by-hop with a router alert, ICMPv6.
constexpr uint32_t mld_report_bytes(size_t groups) noexcept {
    return static_cast<uint32_t>(sizeof(ethernet_header) + sizeof(ipv6_header) + 8 + 8 +
                                 20 * groups);
}

/// Write the frame of a report to all MLDv2 routers, ff02::16.
/// sender  our MAC and link-local address        groups  at most mld_groups_max
/// Returns the frame's bytes; 0: it does not fit, or there are no groups
uint32_t write_mld_report(std::span<uint8_t> frame, const nd_host& sender,
                          std::span<const ipv6_address> groups, group_record kind) noexcept;

/// Length of a version 1 report's frame: one group.
inline constexpr uint32_t mld1_report_bytes =
    sizeof(ethernet_header) + sizeof(ipv6_header) + 8 + 8 + sizeof(ipv6_address);

/// Write the frame of a version 1 report, to the group itself. Returns its bytes; 0: it does not
/// fit.
uint32_t write_mld1_report(std::span<uint8_t> frame, const nd_host& sender,
                           const ipv6_address& group) noexcept;
/// Write the frame of a version 1 done message, to all routers.
uint32_t write_mld1_done(std::span<uint8_t> frame, const nd_host& sender,
                         const ipv6_address& group) noexcept;

struct mld_query {
    uint8_t version;           ///< 1 or 2
    uint32_t max_response_ms;  ///< responses are spread over it (RFC 3810 section 5.1.3)
    ipv6_address group;        ///< unspecified address: all groups
};
/// A valid general or group-specific query (type 130) that no router forwarded; nullopt: none.
[[nodiscard]] std::optional<mld_query> read_mld_query(std::span<const uint8_t> lead,
                                                      const parsed& p) noexcept;

}  // namespace turnpike::packet
