// SPDX-License-Identifier: BSD-3-Clause
// The parts of the configuration that make a router; yaml.cpp's other half. All complain by throwing
// config::complaint.
#pragma once

#include <vector>

#include "config/reader.hpp"
#include "state/desired.hpp"

namespace turnpike::sources {

/// A prefix without host bits.
ip_prefix read_network(const config::reader& from);

/// ports[].addresses
std::vector<ip_prefix> read_addresses(const config::reader& from);
/// Two interfaces on one network could not tell which of them a neighbour is behind.
void check_networks(const state::desired& in);

// These need the interfaces read already.
void read_routes(const config::reader& from, state::desired& into);
void read_neighbours(const config::reader& from, state::desired& into);
state::icmp read_icmp(const config::reader& from);

}  // namespace turnpike::sources
