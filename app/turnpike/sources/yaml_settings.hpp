// SPDX-License-Identifier: BSD-3-Clause
// Global settings of the configuration: given values replace the old ones. All
// functions report errors by throwing yaml::complaint.
#pragma once

#include "state/configuration.hpp"
#include "yaml/reader.hpp"

namespace turnpike::sources {

state::tx read_tx(const yaml::reader& from, state::tx out);
state::idle read_idle(const yaml::reader& from, state::idle out);
state::icmp read_icmp(const yaml::reader& from, state::icmp out);
state::punt_rate read_punt_rate(const yaml::reader& from, state::punt_rate out);
state::metrics read_metrics(const yaml::reader& from);
/// "neighbours:" without "static".
state::ecmp read_ecmp(const yaml::reader& from, state::ecmp out);
/// "neighbours:" without "static".
state::neighbour_limits read_neighbour_limits(const yaml::reader& from,
                                              state::neighbour_limits out);

}  // namespace turnpike::sources
