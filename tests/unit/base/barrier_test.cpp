// SPDX-License-Identifier: BSD-3-Clause
// The barrier reaches a thread on a CPU that was idle when the process registered itself and had run it
// before: there Linux 6.18's MEMBARRIER_CMD_GLOBAL_EXPEDITED does not interrupt it (doc/design/0025).
#include "base/barrier.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace turnpike::barrier {
namespace {

/// The first two CPUs that this process may use.
struct cpu_pair {
    int first = -1, second = -1;

    explicit cpu_pair(const cpu_set_t& allowed) {
        for (int cpu = 0; cpu < CPU_SETSIZE && second < 0; ++cpu)
            if (CPU_ISSET(cpu, &allowed)) (first < 0 ? first : second) = cpu;
    }
};

void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

/// Function call interrupts of a CPU so far (a barrier sends one); -1 if the kernel does not count them.
int64_t calls_of(int cpu) {
    std::ifstream file("/proc/interrupts");
    std::string line;
    std::getline(file, line);
    std::istringstream header(line);
    std::string name;
    int column = 0;
    while (header >> name && name != "CPU" + std::to_string(cpu)) ++column;
    while (std::getline(file, line)) {
        if (line.find("Function call interrupts") == std::string::npos) continue;
        std::istringstream row(line);
        row >> name;
        int64_t calls = -1;
        for (int i = 0; i <= column; ++i) row >> calls;
        return calls;
    }
    return -1;
}

constexpr int barriers = 500;

/// Interrupts of a thread that runs on the first CPU while 500 barriers are executed on the second; -1 if
/// there are no two CPUs, or no interrupts to count.
///
/// The process registers itself after it has run on the first CPU and left it idle: the CPU, while it has
/// nothing else to do, keeps the process's address space loaded.
int64_t interrupts_of_a_thread(const cpu_pair& cpus) {
    if (cpus.second < 0 || calls_of(cpus.first) < 0) return -1;
    pin(cpus.first);
    usleep(1000);
    pin(cpus.second);
    register_process();
    std::atomic<uint64_t> turns = 0;
    std::atomic<bool> stop = false;
    std::thread other([&] {
        pin(cpus.first);
        while (!stop) turns.fetch_add(1);
    });
    while (turns == 0)
        ;
    const int64_t before = calls_of(cpus.first);
    for (int i = 0; i < barriers; ++i) {
        // Only a thread that runs is to be interrupted.
        for (const uint64_t turn = turns; turns == turn;)
            ;
        if (!everywhere()) break;
    }
    const int64_t interrupts = calls_of(cpus.first) - before;
    stop = true;
    other.join();
    return interrupts;
}

int64_t interrupts = -1;

/// Before all other initialization: later, other programs have used the first CPU.
[[gnu::constructor(101)]] void count_interrupts() {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    interrupts = interrupts_of_a_thread(cpu_pair(allowed));
    sched_setaffinity(0, sizeof allowed, &allowed);
}

TEST(barrier, reaches_a_thread_on_a_cpu_that_was_idle_at_registration) {
    if (!available) GTEST_SKIP() << "the kernel has no membarrier: owners pay for a fence";
    if (interrupts < 0)
        GTEST_SKIP() << "one CPU, or no function call interrupts in /proc/interrupts";
    EXPECT_GE(interrupts, barriers / 2) << "interrupts of a running thread by " << barriers;
}

}  // namespace
}  // namespace turnpike::barrier
