// SPDX-License-Identifier: BSD-3-Clause
// Commands that send or fetch more than a request holds.
#pragma once

#include "commands.hpp"

namespace turnpike::ctl {

/// routes FILE: its lines in parts, made together; the exit code.
int send_routes(const given& g);
/// save [FILE]: without one turnpike writes its own.
int save(const given& g);

}  // namespace turnpike::ctl
