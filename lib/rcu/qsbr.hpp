// SPDX-License-Identifier: BSD-3-Clause
// Implements defer_free with rte_rcu_qsbr. One domain per process; all tables of one control thread
// may share it.
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
    /// max_threads  reader IDs are below this
    ///
    /// Errors       ENOMEM, EINVAL
    [[nodiscard]] static result<std::unique_ptr<qsbr>> create(std::string name,
                                                              uint32_t max_threads);
    /// Waits for every reader, then releases everything.
    ~qsbr();
    qsbr(const qsbr&) = delete;
    qsbr& operator=(const qsbr&) = delete;

    /// For config::defer_free of tables. The domain must outlive the tables.
    defer_free hook() noexcept;
    /// Release items that no reader can hold any more; cheap without items. Writer's thread.
    void reclaim() noexcept;
    /// Wait for every online reader, then release everything. Writer's thread; never a reader's.
    void synchronize() noexcept;
    /// Items not released yet.
    size_t pending() const noexcept { return waiting_.size(); }

    /// Readers. Each ID belongs to one thread; a worker's ID may be its lcore index.
    void online(uint32_t thread) noexcept { rte_rcu_qsbr_thread_online(variable_, thread); }
    void offline(uint32_t thread) noexcept { rte_rcu_qsbr_thread_offline(variable_, thread); }
    void quiescent(uint32_t thread) noexcept { rte_rcu_qsbr_quiescent(variable_, thread); }

  private:
    /// A batch of items shares one token: starting one is an atomic add on memory that all readers
    /// poll.
    static constexpr uint32_t batch_items = 32;
    struct waiting {
        deferred item;
        uint64_t token;  // 0: its batch is still open
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
