// SPDX-License-Identifier: BSD-3-Clause
#include "control/routing/next_hops.hpp"

#include <fmt/format.h>
#include <rte_malloc.h>

#include <new>

namespace turnpike::control {

using datapath::drop_reason;
using datapath::next_hop;
using datapath::nexthop_kind;

void next_hops::free_table::operator()(next_hop* t) const noexcept { rte_free(t); }

result<std::unique_ptr<next_hops>> next_hops::create(uint32_t capacity, rcu::qsbr& rcu) {
    std::unique_ptr<next_hops> made(new next_hops());
    made->capacity_ = capacity;
    made->rcu_ = &rcu;
    made->table_.reset(static_cast<next_hop*>(
        rte_malloc("next hops", size_t{capacity} * sizeof(next_hop), alignof(next_hop))));
    if (made->table_ == nullptr)
        return fail(ENOMEM, "next hops",
                    fmt::format("no memory for {} of them; allow fewer neighbours, or reserve more "
                                "hugepages",
                                capacity));
    std::vector<uint32_t> room;
    room.reserve(capacity);
    made->free_ = decltype(made->free_)(std::greater<>(), std::move(room));
    for (uint32_t i = 0; i < capacity; ++i) new (&made->table_.get()[i]) next_hop();
    for (uint32_t i = datapath::fixed_nexthop::first_free; i < capacity; ++i) made->free_.push(i);
    next_hops& t = *made;
    t[datapath::fixed_nexthop::no_route].sends_icmp = true;
    t[datapath::fixed_nexthop::blackhole].reason = drop_reason::route_blackhole;
    t[datapath::fixed_nexthop::unreachable].reason = drop_reason::route_unreachable;
    t[datapath::fixed_nexthop::unreachable].sends_icmp = true;
    t[datapath::fixed_nexthop::prohibited].reason = drop_reason::route_prohibited;
    t[datapath::fixed_nexthop::prohibited].sends_icmp = true;
    t[datapath::fixed_nexthop::not_followed].reason = drop_reason::route_not_followed;
    t[datapath::fixed_nexthop::not_followed].sends_icmp = true;
    t[datapath::fixed_nexthop::local].kind = nexthop_kind::local;
    t[datapath::fixed_nexthop::bogon_destination].reason = drop_reason::bogon_destination;
    t[datapath::fixed_nexthop::broadcast].reason = drop_reason::directed_broadcast;
    return made;
}

nexthop_handle next_hops::allocate() noexcept {
    if (free_.empty()) return {};
    const uint32_t index = free_.top();
    free_.pop();
    return {*this, index};
}

nexthop_handle::~nexthop_handle() {
    if (of_ == nullptr) return;
    of_->drop_if_pinned(index_);
    of_->rcu_->hook()({next_hops::release, of_, index_});
}

void next_hops::drop_if_pinned(uint32_t index) noexcept {
    if (pinned_.contains(index))
        (*this)[index].kind.store(nexthop_kind::drop, std::memory_order_release);
}

void next_hops::release(void* self, uint64_t index) {
    auto& t = *static_cast<next_hops*>(self);
    next_hop& nexthop = t[static_cast<uint32_t>(index)];
    nexthop.kind.store(nexthop_kind::drop, std::memory_order_relaxed);
    nexthop.used.store(0, std::memory_order_relaxed);
    const auto at = t.pinned_.find(static_cast<uint32_t>(index));
    if (at == t.pinned_.end())
        free_index(self, index);
    else
        at->second.released = true;
}

void next_hops::free_index(void* self, uint64_t index) {
    static_cast<next_hops*>(self)->free_.push(static_cast<uint32_t>(index));
}

std::shared_ptr<const void> next_hops::pin(uint32_t index) {
    const auto at = pinned_.try_emplace(index).first;
    ++at->second.pins;
    return {&at->first, [this, index](const void*) { unpin(index); }};  // also if this throws
}

/// Workers may still have the index from a lookup.
void next_hops::unpin(uint32_t index) noexcept {
    const auto at = pinned_.find(index);
    if (--at->second.pins != 0) return;
    const bool released = at->second.released;
    pinned_.erase(at);
    if (released) rcu_->hook()({free_index, this, index});
}

}  // namespace turnpike::control
