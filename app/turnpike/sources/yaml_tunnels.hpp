// SPDX-License-Identifier: BSD-3-Clause
// Reads tunnels.
#pragma once

#include "state/configuration.hpp"
#include "yaml/reader.hpp"

namespace turnpike::sources {

/// A tunnel and its interface, which is not a bridge port yet.
void read_tunnel(const yaml::reader& from, state::configuration& into, bool replace = false);
/// Rules across the keys of a tunnel; errors are placed at the keys of `from`.
void check_tunnel(const yaml::reader& from, const state::tunnel& t);

}  // namespace turnpike::sources
