// SPDX-License-Identifier: BSD-3-Clause
// Threads on whichever CPU is free. EAL pins an lcore to one CPU otherwise, the same one in all tests that run
// beside each other.
#pragma once

#include <string>

namespace turnpike::test {

/// An EAL option, "--lcores=(0-2)@(0,1)": lcores 0 to 2 on all CPUs that the process may run on.
std::string any_cpu();

/// For a thread of a test's own: EAL pinned the main one, and what that starts inherits it.
void run_anywhere();

}  // namespace turnpike::test
