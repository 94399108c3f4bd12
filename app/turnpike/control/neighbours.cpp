// SPDX-License-Identifier: BSD-3-Clause
#include "control/neighbours.hpp"

#include <algorithm>

namespace turnpike::control {

using datapath::neighbour_key;
using datapath::neighbour_table;
using packet::drop_reason;
using state = neighbour_state;

neighbours::neighbours(const config::neighbours& limits, neighbour_table& table,
                       neighbour_actions actions)
    : limits_(limits), table_(table), actions_(std::move(actions)) {}

neighbours::~neighbours() { give_up_all(drop_reason::stopping); }

neighbours::entry* neighbours::find(uint16_t port, const ip_address& a) {
    const auto at = entries_.find({port, a});
    return at == entries_.end() ? nullptr : at->second.get();
}

neighbours::entry* neighbours::make(uint16_t port, const ip_address& a) {
    const neighbour_key key = neighbour_key::of(port, a);
    uint32_t slot = table_.add(key);
    if (slot == neighbour_table::none && evict_failed()) slot = table_.add(key);
    if (slot == neighbour_table::none) return nullptr;
    auto e = std::make_unique<entry>();
    e->port = port;
    e->address = a;
    e->slot = slot;
    return (entries_[{port, a}] = std::move(e)).get();
}

/// At the limit a neighbour that did not answer makes room; its slot is free at the workers' next
/// quiescence, so the newcomer may have to come again.
bool neighbours::evict_failed() {
    while (!failed_.empty()) {
        entry* e = find(failed_.front().first, failed_.front().second);
        failed_.pop();
        if (e == nullptr || e->state != state::failed || e->gateway) continue;
        forget(*e);
        return true;
    }
    return false;
}

void neighbours::forget(entry& e) {
    give_up_held(e, drop_reason::neighbour_failed);
    table_.remove(neighbour_key::of(e.port, e.address));
    entries_.erase({e.port, e.address});
}

result<uint32_t> neighbours::add_gateway(uint16_t port, const ip_address& a) {
    entry* e = find(port, a);
    if (e == nullptr) {
        e = make(port, a);
        if (e == nullptr)
            return turnpike::fail(ENOSPC, "neighbours",
                                  "limit is too small for the gateways of the routes");
        e->state = state::failed;  // nobody has asked yet; the first packet does
    }
    e->gateway = true;
    return e->slot;
}

result<void> neighbours::add_static(uint16_t port, const ip_address& a,
                                    const packet::mac_address& mac) {
    entry* e = find(port, a);
    if (e == nullptr) e = make(port, a);
    if (e == nullptr)
        return turnpike::fail(ENOSPC, "neighbours", "limit is too small for the static ones");
    e->fixed = true;
    e->state = state::reachable;
    set_mac(*e, mac);
    return {};
}

void neighbours::release_gateway(uint16_t port, const ip_address& a, uint64_t now_ms) {
    entry* e = find(port, a);
    if (e == nullptr || !e->gateway) return;
    e->gateway = false;
    if (e->state == state::failed) set_timer(*e, now_ms + limits_.failed_ms);
}

void neighbours::resolve(rte_mbuf* packet, uint16_t port, const ip_address& a, uint64_t now_ms) {
    entry* e = find(port, a);
    if (e == nullptr) {
        e = make(port, a);
        if (e == nullptr) return actions_.give_up(packet, drop_reason::neighbour_limit);
        start_asking(*e, now_ms);
    }
    switch (e->state) {
        case state::reachable:
        case state::stale:
        case state::probe:
            return actions_.send(packet, port, e->mac);
        case state::failed:
            if (now_ms < e->deadline_ms)
                return actions_.give_up(packet, drop_reason::neighbour_failed);
            start_asking(*e, now_ms);
            break;
        default:
            break;
    }
    if (e->held.size() >= limits_.held)
        return actions_.give_up(packet, drop_reason::neighbour_queue_full);
    e->held.push_back(packet);
    ++held_;
}

void neighbours::start_asking(entry& e, uint64_t now_ms) {
    e.state = state::incomplete;
    e.attempts = 0;
    ask(e, now_ms);
}

void neighbours::ask(entry& e, uint64_t now_ms) {
    ++e.attempts;
    actions_.solicit(e.port, e.address, e.state == state::probe ? &e.mac : nullptr);
    set_timer(e, now_ms + limits_.retransmit_ms);
}

void neighbours::learn(uint16_t port, const ip_address& a, const packet::mac_address& mac,
                       bool create, uint64_t now_ms) {
    entry* e = find(port, a);
    if (e == nullptr && create) e = make(port, a);
    if (e == nullptr || e->fixed) return;
    const bool known = e->state != state::incomplete && e->state != state::failed;
    if (known && e->mac == mac) return;
    set_mac(*e, mac);
    become_stale(*e, now_ms);
}

void neighbours::confirm(uint16_t port, const ip_address& a, const neighbour_claim& claim,
                         uint64_t now_ms) {
    entry* e = find(port, a);
    if (e == nullptr || e->fixed) return;
    // RFC 4861 section 7.2.5.
    const bool known = e->state != state::incomplete && e->state != state::failed;
    const bool other = known && e->mac != claim.mac;
    if (other && !claim.overrides) {
        if (e->state == state::reachable) become_stale(*e, now_ms);
        return;
    }
    if (!known || other) set_mac(*e, claim.mac);
    if (claim.solicited)
        become_reachable(*e, now_ms);
    else if (!known || other)
        become_stale(*e, now_ms);
}

void neighbours::set_mac(entry& e, const packet::mac_address& mac) {
    e.mac = mac;
    table_.resolve(e.slot, mac);
    release(e);
}

void neighbours::become_reachable(entry& e, uint64_t now_ms) {
    e.state = state::reachable;
    set_timer(e, now_ms + limits_.reachable_ms);
}

void neighbours::become_stale(entry& e, uint64_t now_ms) {
    e.state = state::stale;
    e.stale_since_ms = now_ms;
    table_.take_used(e.slot);
    // Looked at often, because a worker that uses it only sets a bit.
    set_timer(e, now_ms + limits_.retransmit_ms);
}

void neighbours::fail(entry& e, uint64_t now_ms) {
    e.state = state::failed;
    table_.unresolve(e.slot);
    failed_.push({e.port, e.address});
    set_timer(e, now_ms + limits_.failed_ms);
    give_up_held(e, drop_reason::neighbour_failed);
}

void neighbours::flush(uint16_t port, drop_reason why, uint64_t now_ms) {
    std::vector<entry*> gone;
    for (auto& [whose, e] : entries_)
        if (whose.first == port) gone.push_back(e.get());
    for (entry* e : gone) {
        give_up_held(*e, why);
        if (e->fixed) continue;
        if (!e->gateway) {
            forget(*e);
            continue;
        }
        table_.unresolve(e->slot);
        e->state = state::failed;
        e->deadline_ms = now_ms;  // may be asked for at once
    }
}

void neighbours::set_timer(entry& e, uint64_t at_ms) {
    e.deadline_ms = at_ms;
    timers_.push({at_ms, {e.port, e.address}});
}

void neighbours::tick(uint64_t now_ms) {
    while (!timers_.empty() && timers_.top().at_ms <= now_ms) {
        const timer t = timers_.top();
        timers_.pop();
        entry* e = find(t.whose.first, t.whose.second);
        if (e != nullptr && e->deadline_ms == t.at_ms) on_time(*e, now_ms);
    }
}

void neighbours::on_time(entry& e, uint64_t now_ms) {
    switch (e.state) {
        case state::incomplete:
        case state::probe:
            if (e.attempts < limits_.attempts) return ask(e, now_ms);
            return fail(e, now_ms);
        case state::reachable:
            return become_stale(e, now_ms);
        case state::stale:
            if (table_.take_used(e.slot)) {
                e.state = state::probe;
                e.attempts = 0;
                return ask(e, now_ms);
            }
            if (!e.gateway && now_ms - e.stale_since_ms >= limits_.forget_ms) return forget(e);
            return set_timer(e, now_ms + limits_.retransmit_ms);
        default:
            if (!e.gateway) forget(e);
    }
}

void neighbours::release(entry& e) {
    // send() may come back here with another packet of the same neighbour.
    const std::vector<rte_mbuf*> ready = std::exchange(e.held, {});
    held_ -= ready.size();
    for (rte_mbuf* packet : ready) actions_.send(packet, e.port, e.mac);
}

void neighbours::give_up_held(entry& e, drop_reason why) {
    const std::vector<rte_mbuf*> hopeless = std::exchange(e.held, {});
    held_ -= hopeless.size();
    for (rte_mbuf* packet : hopeless) actions_.give_up(packet, why);
}

void neighbours::give_up_all(drop_reason why) {
    for (auto& [whose, e] : entries_) give_up_held(*e, why);
}

std::array<uint32_t, static_cast<size_t>(state::count_)> neighbours::by_state() const {
    std::array<uint32_t, static_cast<size_t>(state::count_)> n{};
    for (const auto& [whose, e] : entries_) ++n[static_cast<size_t>(e->state)];
    return n;
}

}  // namespace turnpike::control
