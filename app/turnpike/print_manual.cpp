// SPDX-License-Identifier: BSD-3-Clause
// turnpike(1) as roff, on standard output. A program of its own: turnpike needs DPDK to say a word.
#include <cstdio>

#include "command_line.hpp"

int main() { return std::fputs(turnpike::manual_page().c_str(), stdout) < 0 ? 1 : 0; }
