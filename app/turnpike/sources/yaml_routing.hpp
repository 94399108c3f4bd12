// SPDX-License-Identifier: BSD-3-Clause
// The routing parts of the configuration. All functions report errors by throwing
// yaml::complaint.
#pragma once

#include <utility>
#include <vector>

#include "state/configuration.hpp"
#include "state/next_hop_rules.hpp"
#include "yaml/reader.hpp"

namespace turnpike::sources {

/// A prefix without host bits, or a host's address.
ip_prefix read_network(const yaml::reader& from);

/// An interface address with its prefix length.
ip_prefix read_address(const yaml::reader& from);
/// ports[].addresses
std::vector<ip_prefix> read_addresses(const yaml::reader& from);

/// The VRF name of an interface; "main" is the empty name.
std::string read_vrf_of(const yaml::reader& from);
/// Gives VRFs without a table the lowest free numbers, in their order.
void assign_tables(state::configuration& in);
/// vrfs[], without a table where none is given
void read_vrf(const yaml::reader& from, state::configuration& into, bool replace = false);

// The following require the interfaces.
void read_routes(const yaml::reader& from, state::configuration& into);
/// The VRF name of routes; "": main.
std::string read_vrf_of_routes(const yaml::reader& from, const state::configuration& in);
/// routes[]: a single route; the VRF is a separate parameter
std::pair<ip_prefix, state::route_target> read_route(const yaml::reader& from,
                                                     const state::configuration& in,
                                                     state::neighbour_finder& find);
/// neighbours.static[]
void read_neighbour(const yaml::reader& from, state::configuration& into, bool replace = false);
/// Address and, if the address does not determine it, port of a static neighbour.
state::neighbour_name read_neighbour_name(const yaml::reader& from, const state::configuration& in);

}  // namespace turnpike::sources
