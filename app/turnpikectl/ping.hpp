// SPDX-License-Identifier: BSD-3-Clause
// ping and traceroute of the system, run where the kernel has turnpike's host interfaces.
#pragma once

#include "commands.hpp"

namespace turnpike::ctl {

/// Returns the program's exit code.
int ping(const given& g);
int traceroute(const given& g);

}  // namespace turnpike::ctl
