// SPDX-License-Identifier: BSD-3-Clause
// Commands whose data exceeds one request.
#pragma once

#include "commands.hpp"

namespace turnpike::ctl {

/// routes FILE: sends the lines in parts, applied as one transaction. Returns the exit code.
int send_routes(const given& g);
/// save [FILE]: without FILE, turnpike writes its startup file.
int save(const given& g);

}  // namespace turnpike::ctl
