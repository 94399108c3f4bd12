// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes tunnels.
#pragma once

#include <string>

#include "state/configuration.hpp"
#include "yaml/reader.hpp"

namespace turnpike::sources {

/// A tunnel and its interface, which is not a bridge port yet.
void read_tunnel(const yaml::reader& from, state::configuration& into, bool replace = false);
void add_tunnel(std::string& to, const std::string& name, const state::tunnel& t);

}  // namespace turnpike::sources
