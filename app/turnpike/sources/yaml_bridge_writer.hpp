// SPDX-License-Identifier: BSD-3-Clause
// Writes a bridge in the format of the configuration.
#pragma once

#include <string>

#include "state/bridge.hpp"

namespace turnpike::sources {

/// Writes the bridge without its routed interfaces.
void add_bridge(std::string& to, const std::string& name, const state::bridge& b);

}  // namespace turnpike::sources
