// SPDX-License-Identifier: BSD-3-Clause
// Tunnels, as YAML says them and as it is written.
#pragma once

#include <string>

#include "config/reader.hpp"
#include "state/desired.hpp"

namespace turnpike::sources {

/// One tunnel and its interface, which nobody has yet.
void read_tunnel(const config::reader& from, state::desired& into, bool replace = false);
void add_tunnel(std::string& to, const std::string& name, const state::tunnel& t);

}  // namespace turnpike::sources
