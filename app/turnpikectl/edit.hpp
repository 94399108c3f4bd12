// SPDX-License-Identifier: BSD-3-Clause
// turnpikectl edit: the running configuration in an editor.
#pragma once

#include "commands.hpp"

namespace turnpike::ctl {

/// Opens the running configuration in $VISUAL, $EDITOR or vi; shows the differences, applies them after a question, and
/// confirms after a second one.
int edit_configuration(const given& g);

}  // namespace turnpike::ctl
