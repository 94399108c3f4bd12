// SPDX-License-Identifier: BSD-3-Clause
// The command `capture`: turnpike writes pcapng to a descriptor of this program (doc/capture.md).
#pragma once

#include "commands.hpp"

namespace turnpike::ctl {

/// Captures until a signal, the wanted number of packets, or the end of the reader. Returns the exit code.
int capture(const given& g);

}  // namespace turnpike::ctl
