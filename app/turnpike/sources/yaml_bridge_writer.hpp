// SPDX-License-Identifier: BSD-3-Clause
// A bridge as the configuration has it.
#pragma once

#include <string>

#include "state/bridge.hpp"

namespace turnpike::sources {

/// All but its routing interfaces.
void add_bridge(std::string& to, const std::string& name, const state::bridge& b);

}  // namespace turnpike::sources
