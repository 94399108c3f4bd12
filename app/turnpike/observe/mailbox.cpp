// SPDX-License-Identifier: BSD-3-Clause
#include "observe/mailbox.hpp"

namespace turnpike::observe {

mailbox::copy mailbox::ask(const std::atomic<bool>& stopping) {
    std::unique_lock hold(lock_);
    if (last_ != nullptr && clock::now() - last_at_ < limits_.min_age) return last_;
    const uint64_t seen = copies_;
    asked_.store(true, std::memory_order_relaxed);
    published_.wait_for(hold, limits_.patience, [&] {
        return copies_ != seen || stopping.load(std::memory_order_relaxed);
    });
    return copies_ != seen ? last_ : nullptr;
}

void mailbox::wake() noexcept {
    { const std::lock_guard hold(lock_); }
    published_.notify_all();
}

void mailbox::publish(copy c) noexcept {
    {
        const std::lock_guard hold(lock_);
        asked_.store(false, std::memory_order_relaxed);
        last_.swap(c);
        last_at_ = clock::now();
        ++copies_;
    }
    published_.notify_all();
    // The copy before is freed here, outside of the lock, or by its last reader.
}

}  // namespace turnpike::observe
