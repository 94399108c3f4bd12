// SPDX-License-Identifier: BSD-3-Clause
// The objects with counters that observe::report does not have, as plain data. The metrics show them since the start, and
// `show` since `clear counters` (observe/baseline.hpp).
#pragma once

#include "observe/inventory.hpp"

namespace turnpike::control {

class controller;

/// The label of a VRF: `main` has no name in the configuration.
[[nodiscard]] inline std::string vrf_label(const std::string& name) {
    return name.empty() ? "main" : name;
}

// Each adds its objects with their counters since the start.
// Threads  control
void add_interfaces(controller& c, observe::inventory& to);
/// With reserved frames.
void add_bridges(controller& c, observe::inventory& to);
void add_tunnels(controller& c, observe::inventory& to);
void add_mirrors(controller& c, observe::inventory& to);
void add_latencies(controller& c, observe::inventory& to);
void add_sflow(controller& c, observe::inventory& to);
/// With netlink.
void add_host_interfaces(controller& c, observe::inventory& to);
/// All of these.
void add_counted_objects(controller& c, observe::inventory& to);

/// The objects of one of these functions, with counters since `clear counters`.
[[nodiscard]] observe::inventory shown_objects(controller& c,
                                               void (*add)(controller&, observe::inventory&));

}  // namespace turnpike::control
