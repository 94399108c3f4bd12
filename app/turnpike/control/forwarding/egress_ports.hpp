// SPDX-License-Identifier: BSD-3-Clause
// The ports by which packets may leave: a worker needs a TX queue of each port that is among those of a port it polls.
#pragma once

#include <map>
#include <set>
#include <string>

#include "state/configuration.hpp"

namespace turnpike::control {

/// By ingress port.
using egress_ports = std::map<std::string, std::set<std::string>, std::less<>>;

/// Packets of a routed port may leave by all routed ports, and those of a bridge with a routed interface or a tunnel, too; copies
/// leave by their mirror's port, or by routed ports.
[[nodiscard]] egress_ports egress_ports_of(const state::configuration& in);

}  // namespace turnpike::control
