// SPDX-License-Identifier: BSD-3-Clause
// Inputs of turnpike-bench-forward, the same for every forwarder: tables and rules, each in
// turnpike's and in l3fwd's format, and captures that the simnics of ports 0 and 1 send.
//
//   TABLE.routes TABLE.l3fwd           small4 small6 full4 full6
//   RULES.rules RULES.l3fwd            acl1k acl10k
//   TRAFFIC-FRAME-PORT.pcap            small6 mixed stranger stick full4-uniform full4-zipf ... acl1k acl10k vxlan; FRAME 64, imix
#pragma once

#include <string>
#include <vector>

#include "../acl_sets.hpp"
#include "../routes.hpp"

namespace turnpike::bench {

/// Next hop N + 1 is port N: 10.0.N.2 and 2001:db8:N::2.
void write_table(const routes& table, int family, const std::string& path);

/// Writes a list of permit rules for turnpike, and l3fwd's five-tuple routes, all to port 1,
/// followed by one that matches everything else.
void write_rules(const std::vector<acl::rule>& rules, const std::string& path);

/// Address families of the small traffic.
enum class families : uint8_t { ipv6, both_in_turn, one_ipv6_in_32 };
/// 62,500 flows (RFC 2544's and the 2017 paper's number) to the small tables' networks behind the
/// other port.
void write_small_traffic(families of, const std::string& path, bool imix);
/// 62,500 IPv4 flows at port 0, in VLANs 100 to 107 in turn, each to the small table's network of the next VLAN.
void write_stick_traffic(const std::string& path, bool imix);
/// Addresses drawn from the table as in bench-fib; `frames` per port.
void write_table_traffic(const routes& table, int family, const std::string& kind, size_t frames,
                         const std::string& path, bool imix);
/// TCP and UDP headers that match the rules, at port 0 only.
void write_rule_traffic(const rule_set& set, size_t frames, const std::string& path, bool imix);

/// 3,125 pairs of stations: at port 0 in VXLAN, from four endpoints in turn, at port 1 the return
/// traffic, as frames.
void write_tunnel_traffic(const std::string& path, bool imix);

/// Eight routes, four behind each port: /18 of 198.18.0.0/15, /64 of 2001:2::/48 (RFC 2544, 5180).
routes small_table(int family);
/// The table without routes that are not forwardable or overlap the benchmark's own networks.
routes forwardable(const routes& table, int family);

}  // namespace turnpike::bench
