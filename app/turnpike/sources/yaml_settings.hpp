// SPDX-License-Identifier: BSD-3-Clause
// Numbers of the configuration that are nobody's: what is said replaces what was, the rest stays. All
// complain by throwing config::complaint.
#pragma once

#include "config/reader.hpp"
#include "state/desired.hpp"

namespace turnpike::sources {

state::tx read_tx(const config::reader& from, state::tx out);
state::idle read_idle(const config::reader& from, state::idle out);
state::icmp read_icmp(const config::reader& from, state::icmp out);
/// Of "neighbours:", all but "static".
state::ecmp read_ecmp(const config::reader& from, state::ecmp out);
state::neighbour_limits read_neighbour_limits(const config::reader& from,
                                              state::neighbour_limits out);

}  // namespace turnpike::sources
