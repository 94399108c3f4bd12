// SPDX-License-Identifier: BSD-3-Clause
// Reads mirrors.
#pragma once

#include "state/configuration.hpp"
#include "yaml/reader.hpp"

namespace turnpike::sources {

/// Adds the mirror to the configuration; replace: or takes the place of another of its name.
void read_mirror(const yaml::reader& from, state::configuration& into, bool replace = false);

}  // namespace turnpike::sources
