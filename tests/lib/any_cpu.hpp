// SPDX-License-Identifier: BSD-3-Clause
// An EAL option: three lcores on whichever CPU is free. EAL pins an lcore to one CPU otherwise, the same one in
// all tests that run beside each other.
#pragma once

#include <sched.h>

#include <string>

namespace turnpike::test {

/// "--lcores=(0-2)@(0,1)": lcores 0 to 2 on all CPUs that the process may run on.
inline std::string any_cpu() {
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return "--lcores=0-2";
    std::string list;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &cpus)) list += (list.empty() ? "" : ",") + std::to_string(cpu);
    return "--lcores=(0-2)@(" + list + ")";
}

}  // namespace turnpike::test
