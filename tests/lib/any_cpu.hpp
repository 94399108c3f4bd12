// SPDX-License-Identifier: BSD-3-Clause
// Threads on any free CPU. By default EAL pins an lcore to one CPU, the same one in all tests that run in
// parallel.
#pragma once

#include <string>

namespace turnpike::test {

/// An EAL option, "--lcores=(0-2)@(0,1)": lcores 0 to 2 on all CPUs that the process may run on.
std::string any_cpu();

/// For a thread that the test creates: it would inherit the affinity of EAL's main thread.
void run_anywhere();

}  // namespace turnpike::test
