// SPDX-License-Identifier: BSD-3-Clause
// Stage parse, of routed ports: what each packet is, and whether it may be routed at all.
//   Reads   packet, count, in_port; port.{mac, v6, v6_groups}, own_v4
//   Writes  parsed; fate (open: look it up), drop, punt; hop and out_port: none yet. Headers are
//           contiguous afterwards; padding behind the IP packet is cut off
//   Next    lookup
//   Punts   arp, nd, local (multicast groups, link-local addresses)
//   Drops   everything that lib/packet names of Ethernet, VLAN, IPv4 and IPv6; other_mac,
//           group_mac, vlan_on_routed_port, link_local, headers_scattered
#pragma once

#include "datapath/tables.hpp"

namespace turnpike::datapath {

void parse(burst& b, const tables& t) noexcept;

/// The same for patched ports with an access list, after stage patch: what each frame is.
///   Reads   packet, fate where it is send
///   Writes  parsed
///   Next    acl_in
///   Drops   what is IP and cannot be read to its upper layer, or is hidden behind more tags than
///           are read: a list could not judge it. All else passes, ARP and other types unread.
void parse_patched(burst& b) noexcept;

}  // namespace turnpike::datapath
