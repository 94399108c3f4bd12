// SPDX-License-Identifier: BSD-3-Clause
// Mirrors in YAML: reader and writer.
#pragma once

#include <string>

#include "state/configuration.hpp"
#include "yaml/reader.hpp"

namespace turnpike::sources {

/// Adds the mirror to the configuration.
void read_mirror(const yaml::reader& from, state::configuration& into);

/// Appends the mirror's lines, with all values that the reader takes.
void add_mirror(std::string& to, const std::string& name, const state::mirror& m);

}  // namespace turnpike::sources
