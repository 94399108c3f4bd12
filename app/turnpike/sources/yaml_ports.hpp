// SPDX-License-Identifier: BSD-3-Clause
// Ports and patches of the configuration. All complain by throwing config::complaint.
#pragma once

#include "config/reader.hpp"
#include "state/desired.hpp"

namespace turnpike::sources {

/// ports[]: a port, and the interface of its untagged frames; access lists are read already.
void read_port(const config::reader& from, state::desired& into);
/// The same of one that is there: what is said replaces what was, the rest stays.
void read_port_changes(const config::reader& from, state::desired& into);
/// patches[]: two ports that are there.
void read_patch(const config::reader& from, state::desired& into);

}  // namespace turnpike::sources
