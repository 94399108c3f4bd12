// SPDX-License-Identifier: BSD-3-Clause
#include "control/management/management.hpp"

#include <pthread.h>
#include <rte_lcore.h>
#include <sys/resource.h>

#include <chrono>

#include "observe/log.hpp"

namespace turnpike::control {
namespace {

/// Longest wait for a request of the socket: DPDK's telemetry and a reload by signal wait as long.
constexpr std::chrono::milliseconds longest_wait{5};

/// Run on CPUs without lcores; if there are none, on CPUs without workers; else where the thread is.
void leave_lcores_alone(cpu_set_t cpus) noexcept {
    const auto leave = [&cpus](unsigned lcore) {
        const cpu_set_t used = rte_lcore_cpuset(lcore);
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
            if (CPU_ISSET(cpu, &used)) CPU_CLR(cpu, &cpus);
    };
    unsigned lcore;
    RTE_LCORE_FOREACH_WORKER(lcore) leave(lcore);
    const cpu_set_t without_workers = cpus;
    leave(rte_get_main_lcore());
    const cpu_set_t& best = CPU_COUNT(&cpus) != 0 ? cpus : without_workers;
    if (CPU_COUNT(&best) != 0) pthread_setaffinity_np(pthread_self(), sizeof best, &best);
}

/// Where both threads share a CPU, the control thread goes first.
void yield_to_control() noexcept {
    constexpr int niceness = 5;
    const sched_param none{};
    pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
    ::setpriority(PRIO_PROCESS, 0, niceness);  // of this thread alone, on Linux
}

}  // namespace

management::management(const dependencies& around)
    : around_(around), telemetry_(around.controller, around.calls) {
    connect(true);
    try {
        upkeep_ = beside_lcores("turnpike-host",
                                [this] { around_.controller.host_interfaces().serve_upkeep(); });
        links_ = beside_lcores("turnpike-links", [this] { around_.controller.serve_link_polls(); });
        thread_ = std::thread([this] { work(); });
    } catch (...) {
        end_others();
        connect(false);
        throw;
    }
}

management::~management() {
    stop();
    while (!ended()) {
        around_.calls.serve();
        around_.controller.pass_as_reader();
    }
    thread_.join();
    end_others();
    connect(false);
}

std::thread management::beside_lcores(const char* name, std::function<void()> serve) const {
    return std::thread([name, serve = std::move(serve), cpus = around_.cpus] {
        pthread_setname_np(pthread_self(), name);
        leave_lcores_alone(cpus);
        serve();
    });
}

void management::end_others() noexcept {
    around_.controller.host_interfaces().end_upkeep();
    around_.controller.end_link_polls();
    for (std::thread* const t : {&upkeep_, &links_})
        if (t->joinable()) t->join();
}

void management::connect(bool on) noexcept {
    around_.calls.connect(on);
    around_.controller.set_managed(on);
    around_.controller.host_interfaces().connect_upkeep(on);
    around_.controller.connect_link_polls(on);
}

void management::work() noexcept {
    pthread_setname_np(pthread_self(), "turnpike-mgmt");
    leave_lcores_alone(around_.cpus);
    yield_to_control();
    while (!stop_.load(std::memory_order_relaxed)) {
        try {
            around_.socket.serve(longest_wait);
            around_.requests.tick();
            telemetry_.serve();
            around_.controller.answer_scrapes(around_.calls);
            around_.controller.repeat_beside(around_.calls);
            around_.controller.close_vanished(around_.calls);
            around_.controller.open_absent(around_.calls);
            around_.controller.listen_beside(around_.calls);
            around_.between();
        } catch (const std::exception& e) {  // out of memory
            observe::log(observe::log_level::error, e.what());
        }
    }
    ended_.store(true, std::memory_order_release);
}

}  // namespace turnpike::control
