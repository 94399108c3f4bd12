// SPDX-License-Identifier: BSD-3-Clause
// How the control side takes a queue's rings away while a worker polls it: two plain stores a burst on the
// worker's side, a fence of every thread (base/barrier.hpp) on the other.
#pragma once

#include <sched.h>

#include <atomic>

#include "base/barrier.hpp"

namespace turnpike::xsk {

class gate {
  public:
    /// The worker: false: shut, there are no rings.
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

    /// The control side.
    void open() noexcept { open_.store(true, std::memory_order_release); }
    /// When it returns the worker is out and stays out.
    void shut() noexcept {
        (void)open_.exchange(false, std::memory_order_seq_cst);
        if (asymmetric_) (void)barrier::everywhere();
        while (inside_.load(std::memory_order_acquire)) sched_yield();
    }

  private:
    std::atomic<bool> inside_{false};
    std::atomic<bool> open_{false};
    const bool asymmetric_ = barrier::available;  // here, for it is read with the others
};

}  // namespace turnpike::xsk
