// SPDX-License-Identifier: BSD-3-Clause
// Access lists of the configuration. All complain by throwing config::complaint.
#pragma once

#include "config/reader.hpp"
#include "state/desired.hpp"

namespace turnpike::sources {

/// acl; files that lists name are read too.
void read_lists(const config::reader& from, state::desired& into);
/// ports[].acl; needs the lists read already.
void read_bindings(const state::desired& in, const config::reader& from, state::interface& into);

}  // namespace turnpike::sources
