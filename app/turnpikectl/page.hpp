// SPDX-License-Identifier: BSD-3-Clause
// The report, as JSON or as an HTML page.
#pragma once

#include "commands.hpp"

namespace turnpike::ctl {

/// Prints it; answers the exit code.
int print_report(const given& g);

}  // namespace turnpike::ctl
