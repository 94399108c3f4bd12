// SPDX-License-Identifier: BSD-3-Clause
// All about one port or interface, from several subjects of `show`.
#pragma once

#include "commands.hpp"

namespace turnpike::ctl {

/// show ports PORT, show interfaces INTERFACE: returns the exit code.
int show_object(const given& g);

}  // namespace turnpike::ctl
