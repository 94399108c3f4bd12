// SPDX-License-Identifier: BSD-3-Clause
// Stage lookup, of routed ports: destinations to next hops, the whole burst at once.
//   Reads   packet, parsed, fate; routes
//   Writes  hop where fate is open
//   Next    rewrite
//   Drops   none
#pragma once

#include "datapath/tables.hpp"

namespace turnpike::datapath {

void lookup(burst& b, const tables& t) noexcept;

}  // namespace turnpike::datapath
