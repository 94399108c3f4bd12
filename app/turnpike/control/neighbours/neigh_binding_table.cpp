// SPDX-License-Identifier: BSD-3-Clause
#include "control/neighbours/neigh_binding_table.hpp"

#include <algorithm>
#include <new>

#include "hash/table_dpdk.hpp"

namespace turnpike::control {

using datapath::address_key;
using datapath::bound_address;

namespace {

constexpr uint64_t expiry_poll_ms =
    10'000;  ///< a look at all takes some milliseconds where they are as many as may be

}  // namespace

result<std::unique_ptr<neigh_binding_table>> neigh_binding_table::create(rcu::qsbr& rcu) {
    hash::config c = hash::eal_config("bridges' addresses", SOCKET_ID_ANY);
    c.max_entries = most;
    c.defer_free = rcu.hook();
    auto table = datapath::address_table::create(c);
    if (!table) return tl::unexpected<error>(table.error());
    std::unique_ptr<neigh_binding_table> made(new neigh_binding_table());
    made->table_ = std::move(*table);
    made->gone_.reserve(most);
    return made;
}

bool neigh_binding_table::has_room(const address_key& address,
                                   const bound_address& who) const noexcept {
    const uint64_t of_domain = of_domain_[domain_of(address)], all = table_->size();
    if (of_domain >= max_of_domain || all >= most) return false;
    const auto at = of_station_.find(station_of(address, who));
    if (at == of_station_.end() || at->second < least_of_station) return true;
    return at->second < std::min(max_of_domain - of_domain, most - all) / share_of_station;
}

void neigh_binding_table::count(const address_key& address, const bound_address& who) {
    ++of_station_[station_of(address, who)];
    ++of_domain_[domain_of(address)];
}

void neigh_binding_table::uncount(const address_key& address, const bound_address& who) noexcept {
    --of_domain_[domain_of(address)];
    const auto at = of_station_.find(station_of(address, who));
    if (--at->second == 0) of_station_.erase(at);
}

/// Without room the binding is not learned. The address's earlier binding ends in any case: its station does not have the
/// address any more.
void neigh_binding_table::learn(const address_key& address, const bound_address& who) noexcept {
    const bound_address before = find(address);
    try {
        if (before && before.mac() == who.mac()) {  // its flags
            static_cast<void>(table_->put(address, who.value()));
            return;
        }
        if (before) forget(address);
        if (!has_room(address, who)) {
            ++refused_;
            return;
        }
        count(address, who);
    } catch (const std::bad_alloc&) {
        ++refused_;
        return;
    }
    try {
        if (table_->put(address, who.value())) return;
    } catch (const std::bad_alloc&) {
    }
    uncount(address, who);
    ++refused_;
}

void neigh_binding_table::forget(const address_key& address) noexcept {
    if (const bound_address who = find(address)) uncount(address, who);
    table_->erase(address);
}

bound_address neigh_binding_table::find(const address_key& address) const noexcept {
    return bound_address(table_->find(address).value_or(0));
}

void neigh_binding_table::drop_domains(const std::function<bool(uint16_t)>& which) noexcept {
    gone_.clear();
    table_->for_each([&](const address_key& k, uint64_t) {
        if (which(domain_of(k))) gone_.push_back(k);
    });
    for (const address_key& k : gone_) forget(k);
}

void neigh_binding_table::tick(uint64_t now_ms, const datapath::fdb_table& fdb_entries) {
    if (now_ms < next_look_ms_) return;
    next_look_ms_ = now_ms + expiry_poll_ms;
    gone_.clear();
    table_->for_each([&](const address_key& k, uint64_t who) {
        if (!fdb_entries.find(bound_address(who).mac() | uint64_t{domain_of(k)} << 48))
            gone_.push_back(k);
    });
    for (const address_key& k : gone_) forget(k);
}

}  // namespace turnpike::control
