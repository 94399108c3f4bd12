// SPDX-License-Identifier: BSD-3-Clause
// Interfaces of the kernel: of ports, of default routes, and those below them.
#pragma once

#include <set>
#include <string>

#include "machine.hpp"

namespace turnpike::doctor {

/// The kernel's interface that a port uses; empty: none. Other drivers' `iface` is a new interface, or a socket.
/// device  an EAL device string
[[nodiscard]] std::string interface_used_by(const std::string& device);

/// With the interfaces below: a bond's or bridge's ports, a VLAN's interface.
[[nodiscard]] std::set<std::string> with_lower_interfaces(const machine& m,
                                                          std::set<std::string> names);

/// Interfaces of the default routes, IPv4 and IPv6, and the interfaces below them.
[[nodiscard]] std::set<std::string> default_route_interfaces(const machine& m);

}  // namespace turnpike::doctor
