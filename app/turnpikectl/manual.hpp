// SPDX-License-Identifier: BSD-3-Clause
// --help and the manual page, generated from the table of commands.
#pragma once

#include <string>
#include <vector>

#include "commands.hpp"

namespace turnpike::ctl {

/// Prints the help of the commands that begin with these words.
int print_help(const std::vector<std::string>& words);
/// The manual page, turnpikectl(1), as roff.
int print_manual(const given& g);

}  // namespace turnpike::ctl
