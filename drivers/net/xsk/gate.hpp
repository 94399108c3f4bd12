// SPDX-License-Identifier: BSD-3-Clause
// Lets the control thread take a queue's rings from a worker that polls them. The worker executes
// two plain stores a burst; the control thread executes a process-wide barrier (base/barrier.hpp).
#pragma once

#include <sched.h>

#include <atomic>

#include "base/barrier.hpp"

namespace turnpike::xsk {

class gate {
  public:
    /// Worker. Returns false while the gate is shut: the worker must not touch the rings.
    [[nodiscard]] bool enter() noexcept {
        if (asymmetric_) [[likely]] {
            inside_.store(true, std::memory_order_relaxed);
            std::atomic_signal_fence(std::memory_order_seq_cst);
        } else {
            (void)inside_.exchange(true, std::memory_order_seq_cst);
        }
        if (open_.load(std::memory_order_acquire)) [[likely]]
            return true;
        leave();
        return false;
    }
    void leave() noexcept { inside_.store(false, std::memory_order_release); }

    /// Control thread.
    void open() noexcept { open_.store(true, std::memory_order_release); }
    /// After it returns, the worker is outside and stays outside.
    void shut() noexcept {
        (void)open_.exchange(false, std::memory_order_seq_cst);
        if (asymmetric_) (void)barrier::everywhere();
        while (inside_.load(std::memory_order_acquire)) sched_yield();
    }

  private:
    std::atomic<bool> inside_{false};
    std::atomic<bool> open_{false};
    // a copy here, on the cache line of the other members
    const bool asymmetric_ = barrier::available;
};

}  // namespace turnpike::xsk
