// SPDX-License-Identifier: BSD-3-Clause
// The state machine; neighbour_changes.cpp has its transactions, neighbour_eviction.cpp the table's limits.
#include "control/neighbours/neighbours.hpp"

#include <algorithm>
#include <utility>

namespace turnpike::control {

using datapath::drop_reason;
using datapath::nexthop_kind;
using nud = neighbour_state;  // RFC 4861 section 7.3.2

constexpr uint64_t not_yet_ms = 100;  ///< retry interval while all source addresses are tentative
constexpr uint64_t ns_per_ms = 1'000'000, ns_per_s = 1'000'000'000;
constexpr uint32_t max_solicit_burst = 1024;  ///< half of a worker's inject ring

neighbours::neighbours(next_hops& nexthops, route_tables& host_routes, uint32_t max_held,
                       neighbour_callbacks callbacks)
    : nexthops_(nexthops),
      host_routes_(host_routes),
      max_held_(max_held),
      callbacks_(std::move(callbacks)),
      interfaces_(datapath::max_interfaces) {}

neighbours::~neighbours() { drop_all_pending(drop_reason::stopping); }

neighbours::entry* neighbours::find(uint16_t interface, const ip_address& a) {
    const auto at = entries_.find({interface, a});
    return at == entries_.end() ? nullptr : at->second.get();
}

/// A new entry with a next hop; null: no next hop is free. Throws std::bad_alloc with nothing
/// changed.
neighbours::entry* neighbours::insert(uint16_t interface, const ip_address& a,
                                      const datapath::interface& on) {
    auto e = std::make_unique<entry>();
    e->interface = interface;
    e->vrf = on.vrf;
    e->address = a;
    e->since = flushes_begun_;
    e->rank = e->parked.insert(e->parked.end(), e.get());
    timer_set one{{0, {interface, a}}};
    e->timer = one.extract(one.begin());
    e->handle = nexthops_.allocate();
    if (!e->handle) return nullptr;
    e->nexthop = e->handle.index();
    datapath::next_hop& h = nexthops_[e->nexthop];
    h.out = {.port = on.port, .interface = interface};
    h.mtu.store(on.mtu, std::memory_order_relaxed);
    h.set_vlan(on.vlan);
    h.set_addresses({}, on.mac);
    h.reason = drop_reason::neighbour_failed;
    h.sends_icmp = true;
    entry* made = e.get();
    const uint32_t index = made->nexthop;  // the entry may be destroyed
    uint32_t& same = addresses_[{on.vrf, a}];
    try {
        by_nexthop_.emplace(made->nexthop, made);
        entries_.emplace(key{interface, a}, std::move(e));
    } catch (...) {
        by_nexthop_.erase(index);
        if (same == 0) addresses_.erase({on.vrf, a});
        throw;
    }
    ++same;
    h.kind.store(nexthop_kind::glean, std::memory_order_release);
    ++interfaces_[interface].entries;
    return made;
}

neighbours::entry* neighbours::make(uint16_t interface, const ip_address& a, role is,
                                    uint64_t now_ms) {
    const of_interface& on = interfaces_[interface];
    if (!on.about || !make_room(interface, is, limits_.limit, dropped_by::caller, now_ms))
        return nullptr;
    return insert(interface, a, *on.about);
}

void neighbours::forget(entry& e, drop_reason why, uint64_t now_ms) {
    drop_pending(e, why);
    if (e.has_route) {
        if (!host_routes_.clear_host(e.vrf, e.address, e.nexthop)) {  // out of memory: retry later
            lose_mac(e);
            e.state = nud::failed;
            rank(e);
            return set_timer(e, now_ms + limits_.retransmit_ms);
        }
        e.has_route = false;
    }
    stop_timer(e);
    unrank(e);
    --interfaces_[e.interface].entries;
    by_nexthop_.erase(e.nexthop);
    if (const auto at = addresses_.find({e.vrf, e.address}); --at->second == 0)
        addresses_.erase(at);
    entries_.erase({e.interface, e.address});
}

void neighbours::resolve(rte_mbuf* packet, uint16_t interface, const ip_address& a,
                         uint64_t now_ms) {
    entry* e = find(interface, a);
    if (e == nullptr) {
        if (!may_solicit(interface, now_ms))
            return callbacks_.drop(packet, drop_reason::resolve_rate);
        e = make(interface, a, role::dynamic, now_ms);
        if (e == nullptr) return callbacks_.drop(packet, drop_reason::neighbour_limit);
        e->asked_for = true;
        start_asking(*e, now_ms);
    }
    resolve_at(*e, packet, now_ms);
}

bool neighbours::resolve_by_nexthop(rte_mbuf* packet, uint32_t nexthop, uint64_t now_ms) {
    const auto at = by_nexthop_.find(nexthop);
    if (at == by_nexthop_.end()) return false;
    resolve_at(*at->second, packet, now_ms);
    return true;
}

void neighbours::resolve_at(entry& e, rte_mbuf* packet, uint64_t now_ms) {
    switch (e.state) {
        case nud::reachable:
        case nud::stale:
        case nud::probe:
            return callbacks_.send(packet, nexthops_[e.nexthop]);
        case nud::failed:
            if (drops_packets(e)) {
                nexthops_[e.nexthop].mark_used();
                return callbacks_.drop(packet, drop_reason::neighbour_failed);
            }
            if (!may_solicit(e.interface, now_ms))
                return callbacks_.drop(packet, drop_reason::resolve_rate);
            start_asking(e, now_ms);
            break;
        default:
            break;
    }
    if (limits_.queue_len == 0) return callbacks_.drop(packet, drop_reason::neighbour_queue_full);
    hold(e, packet);
}

/// RFC 6583 section 6. Per interface, so that a scan of one link delays no resolution on another.
bool neighbours::may_solicit(uint16_t interface, uint64_t now_ms) noexcept {
    const auto rate = token_rate::per_second(
        limits_.solicit_rate, ns_per_s, std::clamp(limits_.solicit_rate, 1U, max_solicit_burst));
    return interfaces_[interface].solicitations.allow(rate, now_ms * ns_per_ms);
}

/// A full queue drops its oldest packet (RFC 1122 section 2.3.2.2, RFC 4861 section 7.2.2).
void neighbours::hold(entry& e, rte_mbuf* packet) {
    if (e.pending.size() >= limits_.queue_len) {
        rte_mbuf* const oldest = e.pending.front()->packet;
        waiting_.erase(e.pending.front());
        e.pending.erase(e.pending.begin());
        callbacks_.drop(oldest, drop_reason::neighbour_queue_full);
    }
    e.pending.reserve(e.pending.size() + 1);
    waiting_.push_back({packet, &e});
    e.pending.push_back(std::prev(waiting_.end()));
    if (waiting_.size() <= max_held_) return;
    const auto [oldest, whose] = waiting_.front();
    std::erase(whose->pending, waiting_.begin());
    waiting_.pop_front();
    callbacks_.drop(oldest, drop_reason::pending_limit);
}

void neighbours::start_asking(entry& e, uint64_t now_ms) {
    e.state = nud::incomplete;
    e.asked_for = true;
    e.attempts = 0;
    rank(e);
    ask(e, now_ms);
}

/// The caller has taken the token of the first solicitation. A retransmission over the rate counts as sent, so
/// that an entry ends in time.
void neighbours::ask(entry& e, uint64_t now_ms) {
    set_timer(e, now_ms + limits_.retransmit_ms);
    if (e.state == nud::incomplete && e.attempts != 0 && !may_solicit(e.interface, now_ms)) {
        ++e.attempts;
        return;
    }
    if (callbacks_.solicit(e.interface, e.address, e.state == nud::probe ? &e.mac : nullptr))
        ++e.attempts;
    else
        set_timer(e, now_ms + std::min<uint64_t>(limits_.retransmit_ms, not_yet_ms));
}

void neighbours::learn(uint16_t interface, const ip_address& a, const mac_address& mac, bool create,
                       uint64_t now_ms) {
    entry* e = find(interface, a);
    if (e == nullptr && create) e = make(interface, a, role::dynamic, now_ms);
    if (e == nullptr || e->fixed) return;
    const bool known = e->state != nud::incomplete && e->state != nud::failed;
    if (known && e->mac == mac) return rank(*e);
    set_mac(*e, mac);
    become_stale(*e, now_ms);
}

void neighbours::confirm(uint16_t interface, const ip_address& a, const neighbour_claim& claim,
                         uint64_t now_ms) {
    entry* e = find(interface, a);
    if (e == nullptr || e->fixed) return;
    // RFC 4861 section 7.2.5.
    const bool known = e->state != nud::incomplete && e->state != nud::failed;
    if (!known && !claim.mac) return;
    const bool other = known && claim.mac && e->mac != *claim.mac;
    if (other && !claim.overrides) {
        if (e->state == nud::reachable) become_stale(*e, now_ms);
        return;
    }
    if (claim.solicited) e->asked_for = true;
    if (!known || other) set_mac(*e, *claim.mac);
    if (claim.solicited)
        become_reachable(*e, now_ms);
    else if (!known || other)
        become_stale(*e, now_ms);
}

bool neighbours::asks(uint16_t interface, const ip_address& a) const noexcept {
    const auto at = entries_.find({interface, a});
    return at != entries_.end() && (at->second->state == nud::incomplete ||
                                    at->second->state == nud::probe || drops_packets(*at->second));
}

/// From here on workers forward by the next hop, through the host route or as a gateway.
void neighbours::set_mac(entry& e, const mac_address& mac) {
    datapath::next_hop& nexthop = nexthops_[e.nexthop];
    const bool known = nexthop.kind.load(std::memory_order_relaxed) == nexthop_kind::adjacency;
    const mac_address was = std::exchange(e.mac, mac);
    e.since = flushes_begun_;
    if (!e.fixed && (!known || was != mac))
        callbacks_.notify({shown(e), known ? std::optional(was) : std::nullopt, mac});
    nexthop.set_destination(mac);
    nexthop.kind.store(nexthop_kind::adjacency, std::memory_order_release);
    add_host_route(e);
    release(e);
}

/// If there is no memory for the host route, packets go through control.
void neighbours::add_host_route(entry& e) {
    if (e.has_route || e.fixed || !is_on_network(e)) return;
    e.has_route =
        host_routes_.set_host(e.vrf, e.address, e.nexthop, interfaces_[e.interface].link_nexthop)
            .has_value();
}

/// Whether the route to the neighbour is a connected network or on-link route of its interface. A gateway may be outside
/// of them (onlink): then only routes lead to it.
bool neighbours::is_on_network(const entry& e) const noexcept {
    return host_routes_.is_on_link(e.vrf, e.address, interfaces_[e.interface].link_nexthop);
}

void neighbours::lose_mac(entry& e) {
    nexthops_[e.nexthop].kind.store(nexthop_kind::glean, std::memory_order_release);
}

/// Whether workers drop the neighbour's packets as neighbour_failed.
bool neighbours::drops_packets(const entry& e) const noexcept {
    return nexthops_[e.nexthop].kind.load(std::memory_order_relaxed) == nexthop_kind::failed;
}

void neighbours::become_reachable(entry& e, uint64_t now_ms) {
    e.state = nud::reachable;
    e.since = flushes_begun_;
    rank(e);
    // RFC 4861 section 6.3.2: MIN_RANDOM_FACTOR and MAX_RANDOM_FACTOR. Neighbours that were resolved together are then
    // not probed together.
    const uint32_t half = limits_.reachable_ms / 2;
    set_timer(e, now_ms + std::uniform_int_distribution<uint32_t>{
                              half, limits_.reachable_ms + half}(random_));
}

void neighbours::become_stale(entry& e, uint64_t now_ms) {
    e.state = nud::stale;
    e.unused_since_ms = now_ms;
    nexthops_[e.nexthop].used.store(0, std::memory_order_relaxed);
    rank(e);
    // Poll `used`, because a worker only sets that flag.
    set_timer(e, now_ms + limits_.retransmit_ms);
}

void neighbours::fail(entry& e, uint64_t now_ms) {
    const bool known = e.state == nud::probe;
    e.state = nud::failed;
    callbacks_.notify({shown(e), known ? std::optional(e.mac) : std::nullopt, std::nullopt});
    if (known && !e.grouped) {
        // RFC 4861 section 7.3.3: the next packet starts address resolution anew, by multicast, since
        // the neighbour may have another MAC address.
        lose_mac(e);
        rank(e);
        if (!e.gateway) set_timer(e, now_ms + limits_.negative_ms);
        return drop_pending(e, drop_reason::neighbour_failed);
    }
    nexthops_[e.nexthop].used.store(0, std::memory_order_relaxed);
    nexthops_[e.nexthop].kind.store(nexthop_kind::failed, std::memory_order_release);
    rank(e);
    e.unused_since_ms = now_ms;
    // The neighbour may have another MAC address.
    if (known && may_solicit(e.interface, now_ms))
        static_cast<void>(callbacks_.solicit(e.interface, e.address, nullptr));
    set_timer(e, now_ms + std::min(limits_.retransmit_ms, limits_.negative_ms));
    drop_pending(e, drop_reason::neighbour_failed);
    add_host_route(e);
}

/// While workers drop packets to a failed neighbour, or ECMP groups leave it out, it is probed at the rate of
/// retransmissions; when they no longer do, its entry ends.
void neighbours::probe_failed(entry& e, uint64_t now_ms) {
    if (!drops_packets(e)) {
        if (!e.gateway) forget(e, drop_reason::neighbour_failed, now_ms);
        return;
    }
    if (nexthops_[e.nexthop].used.exchange(0, std::memory_order_relaxed) || e.grouped) {
        e.unused_since_ms = now_ms;
        if (may_solicit(e.interface, now_ms))
            static_cast<void>(callbacks_.solicit(e.interface, e.address, nullptr));
    } else if (now_ms - e.unused_since_ms >= limits_.negative_ms) {
        if (e.gateway) return lose_mac(e);
        return forget(e, drop_reason::neighbour_failed, now_ms);
    }
    set_timer(e, now_ms + std::min(limits_.retransmit_ms, limits_.negative_ms));
}

neighbours::flush neighbours::begin_flush(const filter& which, drop_reason why) noexcept {
    flush out;
    out.which_ = which;
    out.why_ = why;
    out.number_ = ++flushes_begun_;
    out.next_ = {which.interface.value_or(0), which.address.value_or(ip_address{})};
    return out;
}

void neighbours::flush_entry(entry& e, flush& f, uint64_t now_ms) {
    if (e.since >= f.number_) return;
    drop_pending(e, f.why_);
    if (e.fixed) return;
    ++f.deleted_;
    if (!e.gateway) return forget(e, f.why_, now_ms);
    lose_mac(e);
    e.state = nud::failed;
    // Without a link, the next packet starts address resolution.
    if (f.why_ != drop_reason::port_down && may_solicit(e.interface, now_ms))
        return start_asking(e, now_ms);
    set_timer(e, now_ms);
}

void neighbours::continue_flush(flush& f, uint64_t now_ms) {
    const filter& which = f.which_;
    const uint32_t until = f.deleted_ + max_deleted;
    auto at = entries_.lower_bound(f.next_);
    for (uint32_t n = 0; n < max_visited && f.deleted_ < until; ++n) {
        if (at == entries_.end() || at->first.first > which.interface.value_or(UINT16_MAX)) {
            f.done_ = true;
            return;
        }
        const auto [interface, address] = at->first;
        if (which.address &&
            address != *which.address) {  // to the address on this interface, or the next one
            const bool passed = address > *which.address;
            at = entries_.lower_bound(
                {static_cast<uint16_t>(interface + (passed ? 1 : 0)), *which.address});
            continue;
        }
        entry& e = *at->second;
        ++at;
        flush_entry(e, f, now_ms);
    }
    if (at == entries_.end())
        f.done_ = true;
    else
        f.next_ = at->first;
}

void neighbours::flush_by_ticks(const filter& which, drop_reason why) {
    flushes_.push_back(begin_flush(which, why));
}

/// One timer per entry, which owns the node.
void neighbours::set_timer(entry& e, uint64_t at_ms) {
    stop_timer(e);
    e.deadline_ms = at_ms;
    e.timer.value().first = at_ms;
    timers_.insert(std::move(e.timer));
}

void neighbours::stop_timer(entry& e) {
    if (e.timer.empty()) e.timer = timers_.extract({e.deadline_ms, {e.interface, e.address}});
}

void neighbours::tick(uint64_t now_ms) {
    drop_aside();
    if (!flushes_.empty()) {
        continue_flush(flushes_.front(), now_ms);
        if (flushes_.front().is_done()) flushes_.pop_front();
    }
    for (uint32_t n = 0; n < max_timers && !timers_.empty() && timers_.begin()->first <= now_ms;
         ++n) {
        entry& e = *find(timers_.begin()->second.first, timers_.begin()->second.second);
        stop_timer(e);
        on_time(e, now_ms);
    }
}

void neighbours::on_time(entry& e, uint64_t now_ms) {
    switch (e.state) {
        case nud::incomplete:
        case nud::probe:
            if (e.attempts < limits_.attempts) return ask(e, now_ms);
            return fail(e, now_ms);
        case nud::reachable:
            return become_stale(e, now_ms);
        case nud::stale:
            if (nexthops_[e.nexthop].used.exchange(0, std::memory_order_relaxed)) {
                e.state = nud::probe;
                e.asked_for = true;
                e.attempts = 0;
                rank(e);
                return ask(e, now_ms);
            }
            if (!e.gateway && now_ms - e.unused_since_ms >= limits_.gc_stale_ms)
                return forget(e, drop_reason::neighbour_failed, now_ms);
            return set_timer(e, now_ms + limits_.retransmit_ms);
        default:
            return probe_failed(e, now_ms);
    }
}

void neighbours::release(entry& e) {
    // send() may re-enter with another packet for the same neighbour.
    for (const auto at : std::exchange(e.pending, {})) {
        rte_mbuf* packet = at->packet;
        waiting_.erase(at);
        callbacks_.send(packet, nexthops_[e.nexthop]);
    }
}

void neighbours::drop_pending(entry& e, drop_reason why) {
    for (const auto at : std::exchange(e.pending, {})) {
        rte_mbuf* packet = at->packet;
        waiting_.erase(at);
        callbacks_.drop(packet, why);
    }
}

void neighbours::drop_aside() {
    while (!aside_.empty()) {
        rte_mbuf* const packet = aside_.front().packet;
        aside_.pop_front();
        callbacks_.drop(packet, drop_reason::neighbour_limit);
    }
}

void neighbours::drop_all_pending(drop_reason why) {
    drop_aside();
    for (auto& [whose, e] : entries_) drop_pending(*e, why);
}

std::array<uint32_t, static_cast<size_t>(nud::count_)> neighbours::by_state() const {
    std::array<uint32_t, static_cast<size_t>(nud::count_)> n{};
    for (const auto& [whose, e] : entries_) ++n[static_cast<size_t>(e->state)];
    return n;
}

}  // namespace turnpike::control
