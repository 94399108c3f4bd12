// SPDX-License-Identifier: BSD-3-Clause
// The differences of two configurations as lines of their files.
#pragma once

#include <string>
#include <vector>

#include "state/configuration.hpp"

namespace turnpike::sources {

/// Lines "- OLD" and "+ NEW", each below the lines of the objects that it is in, which begin with two blanks.
/// Routes are compared where both configurations have at most 10,000.
/// max_lines  a last line tells how many more there are
[[nodiscard]] std::vector<std::string> compare(const state::configuration& before,
                                               const state::configuration& after,
                                               size_t max_lines = 1000);

}  // namespace turnpike::sources
