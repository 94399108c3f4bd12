// SPDX-License-Identifier: BSD-3-Clause
// Stage rewrite, of routed ports: what its next hop means for each packet, and the new headers.
//   Reads   packet, parsed, hop where fate is open; port.{mac, mtu, link_up}, neighbours
//   Writes  fate, out_port, drop, punt; TTL or hop limit, checksum, Ethernet header
//   Next    send
//   Punts   local, resolve, report
//   Drops   no_route, route_blackhole, route_unreachable, directed_broadcast, link_local,
//   port_down,
//           ipv4_ttl, ipv6_hop_limit, ipv4_too_big, ipv4_needs_fragmenting, ipv6_too_big
#pragma once

#include "datapath/tables.hpp"

namespace turnpike::datapath {

void rewrite(burst& b, const tables& t) noexcept;

}  // namespace turnpike::datapath
