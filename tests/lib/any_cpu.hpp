// SPDX-License-Identifier: BSD-3-Clause
// Threads on whichever CPU is free. EAL pins an lcore to one CPU otherwise, the same one in all tests that run
// beside each other.
#pragma once

#include <sched.h>

#include <cstring>
#include <string>

namespace turnpike::test {

/// An EAL option, "--lcores=(0-2)@(0,1)": lcores 0 to 2 on all CPUs that the process may run on.
inline std::string any_cpu() {
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return "--lcores=0-2";
    std::string list;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &cpus)) list += (list.empty() ? "" : ",") + std::to_string(cpu);
    return "--lcores=(0-2)@(" + list + ")";
}

/// For a thread of a test's own: EAL pinned the main one, and what that starts inherits it.
inline void run_anywhere() {
    cpu_set_t all;
    memset(&all, 0xff, sizeof all);
    sched_setaffinity(0, sizeof all, &all);
}

}  // namespace turnpike::test
