// SPDX-License-Identifier: BSD-3-Clause
// A state as a configuration file: what is read from it is the same state. What the configuration took
// from other files stands in it itself.
#pragma once

#include <string>

#include "state/desired.hpp"

namespace turnpike::sources {

/// YAML, from "eal:" to the routes; ends with a newline.
[[nodiscard]] std::string to_yaml(const state::desired& d);

}  // namespace turnpike::sources
