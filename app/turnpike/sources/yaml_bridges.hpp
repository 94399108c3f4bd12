// SPDX-License-Identifier: BSD-3-Clause
// Bridges and VLANs of ports: `bridges` and `interfaces` of the configuration. All complain by throwing
// config::complaint.
#pragma once

#include "config/reader.hpp"
#include "state/desired.hpp"

namespace turnpike::sources {

/// interfaces[]: a VLAN of a port. Needs the ports.
void read_vlan_interface(const config::reader& from, state::desired& into);
/// bridges[]: with its routing interfaces. Needs the ports.
void read_bridge(const config::reader& from, state::desired& into);
/// The bridge and its routing interfaces go; its members are ports without a use.
void remove_bridge(const std::string& name, state::desired& from);

/// One member of a bridge that is there; `replace`: it is one already.
void read_member(const config::reader& from, const std::string& bridge, state::desired& into,
                 bool replace);
/// It is a port without a use then.
void remove_member(const std::string& port, const std::string& bridge, state::desired& from);

/// bridges[].fdb[]: a station, and the port that it is behind; empty where that is not said.
std::pair<state::fixed_station, std::string> read_fixed_station(const config::reader& from);

/// "10, 20-29" as a list: [10, 20-29].
state::vlan_set read_vlans(const config::reader& from);
/// The same, of a set.
std::string vlans_text(const state::vlan_set& vlans);

}  // namespace turnpike::sources
