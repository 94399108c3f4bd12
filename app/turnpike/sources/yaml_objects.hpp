// SPDX-License-Identifier: BSD-3-Clause
// Ports, patches, tunnels and mirrors of the configuration. All functions report errors by throwing yaml::complaint.
#pragma once

#include <string_view>

#include "state/configuration.hpp"
#include "yaml/reader.hpp"

namespace turnpike::sources {

/// ports[]: a port, and the interface of its untagged frames. Requires the ACLs.
void read_port(const yaml::reader& from, state::configuration& into);
/// Changes an existing port: the given members replace the old ones.
void read_port_changes(const yaml::reader& from, state::configuration& into);
/// xconnects[]: two existing ports.
void read_patch(const yaml::reader& from, state::configuration& into);

/// The defaults of these keys depend on the tunnel's address family.
inline constexpr std::string_view tunnel_keys_of_family[] = {"mtu", "checksum"};
/// A tunnel and its interface, which is not a bridge port yet.
void read_tunnel(const yaml::reader& from, state::configuration& into, bool replace = false);
/// Rules across the keys of a tunnel; errors are placed at the keys of `from`.
void check_tunnel(const yaml::reader& from, const state::tunnel& t);

/// Adds the mirror to the configuration; replace: or takes the place of another of its name.
void read_mirror(const yaml::reader& from, state::configuration& into, bool replace = false);

}  // namespace turnpike::sources
