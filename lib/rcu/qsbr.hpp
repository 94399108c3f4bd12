// SPDX-License-Identifier: BSD-3-Clause
// The house's RCU binding: defer_free on rte_rcu_qsbr. One domain a process; lib/fib's and
// lib/acl's tables of one control thread may share it.
//
//   control:  auto domain = *rcu::qsbr::create("routes", max_threads);
//             config.defer_free = domain->hook();   ...   domain->reclaim();  // now and then
//   worker:   domain->online(id);  loop { lookups of a burst...; domain->quiescent(id); }
//             domain->offline(id) before it blocks or ends
#pragma once

#include <rte_rcu_qsbr.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "rcu/defer.hpp"

namespace turnpike::rcu {

class qsbr {
  public:
    /// max_threads  reader ids are below this
    /// Errors       ENOMEM, EINVAL
    [[nodiscard]] static result<std::unique_ptr<qsbr>> create(std::string name,
                                                              uint32_t max_threads);
    /// Waits for every reader, then releases everything.
    ~qsbr();
    qsbr(const qsbr&) = delete;
    qsbr& operator=(const qsbr&) = delete;

    /// What tables take as config::defer_free. The domain outlives the tables.
    defer_free hook() noexcept;
    /// Release what no reader can hold any more; cheap when there is nothing. Writer's thread.
    void reclaim() noexcept;
    /// Wait for every online reader, then release everything. Writer's thread; never a reader's.
    void synchronize() noexcept;
    /// Items that still wait.
    size_t pending() const noexcept { return waiting_.size() + batch_; }

    /// Readers. Each id belongs to one thread; a worker's id may be its lcore's index.
    void online(uint32_t thread) noexcept;
    void offline(uint32_t thread) noexcept;
    void quiescent(uint32_t thread) noexcept { rte_rcu_qsbr_quiescent(variable_, thread); }

  private:
    /// Items share a token in batches: taking one is an atomic add that all readers see.
    static constexpr uint32_t batch_items = 32;
    struct waiting {
        deferred item;
        uint64_t token;  // 0: its batch has none yet
    };

    explicit qsbr(std::string name) : name_(std::move(name)) {}
    void defer(deferred item);
    void close_batch() noexcept;

    std::string name_;
    rte_rcu_qsbr* variable_ = nullptr;
    std::deque<waiting> waiting_;
    uint32_t batch_ = 0;  // items at the end of waiting_ without a token
};

}  // namespace turnpike::rcu
