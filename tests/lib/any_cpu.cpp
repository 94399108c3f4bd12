// SPDX-License-Identifier: BSD-3-Clause
#include "lib/any_cpu.hpp"

#include <sched.h>

#include <cstring>

namespace turnpike::test {

std::string any_cpu() {
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return "--lcores=0-2";
    std::string list;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &cpus)) list += (list.empty() ? "" : ",") + std::to_string(cpu);
    return "--lcores=(0-2)@(" + list + ")";
}

void run_anywhere() {
    cpu_set_t all;
    memset(&all, 0xff, sizeof all);
    sched_setaffinity(0, sizeof all, &all);
}

}  // namespace turnpike::test
