// SPDX-License-Identifier: BSD-3-Clause
// One entry of an ACL: a rule in YAML, or a file of rules in ClassBench format.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "packet/headers.hpp"
#include "state/acl.hpp"
#include "yaml/reader.hpp"

namespace turnpike::sources {

inline constexpr std::array<std::string_view, 8> tcp_flag_names = {
    "fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"};  ///< from bit 0 on

/// Ethertypes, and the range of IEEE 802.3 lengths.
struct named_ethertype {
    std::string_view name;
    acl::port_range type;
};
inline constexpr std::array<named_ethertype, 5> named_ethertypes = {{{"ipv4", {0x0800, 0x0800}},
                                                                     {"arp", {0x0806, 0x0806}},
                                                                     {"ipv6", {0x86dd, 0x86dd}},
                                                                     {"lldp", {0x88cc, 0x88cc}},
                                                                     {"llc", {0, 0x05ff}}}};

struct named_protocol {
    std::string_view name;
    uint8_t number;
};
inline constexpr std::array<named_protocol, 10> named_protocols = {
    {{"icmp", packet::protocol_icmp},
     {"igmp", 2},
     {"tcp", packet::protocol_tcp},
     {"udp", packet::protocol_udp},
     {"gre", 47},
     {"esp", 50},
     {"ospf", 89},
     {"icmpv6", packet::protocol_icmpv6},
     {"sctp", packet::protocol_sctp},
     {"udp-lite", packet::protocol_udp_lite}}};

/// Whether the protocol's header begins with ports.
[[nodiscard]] bool has_ports(uint8_t protocol) noexcept;

/// l2  for an L2 ACL. Throws complaint.
state::acl_rule read_acl_rule(const yaml::reader& from, bool l2);
/// {action, file} or {action, lines}: one rule per line of the file or block, in order. A
/// relative path is relative to the folder of `config_file`. Throws complaint.
std::vector<state::acl_rule> read_acl_file(const yaml::reader& from,
                                           const std::string& config_file);

}  // namespace turnpike::sources
