// SPDX-License-Identifier: BSD-3-Clause
// Access lists of the configuration. All complain by throwing config::complaint.
#pragma once

#include "config/model.hpp"
#include "config/reader.hpp"

namespace turnpike::config {

/// acl; files that lists name are read too.
void read_lists(const reader& from, model& into);
/// ports[].acl; needs the lists read already.
void read_bindings(const model& in, const reader& from, port& into);

}  // namespace turnpike::config
