// SPDX-License-Identifier: BSD-3-Clause
// The parts of the configuration that make a router; yaml.cpp's other half. All complain by throwing
// config::complaint.
#pragma once

#include <utility>
#include <vector>

#include "config/reader.hpp"
#include "state/desired.hpp"
#include "state/next_hop_rules.hpp"

namespace turnpike::sources {

/// A prefix without host bits.
ip_prefix read_network(const config::reader& from);

/// An address that an interface can have, with the length of its network.
ip_prefix read_address(const config::reader& from);
/// ports[].addresses
std::vector<ip_prefix> read_addresses(const config::reader& from);

/// A VRF's name where it is said whose an interface is: "main" is none.
std::string read_vrf_of(const config::reader& from);
/// vrfs[]
void read_vrf(const config::reader& from, state::desired& into, bool replace = false);

// These need the interfaces read already.
void read_routes(const config::reader& from, state::desired& into);
/// The name of the VRF that routes are in ("": the main one), where it is said.
std::string read_vrf_of_routes(const config::reader& from, const state::desired& in);
/// routes[], where it is one route; in which VRF, is said besides
std::pair<ip_prefix, state::route_target> read_route(const config::reader& from,
                                                     const state::desired& in,
                                                     state::neighbour_finder& find);
/// neighbours.static[]
void read_neighbour(const config::reader& from, state::desired& into, bool replace = false);
/// Of a neighbour that is fixed, or was: its address and, where that does not say it, its port.
state::neighbour_name read_neighbour_name(const config::reader& from, const state::desired& in);

}  // namespace turnpike::sources
