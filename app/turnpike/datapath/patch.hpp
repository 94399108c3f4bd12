// SPDX-License-Identifier: BSD-3-Clause
// Stage patch: a port-to-port cross-connect, all frames unchanged.
//   Reads   packet, count, in_port; port.patch_to
//   Writes  fate, out_port, drop
//   Next    send
//   Drops   runt
#pragma once

#include "datapath/tables.hpp"

namespace turnpike::datapath {

void patch(burst& b, const tables& t) noexcept;

}  // namespace turnpike::datapath
