// SPDX-License-Identifier: BSD-3-Clause
// A grace period without DPDK, so that TSan instruments all of it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>

#include "rcu/defer.hpp"

namespace turnpike::test {

/// The simplest grace period: an item waits until every reader has passed the epoch in which it was
/// deferred.
template <unsigned Readers>
class epochs {
  public:
    epochs() = default;
    ~epochs() {
        for (const auto& [epoch, item] : waiting_) item.release(item.owner, item.what);
    }
    epochs(const epochs&) = delete;
    epochs& operator=(const epochs&) = delete;
    rcu::defer_free hook() {
        return {this, [](void* self, rcu::deferred item) {
                    auto& me = *static_cast<epochs*>(self);
                    me.waiting_.emplace_back(me.now_.load(), item);
                }};
    }
    void quiescent(unsigned reader) { seen_[reader].store(now_.load()); }
    void leave(unsigned reader) { seen_[reader].store(~uint64_t{0}); }
    void reclaim() {
        now_.fetch_add(1);
        uint64_t oldest = ~uint64_t{0};
        for (const auto& s : seen_) oldest = std::min(oldest, s.load());
        while (!waiting_.empty() && waiting_.front().first < oldest) {
            const rcu::deferred item = waiting_.front().second;
            waiting_.pop_front();
            item.release(item.owner, item.what);
        }
    }
    size_t pending() const { return waiting_.size(); }

  private:
    std::atomic<uint64_t> now_{1};
    std::atomic<uint64_t> seen_[Readers] = {};
    std::deque<std::pair<uint64_t, rcu::deferred>> waiting_;
};

}  // namespace turnpike::test
