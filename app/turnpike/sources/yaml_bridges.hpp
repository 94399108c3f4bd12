// SPDX-License-Identifier: BSD-3-Clause
// Bridges and VLAN sub-interfaces: `bridges` and `interfaces` of the configuration. All functions report errors by
// throwing yaml::complaint.
#pragma once

#include "state/configuration.hpp"
#include "yaml/reader.hpp"

namespace turnpike::sources {

/// interfaces[]: a VLAN sub-interface of a port. Requires the ports.
void read_vlan_interface(const yaml::reader& from, state::configuration& into);
/// bridges[]: a bridge with its routed interfaces. Requires the ports.
void read_bridge(const yaml::reader& from, state::configuration& into);
/// Removes a bridge and its routed interfaces; its ports become unconfigured.
void remove_bridge(const std::string& name, state::configuration& from);

/// One port of an existing bridge; `replace`: an existing port of it.
void read_member(const yaml::reader& from, const std::string& bridge, state::configuration& into,
                 bool replace);
/// Removes a bridge port; the port becomes unconfigured.
void remove_member(const std::string& port, const std::string& bridge, state::configuration& from);

/// bridges[].fdb[]: a static FDB entry and its port; the port is empty if not given.
std::pair<state::static_fdb_entry, std::string> read_static_fdb_entry(const yaml::reader& from);

/// Makes a member's VLANs fit its mode, after the keys of `from` were read into it.
void fit_member(const yaml::reader& from, state::bridge_member& m);
/// The routed interface of a bridge for untagged frames, with the keys of `from`.
void add_routed_interface(const yaml::reader& from, const std::string& bridge, uint16_t vlan,
                          state::configuration& into);

}  // namespace turnpike::sources
