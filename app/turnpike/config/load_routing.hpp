// SPDX-License-Identifier: BSD-3-Clause
// The parts of the configuration that make a router; load.cpp's other half. All complain by throwing
// config::complaint.
#pragma once

#include <vector>

#include "config/model.hpp"
#include "config/reader.hpp"

namespace turnpike::config {

/// The port that a node names.
uint16_t port_index(const model& in, const reader& from);

/// A prefix without host bits.
ip_prefix read_network(const reader& from);

/// ports[].addresses
std::vector<ip_prefix> read_addresses(const reader& from);
/// Two ports on one network could not tell which of them a neighbour is behind.
void check_networks(const model& in);

// These need the ports read already.
void read_routes(const reader& from, model& into);
void read_neighbours(const reader& from, model& into);
icmp read_icmp(const reader& from);

}  // namespace turnpike::config
