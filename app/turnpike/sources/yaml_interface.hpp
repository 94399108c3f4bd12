// SPDX-License-Identifier: BSD-3-Clause
// What is said of an interface that routes, alike of a port, of a VLAN and of a bridge. Complains by throwing
// config::complaint.
#pragma once

#include <array>
#include <string_view>

#include "config/reader.hpp"
#include "state/desired.hpp"

namespace turnpike::sources {

/// The keys, beside `addresses`, that have a meaning only where packets are routed.
inline constexpr std::array<std::string_view, 7> routing_keys{
    "vrf", "kernel", "urpf", "macs", "redirects", "source_routed", "router_alert"};

/// Addresses, and those; a key that is not there leaves what `into` has.
void read_routing(const config::reader& from, state::interface& into);

/// The MAC address of one station.
mac_address read_station_mac(const config::reader& from);

}  // namespace turnpike::sources
