// SPDX-License-Identifier: BSD-3-Clause
// For the service manager's watchdog: a worker that hangs drops all packets of its queues.
#pragma once

#include <vector>

#include "control/forwarding/workers.hpp"

namespace turnpike::control {

/// Threads  control.
class worker_watchdog {
  public:
    /// max_workers  number of workers that there may be
    worker_watchdog(const workers& of, size_t max_workers) : workers_(of), seen_(max_workers) {}

    /// Whether each worker that forwards has completed an iteration since the last call.
    [[nodiscard]] bool all_run() noexcept {
        const auto& slots = workers_.all();
        bool all = true;
        for (size_t w = 0; w < slots.size(); ++w) {
            const uint64_t now = slots[w]->worker.meter().total_cycles.read();
            all = all && (now != seen_[w] || !slots[w]->forwards);
            seen_[w] = now;
        }
        return all;
    }

  private:
    const workers& workers_;
    std::vector<uint64_t> seen_;  ///< cycles, by worker
};

}  // namespace turnpike::control
