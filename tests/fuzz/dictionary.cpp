// SPDX-License-Identifier: BSD-3-Clause
// Prints libFuzzer's dictionary of the configuration's keys and words.
#include <cstdio>

#include "sources/schema.hpp"

int main() { return std::fputs(turnpike::sources::fuzz_dictionary().c_str(), stdout) >= 0 ? 0 : 1; }
