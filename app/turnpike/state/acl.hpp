// SPDX-License-Identifier: BSD-3-Clause
// An access list as plain data, ready for lib/acl: which packets each rule matches, and what is done
// with them. The first permit or deny rule that matches decides; every count rule above it that
// matches counts. A list judges IP packets, or frames (l2_match.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "acl/rule.hpp"
#include "base/result.hpp"
#include "state/origin.hpp"

namespace turnpike::state {

enum class acl_action : uint8_t { permit, deny, count };
inline constexpr std::string_view acl_action_names[] = {"permit", "deny", "count"};

/// What lists know of a packet beside its fields, in bits of lib/acl's key that those leave free: a
/// rule that asks for ports asks for has_ports too, so that no packet without ports can match it.
namespace acl_key {
/// In tcp_flags, whose low byte is byte 13 of the TCP header.
inline constexpr uint16_t has_ports = 0x0100, has_tcp_flags = 0x0200, has_icmp_type = 0x0400;
/// Too short to say what it is, or made to overlay what does (RFC 1858, RFC 3128).
inline constexpr uint16_t tiny_fragment = 0x0800;
inline constexpr uint16_t later_fragment = 0x1000;  ///< has no upper-layer header
/// A neighbour discovery message that has come over no router.
inline constexpr uint16_t neighbour_discovery = 0x2000;
/// In vlan, whose low 12 bits are the outer tag's identifier.
inline constexpr uint16_t tagged = 0x8000;
/// In dscp: the upper six bits of the traffic class.
inline constexpr uint8_t dscp_mask = 0xfc;
}  // namespace acl_key

struct acl_rule {
    acl_action action = acl_action::permit;
    std::string name{};             ///< empty: none
    bool ipv4 = true, ipv6 = true;  ///< of an L2 list: the first alone, whose key frames have
    /// Category 0 has what permits and denies, the others what counts, so divided that no two rules
    /// of one match the same packet (divide_counts). Priority and user data follow from its place.
    acl::rule match{};
    origin where{};  ///< nowhere: turnpike's own

    bool operator==(const acl_rule&) const = default;
};

struct acl_list {
    std::string name{};
    bool l2 = false;               ///< judges frames by what Ethernet says of them
    bool default_permits = false;  ///< what no permit or deny rule matches
    uint32_t memory_mb = 256;      ///< of what workers read
    std::vector<acl_rule> rules{};
    uint32_t categories = 1;  ///< to be asked for
    origin where{};

    bool operator==(const acl_list&) const = default;
};

/// Give count rules categories, and the list the number that is to be asked for.
/// Errors  EINVAL with the rule's place: more count rules may match the same packet than there are
[[nodiscard]] result<void> divide_counts(acl_list& list);

}  // namespace turnpike::state
