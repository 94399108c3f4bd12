// SPDX-License-Identifier: BSD-3-Clause
// Shell completion. The shells' scripts call turnpikectl, which completes from the table of commands and
// from the state of the running turnpike.
//
//   turnpikectl complete -- show ro     one line per candidate: WORD<tab>HELP; an empty WORD: a file name
#pragma once

#include "commands.hpp"

namespace turnpike::ctl {

int print_candidates(const given& g);
int print_script(const given& g);

}  // namespace turnpike::ctl
