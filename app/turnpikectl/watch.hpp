// SPDX-License-Identifier: BSD-3-Clause
// The output of `show`, periodically, with rates since the last update.
#pragma once

#include "commands.hpp"

namespace turnpike::ctl {

/// Runs until `q` or a signal. Uses the whole screen of a terminal, otherwise prints a block per update.
int watch(const given& g);
/// The same with all rates, and another connection after a restart of turnpike.
int top(const given& g);

}  // namespace turnpike::ctl
