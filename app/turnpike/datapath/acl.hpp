// SPDX-License-Identifier: BSD-3-Clause
// Stages acl_in and acl_out: the access list of the port that packets came in by, and those of the
// ports that they leave by. There only where a list is bound (doc/acl.md).
//   Reads   packet, parsed, fate, punt, out_port; port.{acl_in, acl_out}
//   Writes  fate and drop of what is denied; the lists' counters
//   Next    lookup (in), send (out)
//   Drops   acl_deny
// Judged are IPv4 and IPv6 packets. On the way in: all that have not been dropped, those for us too.
// On the way out: what is sent, or waits for its neighbour only; nothing that turnpike itself made.
#pragma once

#include "datapath/tables.hpp"

namespace turnpike::datapath {

/// worker  worker_plan::number: whose counters count
void acl_in(burst& b, const bound_acl& by, uint32_t worker) noexcept;
void acl_out(burst& b, const tables& t, uint32_t worker) noexcept;

}  // namespace turnpike::datapath
