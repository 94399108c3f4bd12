// SPDX-License-Identifier: BSD-3-Clause
#include <rte_malloc.h>
#include <rte_pause.h>
#include <sched.h>

#include <new>

#include "rcu/qsbr.hpp"

namespace turnpike::rcu {

result<std::unique_ptr<qsbr>> qsbr::create(std::string name, uint32_t max_threads) {
    const size_t bytes = rte_rcu_qsbr_get_memsize(max_threads);
    if (max_threads == 0 || bytes == 1)
        return fail(EINVAL, name, "an RCU domain needs reader threads");
    std::unique_ptr<qsbr> made(new qsbr(std::move(name)));
    made->variable_ = static_cast<rte_rcu_qsbr*>(rte_zmalloc("qsbr", bytes, RTE_CACHE_LINE_SIZE));
    if (made->variable_ == nullptr) return fail(ENOMEM, made->name_, "no memory for an RCU domain");
    if (rte_rcu_qsbr_init(made->variable_, max_threads) != 0)
        return fail(EINVAL, made->name_, "cannot initialise the RCU domain");
    // Every reader is registered and offline from the start: going offline and online again, as a worker does for each nap,
    // then costs one store and no atomic operation on a bitmap that readers share.
    for (uint32_t thread = 0; thread < max_threads; ++thread)
        rte_rcu_qsbr_thread_register(made->variable_, thread);
    return made;
}

qsbr::~qsbr() {
    if (variable_ == nullptr) return;
    synchronize();
    rte_free(variable_);
}

defer_free qsbr::hook() noexcept {
    return {this, [](void* self, deferred item) { static_cast<qsbr*>(self)->defer(item); }};
}

void qsbr::defer(deferred item) {
    try {
        waiting_.push_back({item, 0});
    } catch (const std::bad_alloc&) {
        synchronize();  // no memory to queue it: wait for the readers instead
        item.release(item.owner, item.what);
        return;
    }
    if (++batch_ < batch_items) return;
    close_batch();
    reclaim();
}

/// Give one token to the items of the open batch.
void qsbr::close_batch() noexcept {
    if (batch_ == 0) return;
    const uint64_t token = rte_rcu_qsbr_start(variable_);
    for (auto w = waiting_.rbegin(); batch_ > 0; ++w, --batch_) w->token = token;
}

void qsbr::reclaim() noexcept {
    if (batch_ != 0) close_batch();
    while (!waiting_.empty() && rte_rcu_qsbr_check(variable_, waiting_.front().token, false) == 1) {
        const deferred item = waiting_.front().item;
        waiting_.pop_front();
        item.release(item.owner, item.what);
    }
}

void qsbr::synchronize() noexcept {
    close_batch();  // its token is then older than the one that is waited for
    // Uses the inline functions, which TSan can instrument.
    const uint64_t token = rte_rcu_qsbr_start(variable_);
    // Yield now and then: a reader may share our CPU, as in tests.
    constexpr unsigned patience = 1000;
    for (unsigned looks = 0; rte_rcu_qsbr_check(variable_, token, false) != 1; ++looks)
        looks < patience ? rte_pause() : static_cast<void>(sched_yield());
    reclaim();
}

}  // namespace turnpike::rcu
