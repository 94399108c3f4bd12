// SPDX-License-Identifier: BSD-3-Clause
#include "observe/mailbox.hpp"

namespace turnpike::observe {

mailbox::copy mailbox::ask(const std::atomic<bool>& stopping, bool page) {
    std::unique_lock hold(lock_);
    const auto suffices = [&] { return !page || (last_ != nullptr && last_->is_for_page()); };
    if (last_ != nullptr && clock::now() - last_at_ < limits_.min_age && suffices()) return last_;
    const uint64_t seen = copies_;
    asked_.store(true, std::memory_order_relaxed);
    if (page) page_asked_.store(true, std::memory_order_relaxed);
    const auto answered = [&] { return copies_ != seen && (last_ == nullptr || suffices()); };
    published_.wait_for(hold, limits_.patience,
                        [&] { return answered() || stopping.load(std::memory_order_relaxed); });
    return answered() ? last_ : nullptr;
}

void mailbox::wake() noexcept {
    { const std::lock_guard hold(lock_); }
    published_.notify_all();
}

void mailbox::publish(copy c) noexcept {
    {
        const std::lock_guard hold(lock_);
        // A page that was asked for while control collected numbers only is still wanted.
        const bool page = page_asked() && c != nullptr && !c->is_for_page();
        page_asked_.store(page, std::memory_order_relaxed);
        asked_.store(page, std::memory_order_relaxed);
        last_.swap(c);
        last_at_ = clock::now();
        ++copies_;
    }
    published_.notify_all();
    // The copy before is freed here, outside of the lock, or by its last reader.
}

}  // namespace turnpike::observe
