// SPDX-License-Identifier: BSD-3-Clause
// Prints turnpike(1) as roff on standard output. A separate program, because turnpike itself links DPDK.
#include <cstdio>

#include "command_line.hpp"

int main() { return std::fputs(turnpike::manual_page().c_str(), stdout) < 0 ? 1 : 0; }
