// SPDX-License-Identifier: BSD-3-Clause
// `show` on DPDK's telemetry socket, for dpdk-telemetry.py and similar clients: /turnpike/ports, drops,
// cost and pcie. DPDK's callbacks run on its own threads, which do not access control's data: they queue a request
// and wait, and management answers one per iteration.
//
//   DPDK's thread --request--> queue --> telemetry::serve (management) --JSON--> DPDK's thread --> rte_tel_data
//
// DPDK cannot unregister a command: the callback outlives this object, and finds the queue closed.
#pragma once

#include <rte_telemetry.h>

#include <chrono>

#include "control/controller.hpp"
#include "control/management/control_calls.hpp"

namespace turnpike::control {

/// One instance at a time.
/// Threads  management, except where noted
class telemetry {
  public:
    /// calls     to the thread of `c`
    /// patience  timeout of a request
    telemetry(controller& c, control_calls& calls,
              std::chrono::milliseconds patience = std::chrono::seconds(1));
    /// Waiting requests end with an error.
    ~telemetry();
    telemetry(const telemetry&) = delete;
    telemetry& operator=(const telemetry&) = delete;

    /// Answers one waiting request. Call often.
    void serve() noexcept;

    /// DPDK's callback. Waits for control.
    /// command  "/turnpike/ports"
    /// thing    name of one element; null: all, or their names if all do not fit
    /// Returns  0, or a negative errno: unknown command or element, or timeout
    /// Threads  any
    static int ask(const char* command, const char* thing, rte_tel_data* into) noexcept;
    /// Number of waiting requests.
    /// Threads  any
    [[nodiscard]] static size_t waiting() noexcept;

  private:
    controller& controller_;
    control_calls& calls_;
};

}  // namespace turnpike::control
