// SPDX-License-Identifier: BSD-3-Clause
// What `show` shows on DPDK's telemetry socket, for dpdk-telemetry.py and its kin: /turnpike/ports, drops,
// cost and pcie. DPDK asks on threads of its own, which touch nothing of control's: they leave a ticket and
// wait, and control answers one in each of its rounds.
//
//   DPDK's thread --ticket--> desk --> telemetry::serve (control) --JSON--> DPDK's thread --> rte_tel_data
//
// DPDK knows no way to take a command back: what it calls outlives us, and finds the desk closed.
#pragma once

#include <rte_telemetry.h>

#include <chrono>

#include "control/controller.hpp"

namespace turnpike::control {

/// One at a time.
/// Threads  control, if not said otherwise
class telemetry {
  public:
    /// patience  that one waits for control
    explicit telemetry(controller& c, std::chrono::milliseconds patience = std::chrono::seconds(1));
    /// Who waits is told that there is nothing.
    ~telemetry();
    telemetry(const telemetry&) = delete;
    telemetry& operator=(const telemetry&) = delete;

    /// Answers one who waits. To be called often.
    void serve() noexcept;

    /// What DPDK calls. Waits for control.
    /// command  "/turnpike/ports"
    /// thing    of those that there are, only this one; null: all, or their names where all do not fit
    /// Returns  0, or a negative errno: no such command or thing, nobody answers
    /// Threads  any
    static int ask(const char* command, const char* thing, rte_tel_data* into) noexcept;
    /// Requests that wait for control.
    /// Threads  any
    [[nodiscard]] static size_t waiting() noexcept;

  private:
    controller& controller_;
};

}  // namespace turnpike::control
