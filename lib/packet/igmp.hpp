// SPDX-License-Identifier: BSD-3-Clause
// IGMP for groups that turnpike itself joins: reports, so that routers and snooping switches
// forward the groups' packets. Source: RFC 3376 sections 4 and 5; on links with an older router
// (section 7): version 2, RFC 2236 section 2, and version 1, RFC 1112 appendix I.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "net/mac.hpp"
#include "packet/group_record.hpp"
#include "packet/headers.hpp"
#include "packet/parse.hpp"

namespace turnpike::packet {

inline constexpr uint32_t ipv4_all_hosts = 0xe000'0001;  ///< destination of general queries

struct igmp_host {
    mac_address mac{};
    uint32_t address = 0;  ///< host order
};

/// Maximum groups per report in an Ethernet frame.
inline constexpr size_t igmp_groups_max = 180;
/// Length of a report's frame: Ethernet, IPv4 with a router alert, IGMP.
constexpr uint32_t igmp_report_bytes(size_t groups) noexcept {
    return static_cast<uint32_t>(sizeof(ethernet_header) + sizeof(ipv4_header) + 4 + 8 +
                                 8 * groups);
}

/// Write the frame of a report to all IGMPv3 routers, 224.0.0.22.
/// groups  host order, at most igmp_groups_max
/// Returns the frame's bytes; 0: it does not fit, or there are no groups
uint32_t write_igmp_report(std::span<uint8_t> frame, const igmp_host& sender,
                           std::span<const uint32_t> groups, group_record kind) noexcept;

/// Messages about one group, for older routers.
enum class igmp_older : uint8_t {
    report_1 = 0x12,  ///< to the group
    report_2 = 0x16,  ///< to the group
    leave_2 = 0x17,   ///< to all routers
};
inline constexpr uint32_t igmp_older_bytes = igmp_report_bytes(0);
/// Write the frame of such a message. Returns its bytes; 0: it does not fit.
uint32_t write_igmp_older(std::span<uint8_t> frame, const igmp_host& sender, uint32_t group,
                          igmp_older kind) noexcept;

struct igmp_query {
    uint8_t version;           ///< 1, 2 or 3
    uint32_t max_response_ms;  ///< responses are spread over it
    uint32_t group;            ///< host order; 0: all groups
};
/// A valid query (RFC 3376 sections 4.1 and 7.1; TTL 1, section 4; from version 2 on with a router alert, section
/// 9.1, which rejects off-link queries); nullopt: no valid query, or not completely readable. The caller examines the source.
/// lead  of the packet
[[nodiscard]] std::optional<igmp_query> read_igmp_query(std::span<const uint8_t> lead,
                                                        const parsed& p) noexcept;

}  // namespace turnpike::packet
