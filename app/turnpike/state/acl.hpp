// SPDX-License-Identifier: BSD-3-Clause
// An ACL as plain data, ready for lib/acl: the match conditions and actions of its rules. The first
// matching permit or deny rule decides; every matching count rule above it counts the packet. An ACL
// filters IP packets, or frames (l2_match.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "acl/rule.hpp"
#include "base/result.hpp"
#include "state/origin.hpp"

namespace turnpike::state {

enum class acl_action : uint8_t { permit, deny, count };
inline constexpr std::string_view acl_action_names[] = {"permit", "deny", "count"};

/// Packet properties beside header fields, in unused bits of lib/acl's key. A rule with ports also
/// requires has_ports, so that packets without ports do not match it.
namespace acl_key {
/// In tcp_flags, whose low byte is byte 13 of the TCP header.
inline constexpr uint16_t has_ports = 0x0100, has_tcp_flags = 0x0200, has_icmp_type = 0x0400;
/// Truncated in the upper-layer header, or able to overwrite it on reassembly (RFC 1858, RFC 3128).
inline constexpr uint16_t tiny_fragment = 0x0800;
inline constexpr uint16_t later_fragment = 0x1000;  ///< has no upper-layer header
/// A neighbour discovery message with hop limit 255.
inline constexpr uint16_t neighbour_discovery = 0x2000;
/// IPv6: the packet has this extension header.
inline constexpr uint16_t has_authentication = 0x4000, has_routing = 0x8000;
/// In vlan, whose low 12 bits are the outer VLAN ID.
inline constexpr uint16_t vlan_id = 0x0fff, tagged = 0x8000;
/// IPv6: the packet has this extension header.
inline constexpr uint16_t has_hop_by_hop = 0x1000, has_fragment_header = 0x2000,
                          has_destination_options = 0x4000;
/// In dscp: the upper six bits of the traffic class.
inline constexpr uint8_t dscp_mask = 0xfc;
}  // namespace acl_key

struct acl_rule {
    acl_action action = acl_action::permit;
    std::string name{};             ///< empty: none
    bool ipv4 = true, ipv6 = true;  ///< of an L2 ACL: ipv4 only, since frames use that key
    /// Category 0 has permit and deny rules, the others count rules, divided such that no two rules
    /// of a category match the same packet (divide_counts). Priority and user data follow from the position.
    acl::rule match{};
    origin where{};  ///< empty: an implicit rule

    bool operator==(const acl_rule&) const = default;
};

/// Conditions of a rule for lib/acl. In IPv6, the protocol of an extension header is a condition on the bits above: the
/// header may be any of the chain. In IPv4 and for other protocols, it is the key's protocol.
[[nodiscard]] acl::rule match_in(const acl_rule& r, bool ipv6) noexcept;

/// Whether an IPv6 packet has the extension header that is a rule's protocol; nullopt: the protocol is none of an extension
/// header.
/// flags, vlan  fields of the packet's key
[[nodiscard]] std::optional<bool> has_extension(uint8_t protocol, uint16_t flags,
                                                uint16_t vlan) noexcept;

struct acl_list {
    std::string name{};
    bool l2 = false;               ///< filters frames by their Ethernet header
    bool default_permits = false;  ///< action without a match
    uint32_t memory_mb = 256;      ///< maximum of the lookup table
    std::vector<acl_rule> rules{};
    uint32_t categories = 1;  ///< categories per lookup
    origin where{};

    bool operator==(const acl_list&) const = default;
};

/// Assigns categories to count rules, and the number of categories to the ACL.
/// Errors  EINVAL with the rule's position: too many overlapping count rules
[[nodiscard]] result<void> divide_counts(acl_list& list);

}  // namespace turnpike::state
