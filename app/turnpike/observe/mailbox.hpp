// SPDX-License-Identifier: BSD-3-Clause
// Requests of other threads for the control thread's numbers, answered with a finished copy:
//
//   HTTP thread --ask()--> asked() --> control collects --publish()--> HTTP thread formats and sends
//
// Control only collects, once for all waiting requests, and never waits: it replaces one pointer under a lock that is
// held for nothing longer.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "observe/inventory.hpp"

namespace turnpike::observe {

class mailbox {
  public:
    using clock = std::chrono::steady_clock;
    using copy = std::shared_ptr<const scraped>;
    struct limits {
        std::chrono::milliseconds patience{2000};
        /// A younger copy is served again, so that requests in a row cost control nothing.
        std::chrono::milliseconds min_age{100};
    };

    mailbox() : mailbox(limits{}) {}
    explicit mailbox(const limits& l) : limits_(l) {}

    /// A copy; null: control did not answer in time, or `stopping` became true.
    /// page  with what only the HTML page has
    [[nodiscard]] copy ask(const std::atomic<bool>& stopping, bool page = false);
    /// Makes ask() look at its `stopping` again.
    void wake() noexcept;

    /// Control: whether a copy is wanted.
    [[nodiscard]] bool asked() const noexcept { return asked_.load(std::memory_order_relaxed); }
    /// Control: whether a copy for the HTML page is wanted.
    [[nodiscard]] bool page_asked() const noexcept {
        return page_asked_.load(std::memory_order_relaxed);
    }
    /// Control: the copy; null: it could not be collected, and the requests are refused.
    void publish(copy c) noexcept;

  private:
    const limits limits_;
    std::atomic<bool> asked_{false}, page_asked_{false};
    std::mutex lock_;
    std::condition_variable published_;
    copy last_{};
    clock::time_point last_at_{};
    uint64_t copies_ = 0;
};

}  // namespace turnpike::observe
