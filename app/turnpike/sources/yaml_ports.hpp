// SPDX-License-Identifier: BSD-3-Clause
// Ports and patches of the configuration. All functions report errors by throwing yaml::complaint.
#pragma once

#include "state/configuration.hpp"
#include "yaml/reader.hpp"

namespace turnpike::sources {

/// ports[]: a port, and the interface of its untagged frames. Requires the ACLs.
void read_port(const yaml::reader& from, state::configuration& into);
/// Changes an existing port: the given members replace the old ones.
void read_port_changes(const yaml::reader& from, state::configuration& into);
/// xconnects[]: two existing ports.
void read_patch(const yaml::reader& from, state::configuration& into);

}  // namespace turnpike::sources
