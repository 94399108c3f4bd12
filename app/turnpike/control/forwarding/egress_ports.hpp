// SPDX-License-Identifier: BSD-3-Clause
// The egress ports of each ingress port: a worker needs TX queues of all egress ports of the ports that it polls.
#pragma once

#include <map>
#include <set>
#include <string>

#include "state/configuration.hpp"

namespace turnpike::control {

/// By ingress port.
using egress_ports = std::map<std::string, std::set<std::string>, std::less<>>;

/// Packets of a routed port may leave by all routed ports, and so may packets of a bridge with a routed interface or a tunnel. Copies
/// leave by their mirror's port, or by routed ports.
[[nodiscard]] egress_ports egress_ports_of(const state::configuration& in);

}  // namespace turnpike::control
