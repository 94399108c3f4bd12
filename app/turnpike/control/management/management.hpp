// SPDX-License-Identifier: BSD-3-Clause
// The management thread: requests of the control socket, the configuration file, DPDK's telemetry and the periodic tables,
// beside the control thread, which handles punted packets, neighbours and links, and never waits for this one. Each change
// and each look at tables is a call to the control thread (control_calls.hpp, doc/design/0026-two-threads.md).
#pragma once

#include <sched.h>

#include <atomic>
#include <functional>
#include <thread>

#include "control/management/control_calls.hpp"
#include "control/management/requests.hpp"
#include "control/management/socket_owner.hpp"
#include "control/management/telemetry.hpp"
#include "observe/report.hpp"

namespace turnpike::control {

/// Threads  control, which made it, except where noted
class management {
  public:
    struct dependencies {
        control::controller& controller;
        control_calls& calls;
        control::requests& requests;
        socket_owner& socket;
        /// CPUs that the process could use before EAL bound its threads.
        cpu_set_t cpus;
        /// Called often. Threads  management
        std::function<void()> between = [] {};
    };

    /// Starts the thread. Throws std::system_error: there is no thread.
    explicit management(const dependencies& around);
    /// Waits for the current request, and executes its calls meanwhile.
    ~management();
    management(const management&) = delete;
    management& operator=(const management&) = delete;

    /// The thread ends after its current request, whose calls must still be executed: until ended().
    void stop() noexcept { stop_.store(true, std::memory_order_relaxed); }
    [[nodiscard]] bool ended() const noexcept { return ended_.load(std::memory_order_acquire); }

  private:
    void work() noexcept;
    void connect(bool on) noexcept;
    [[nodiscard]] std::thread beside_lcores(const char* name, std::function<void()> serve) const;
    void end_others() noexcept;

    const dependencies around_;
    telemetry telemetry_;
    std::atomic<bool> stop_{false}, ended_{false};
    std::thread thread_;
    std::thread upkeep_, links_;  ///< requests to the kernel, and to drivers, that may block
};

}  // namespace turnpike::control
