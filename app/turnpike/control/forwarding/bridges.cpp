// SPDX-License-Identifier: BSD-3-Clause
// The FDB: learning, moves, dampening, ageing. bridge_snapshot.cpp: transactions.
#include "control/forwarding/bridges.hpp"

#include <rte_ring_elem.h>

#include <algorithm>

namespace turnpike::control {

using datapath::fdb_entry;
using datapath::fdb_key;
using datapath::learnt_fdb_entry;

namespace {

constexpr uint64_t exchange_ms = 1000;
constexpr uint32_t swept_a_round = 8192;   ///< about 0.05 ms
constexpr unsigned learnt_a_round = 1024;  ///< per worker: 5 million per second

uint16_t domain_of(fdb_key key) noexcept { return static_cast<uint16_t>(key >> 48); }

}  // namespace

bridges::bridge_row* bridges::row_of(uint16_t domain,
                                     const std::vector<bridge_row*>& by_domain) noexcept {
    constexpr uint32_t of_one = datapath::domains_of_bridge;
    const size_t number = domain < of_one ? domain : of_one + domain / of_one - 1;
    return number < by_domain.size() ? by_domain[number] : nullptr;
}

std::optional<uint32_t> bridges::find(fdb_key key) const noexcept {
    const auto there = table_->find(key);
    if (!there) return std::nullopt;
    return fdb_entry(*there).number();
}

/// Publish an entry to workers. False: out of memory; the published entry stays.
bool bridges::put(uint32_t number) noexcept {
    const entry& e = entries_[number];
    const bool fixed = e.is != kind::learnt;
    try {
        const auto fresh =
            table_->put(e.key, fdb_entry(number, e.ifindex, fixed, e.dampened).value());
        if (fresh && !*fresh) mark_changed();
        return fresh.has_value();
    } catch (const std::bad_alloc&) {
        return false;
    }
}

std::optional<uint32_t> bridges::add(fdb_key key, uint16_t ifindex, kind is) noexcept {
    try {
        if (free_.empty()) {
            if (entries_.size() == datapath::max_fdb_entries) return std::nullopt;
            // Reserve, so that freeing cannot fail.
            if (free_.capacity() <= entries_.size()) free_.reserve(2 * entries_.size() + 64);
            entries_.emplace_back();
            free_.push_back(static_cast<uint32_t>(entries_.size() - 1));
        }
    } catch (const std::bad_alloc&) {
        return std::nullopt;
    }
    const uint32_t number = free_.back();
    entries_[number] = {.key = key,
                        .ifindex = ifindex,
                        .home = ifindex,
                        .is = is,
                        .heard_s = static_cast<uint32_t>(now_s_)};
    if (!put(number)) {
        entries_[number] = {};
        return std::nullopt;
    }
    free_.pop_back();
    ++used_;
    return number;
}

void bridges::remove(uint32_t number) noexcept {
    entry& e = entries_[number];
    table_->erase(e.key);
    mark_changed();
    if (e.is == kind::learnt) {
        --learnt_at_[e.ifindex];
        if (bridge_row* const row = row_of(domain_of(e.key))) --row->numbers.learnt;
    }
    e = {};
    free_.push_back(number);
    --used_;
}

void bridges::tick(uint64_t now_ms) {
    if (table_ == nullptr) return;
    now_ms_ = now_ms;
    now_s_ = now_ms / 1000;
    process_learned();
    if (now_ms >= next_exchange_ms_ && !exchanging_ && sweep_at_ == sweep_end_) {
        next_exchange_ms_ = now_ms + exchange_ms;
        exchange_maps();
        if (incomplete_) reconcile();
    }
    sweep(swept_a_round);
    if (addresses_ != nullptr) addresses_->tick(now_ms, *table_);
}

void bridges::process_learned() {
    std::array<learnt_fdb_entry, 64> some;
    for (const auto& s : workers_.all())
        for (unsigned taken = 0; taken < learnt_a_round;) {
            const unsigned n = rte_ring_sc_dequeue_burst_elem(s->learnt.get(), some.data(),
                                                              sizeof some[0], some.size(), nullptr);
            if (n == 0) break;
            for (unsigned i = 0; i < n; ++i) table_->prefetch(some[i].key);
            for (unsigned i = 0; i < n; ++i) learn(some[i]);
            taken += n;
        }
}

/// A worker's message may be outdated: by a configuration change, or by another worker's message.
void bridges::learn(const learnt_fdb_entry& l) {
    const auto ifindex = static_cast<uint16_t>(l.ifindex);
    const uint16_t domain = domain_of(l.key);
    bridge_row* const row = row_of(domain);
    if (row == nullptr || !shown_->is_member(domain, ifindex)) return;
    if (const auto number = find(l.key)) {
        const entry& e = entries_[*number];
        if (e.is != kind::learnt || e.ifindex == ifindex) return;
        if (has_room(ifindex)) return move(*number, ifindex);
        ++row->numbers.refused;
        return;
    }
    if (row->numbers.learnt >= row->max_addresses || !has_room(ifindex) ||
        !add(l.key, ifindex, kind::learnt)) {
        ++row->numbers.refused;
        return;
    }
    ++row->numbers.learnt;
    ++row->numbers.learnt_ever;
    ++learnt_at_[ifindex];
}

bool bridges::has_room(uint16_t ifindex) const noexcept {
    const uint32_t max_here = shown_->members[ifindex].max_addresses;
    return max_here == 0 || learnt_at_[ifindex] < max_here;
}

/// An entry that moves too often is held at its home, where it was before. An interface becomes the home when the entry has
/// not moved from there for long: another host can send from a station's address at any moment, but the station's next frame
/// is a move.
void bridges::move(uint32_t number, uint16_t to) {
    entry& e = entries_[number];
    bridge_row& row = *row_of(domain_of(e.key));
    const state::move_damping& limit = row.damping;
    if (e.dampened) return;  // sent before the entry was dampened
    const auto now = static_cast<uint32_t>(now_s_);
    if (now_ms_ - e.moved_ms >= 1000ULL * std::max(limit.within_s, limit.hold_s))
        e.home = e.ifindex;
    e.moved_ms = now_ms_;
    if (e.moves == 0 || now_ms_ - e.moves_since_ms >= 1000ULL * limit.within_s) {
        e.moves_since_ms = now_ms_;
        e.moves = 0;
    }
    if (e.moves < UINT16_MAX) ++e.moves;
    ++row.numbers.moves;
    const bool too_often = limit.moves != 0 && e.moves > limit.moves;
    const uint16_t from = e.ifindex;
    if (!too_often)
        e.ifindex = to;
    else if (shown_->is_member(domain_of(e.key), e.home) && has_room(e.home))
        e.ifindex = e.home;
    e.dampened = too_often;
    e.heard_s = now;
    --learnt_at_[from];
    ++learnt_at_[e.ifindex];
    put(number);  // the key exists: the update does not allocate
    if (!too_often) return;
    e.dampened_until_s = now + limit.hold_s;
    ++row.numbers.dampened;
    notify_(datapath::mac_of(e.key), e.ifindex, to, limit.hold_s);
}

/// Restore static and local entries.
void bridges::reconcile() noexcept {
    incomplete_ = false;
    for (uint32_t n = 0; n < entries_.size(); ++n) {
        const entry& e = entries_[n];
        if (e.is != kind::fixed && e.is != kind::local) continue;
        const auto at = configured_.find(e.key);
        if (at == configured_.end() || !(at->second == configured_fdb_entry{e.ifindex, e.is}))
            remove(n);
    }
    for (const auto& [key, w] : configured_) {
        if (const auto there = find(key)) {
            if (entries_[*there].is != kind::learnt) continue;
            remove(*there);
        }
        if (!add(key, w.ifindex, w.is)) incomplete_ = true;
    }
}

/// Before a change: the entries and bindings of bridges that it removes, whose domains it may give to new ones.
/// next  by domain number, after the change
void bridges::drop_of_removed(const std::vector<bridge_row*>& next) noexcept {
    if (std::equal(by_domain_.begin(), by_domain_.end(), next.begin(), next.end(),
                   [](const bridge_row* was, const bridge_row* is) {
                       return was == nullptr || (is != nullptr && was->life == is->life);
                   }))
        return;
    const auto is_gone = [&](uint16_t domain) {
        const bridge_row *const was = row_of(domain), *const is = row_of(domain, next);
        return was == nullptr || is == nullptr || was->life != is->life;
    };
    for (uint32_t n = 0; n < entries_.size(); ++n)
        if (entries_[n].is != kind::free && is_gone(domain_of(entries_[n].key))) remove(n);
    if (addresses_ != nullptr) addresses_->drop_domains(is_gone);
}

/// After a change: the entries whose interface is no member of their domain any more.
void bridges::drop_misplaced() noexcept {
    for (uint32_t n = 0; n < entries_.size(); ++n)
        if (entries_[n].is != kind::free &&
            !shown_->is_member(domain_of(entries_[n].key), entries_[n].ifindex))
            remove(n);
}

/// Switch each worker to another map; read the previous ones after a grace period.
void bridges::exchange_maps() {
    maps_before_.reserve(workers_.all().size());
    for (const auto& s : workers_.all()) maps_before_.push_back(s->worker_state.exchange_talking());
    exchanging_ = true;
    mark_changed();  // empties the source caches, so that active sources set their bits
    rcu_.hook()({[](void* self, uint64_t) { static_cast<bridges*>(self)->read_maps(); }, this, 0});
}

void bridges::read_maps() noexcept {
    const size_t words = (entries_.size() + 63) / 64;
    std::fill_n(talked_.begin(), words, 0);
    for (uint64_t* const map : maps_before_) {
        for (size_t w = 0; w < words; ++w) talked_[w] |= map[w];
        std::fill_n(map, words, 0);
    }
    maps_before_.clear();
    exchanging_ = false;
    sweep_at_ = 0;
    sweep_end_ = static_cast<uint32_t>(entries_.size());
}

void bridges::sweep(uint32_t most) noexcept {
    const uint32_t end = std::min(sweep_end_, sweep_at_ + most);
    for (; sweep_at_ < end; ++sweep_at_) sweep_entry(sweep_at_);
}

void bridges::sweep_entry(uint32_t number) noexcept {
    entry& e = entries_[number];
    if (e.is != kind::learnt) return;
    const auto now = static_cast<uint32_t>(now_s_);
    bridge_row* const row = row_of(domain_of(e.key));
    if ((talked_[number / 64] >> number % 64 & 1) != 0)
        e.heard_s = now;
    else if (!e.dampened && now - e.heard_s >= row->ageing_s) {
        ++row->numbers.aged;
        return remove(number);
    }
    if (e.dampened && now >= e.dampened_until_s) {
        e.dampened = false;
        e.moves = 0;
        e.moved_ms = now_ms_;
        put(number);
    }
}

bool bridges::fits(const known_fdb_entry& s, const which& w) const noexcept {
    if (w.ifindex && s.ifindex != *w.ifindex) return false;
    if (w.mac && s.mac != *w.mac) return false;
    if (w.bridge.empty() && !w.vlan) return true;
    const auto [bridge, vlan] = name_of(s.domain);
    return (w.bridge.empty() || bridge == w.bridge) && (!w.vlan || vlan == *w.vlan);
}

uint32_t bridges::forget(const which& w) noexcept {
    uint32_t gone = 0;
    for (uint32_t n = 0; n < entries_.size(); ++n) {
        if (entries_[n].is != kind::learnt || !fits(shown(entries_[n]), w)) continue;
        remove(n);
        ++gone;
    }
    return gone;
}

known_fdb_entry bridges::shown(const entry& e) const noexcept {
    return {.mac = datapath::mac_of(e.key),
            .domain = domain_of(e.key),
            .ifindex = e.ifindex,
            .fixed = e.is != kind::learnt,
            .dampened = e.dampened,
            .age_s = e.is == kind::learnt ? now_s_ - e.heard_s : 0};
}

void bridges::for_each(
    uint32_t from,
    const std::function<bool(uint32_t number, const known_fdb_entry&)>& visit) const {
    for (uint32_t n = from; n < entries_.size(); ++n)
        if (entries_[n].is != kind::free && !visit(n, shown(entries_[n]))) return;
}

const bridge_numbers& bridges::numbers_of(const std::string& bridge) const {
    return rows_.at(bridge).numbers;
}
uint16_t bridges::first_domain_of(const std::string& bridge) const {
    return rows_.at(bridge).first_domain;
}
uint64_t bridges::life_of(const std::string& bridge) const { return rows_.at(bridge).life; }

std::pair<std::string, uint16_t> bridges::name_of(uint16_t domain) const {
    for (const auto& [name, row] : rows_) {
        const auto offset = static_cast<uint16_t>(domain - row.first_domain);
        if (offset < (row.vlan_aware ? datapath::domains_of_bridge : 1)) return {name, offset};
    }
    return {};
}

bridges::counts bridges::counted(uint16_t domain) const noexcept {
    counts out = sum_of(domain);
    const bridge_row* const row = row_of(domain);
    if (row == nullptr) return out;
    const counts& before = (*row->before)[domain - row->first_domain];
    out.rx_packets -= before.rx_packets;
    out.rx_bytes -= before.rx_bytes;
    out.tx_packets -= before.tx_packets;
    out.flooded -= before.flooded;
    return out;
}

bridges::counts bridges::sum_of(uint16_t domain) const noexcept {
    counts out;
    for (const auto& s : workers_.all()) {
        const datapath::domain_counters& one = std::as_const(s->worker_state).domain(domain);
        out.rx_packets += one.rx_packets.read();
        out.rx_bytes += one.rx_bytes.read();
        out.tx_packets += one.tx_packets.read();
        out.flooded += one.flooded.read();
    }
    return out;
}

uint64_t bridges::messages_lost() const noexcept {
    uint64_t sum = 0;
    for (const auto& s : workers_.all()) sum += s->worker_state.messages_lost();
    return sum;
}

}  // namespace turnpike::control
