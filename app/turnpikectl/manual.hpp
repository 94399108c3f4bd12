// SPDX-License-Identifier: BSD-3-Clause
// What --help and the manual page say, of the table of commands.
#pragma once

#include <string>
#include <vector>

#include "commands.hpp"

namespace turnpike::ctl {

/// Of the commands that begin with these words; all without.
int print_help(const std::vector<std::string>& words);
/// The manual page, turnpikectl(1), as roff.
int print_manual(const given& g);

}  // namespace turnpike::ctl
