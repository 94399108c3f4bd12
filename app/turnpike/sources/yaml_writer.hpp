// SPDX-License-Identifier: BSD-3-Clause
// Writes a configuration as YAML that reads back as the same configuration. It includes the contents of
// referenced files.
#pragma once

#include <string>

#include "sources/field.hpp"
#include "state/configuration.hpp"

namespace turnpike::sources {

/// YAML, from "eal:" to the routes; ends with a newline.
[[nodiscard]] std::string to_yaml(const state::configuration& d,
                                  written_fields which = written_fields::set);

}  // namespace turnpike::sources
