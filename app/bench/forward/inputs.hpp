// SPDX-License-Identifier: BSD-3-Clause
// What turnpike-bench-forward gives to every forwarder alike: tables and rules, each in turnpike's words
// and in l3fwd's, and captures for the simnics of port 0 and 1 to play.
//
//   TABLE.routes TABLE.l3fwd           small4 small6 full4 full6
//   RULES.rules RULES.l3fwd            acl1k acl10k
//   TRAFFIC-FRAME-PORT.pcap            small6 mixed full4-uniform full4-zipf ... acl1k acl10k vxlan; FRAME 64, imix
#pragma once

#include <string>
#include <vector>

#include "../acl_sets.hpp"
#include "../routes.hpp"

namespace turnpike::bench {

/// Next hop N + 1 is port N: behind 10.0.N.2 and 2001:db8:N::2.
void write_table(const routes& table, int family, const std::string& path);

/// The first as a list of permits for turnpike, the second as l3fwd's routes by five-tuple, all to port 1, with one
/// behind them that takes what no rule matches.
void write_rules(const std::vector<acl::rule>& rules, const std::string& path);

/// 62,500 flows (RFC 2544's and the 2017 paper's number) to the small tables' networks behind the other port;
/// family 0: both by turns.
void write_small_traffic(int family, const std::string& path, bool imix);
/// Addresses of the table drawn as bench-fib draws them; `frames` for each port.
void write_table_traffic(const routes& table, int family, const std::string& kind, size_t frames,
                         const std::string& path, bool imix);
/// TCP and UDP headers in the rules, at port 0 alone.
void write_rule_traffic(const rule_set& set, size_t frames, const std::string& path, bool imix);

/// 3,125 pairs of stations: at port 0 in VXLAN, behind four endpoints by turns, at port 1 the way back, as frames.
void write_tunnel_traffic(const std::string& path, bool imix);

/// Eight routes, four behind each port: /18 of 198.18.0.0/15, /64 of 2001:2::/48 (RFC 2544, 5180).
routes small_table(int family);
/// Without what would not be forwarded or is on the bench's own networks.
routes forwardable(const routes& table, int family);

}  // namespace turnpike::bench
