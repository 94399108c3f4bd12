// SPDX-License-Identifier: BSD-3-Clause
// A live view: what `show` shows, again and again, with rates since the last look.
#pragma once

#include "commands.hpp"

namespace turnpike::ctl {

/// Until `q` or a signal; in a terminal on its whole screen, else a block each time.
int watch(const given& g);

}  // namespace turnpike::ctl
