// SPDX-License-Identifier: BSD-3-Clause
#include "control/management/control_calls.hpp"

namespace turnpike::control {

void control_calls::wait_for(const std::function<void()>& work) {
    call mine{work};
    const uint32_t before = executed_.load(std::memory_order_relaxed);
    waiting_.store(&mine, std::memory_order_release);
    executed_.wait(before, std::memory_order_acquire);
    if (mine.thrown) std::rethrow_exception(mine.thrown);
}

void control_calls::serve() noexcept {
    call* const next = waiting_.load(std::memory_order_acquire);
    if (next == nullptr) return;
    waiting_.store(nullptr, std::memory_order_relaxed);
    serving_ = true;
    try {
        next->work();
    } catch (...) {
        next->thrown = std::current_exception();
    }
    serving_ = false;
    executed_.fetch_add(1, std::memory_order_release);
    executed_.notify_one();
}

}  // namespace turnpike::control
