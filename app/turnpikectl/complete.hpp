// SPDX-License-Identifier: BSD-3-Clause
// What may be written next, for shells: their scripts ask turnpikectl itself, so that they know what it
// knows, and what the running turnpike has.
//
//   turnpikectl complete -- show ro     one line each: WORD<tab>HELP; an empty WORD: a file's name
#pragma once

#include "commands.hpp"

namespace turnpike::ctl {

int print_candidates(const given& g);
int print_script(const given& g);

}  // namespace turnpike::ctl
