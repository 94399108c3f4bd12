// SPDX-License-Identifier: BSD-3-Clause
// The limits of the neighbour table: room for gateways and static neighbours, shares of the interfaces, eviction.
#include <algorithm>
#include <numeric>
#include <utility>

#include "control/neighbours/neighbours.hpp"

namespace turnpike::control {

using datapath::drop_reason;

/// The LRU list of an entry's class; null: the entry may not be evicted.
neighbours::lru* neighbours::list_of(const entry& e) {
    if (e.gateway || e.fixed) return nullptr;
    worth w = worth::failed;
    if (e.state == neighbour_state::stale) w = e.asked_for ? worth::solicited : worth::unsolicited;
    if (e.state == neighbour_state::incomplete) w = worth::solicited;  // packets wait for it
    if (e.state == neighbour_state::reachable || e.state == neighbour_state::probe)
        w = worth::reachable;
    return &interfaces_[e.interface].takeable[static_cast<size_t>(w)];
}

/// The entry was used: move it to the end of its list.
void neighbours::rank(entry& e) {
    unrank(e);
    e.ranked_in = list_of(e);
    if (e.ranked_in == nullptr) return;
    e.ranked_in->splice(e.ranked_in->end(), e.parked, e.rank);
    ++dynamic_;
}

void neighbours::update_rank(entry& e) {
    if (list_of(e) != e.ranked_in) rank(e);
}

void neighbours::unrank(entry& e) {
    if (e.ranked_in == nullptr) return;
    e.parked.splice(e.parked.end(), *e.ranked_in, e.rank);
    e.ranked_in = nullptr;
    --dynamic_;
}

/// The first entry of the lists up to this one; null: they are empty.
neighbours::entry* neighbours::victim(of_interface& i, worth most) {
    for (size_t w = 0; w <= static_cast<size_t>(most); ++w)
        if (!i.takeable[w].empty()) return i.takeable[w].front();
    return nullptr;
}

/// Maximum number of dynamic entries: an eighth of the table, or more where there are more, is for the others.
size_t neighbours::max_dynamic(uint32_t limit) const noexcept {
    const size_t lasting = std::max<size_t>(entries_.size() - dynamic_, limit / reserved_share);
    return limit - std::min<size_t>(limit, lasting);
}

bool neighbours::has_room_for(role is, uint32_t limit) const noexcept {
    return is == role::dynamic ? dynamic_ < max_dynamic(limit) : entries_.size() < limit;
}

bool neighbours::has_room() const noexcept {
    return learned_ < max_learned(limits_) &&
           (has_room_for(role::lasting, limits_.limit) || dynamic_ != 0);
}

/// The dynamic entry to evict for a new entry. The interfaces have equal shares of the dynamic entries. An interface that
/// has its share gives up one of its entries that are not reachable, if it has one. Otherwise the interface with the most
/// entries gives up an entry, if it is above its share and has no fewer entries than the interface of the new one.
/// A reachable entry is evicted if no such interface has another. So an interface keeps its share, independent of the
/// number of entries of other interfaces. Null: there is no dynamic entry.
neighbours::entry* neighbours::victim_for(uint16_t interface, role is, uint32_t limit) {
    const size_t lasting = entries_.size() - dynamic_ + 1;
    const size_t room =
        is == role::dynamic ? max_dynamic(limit) : limit - std::min<size_t>(limit, lasting);
    const size_t share = room / std::max(1U, routed_interfaces_);
    of_interface& own = interfaces_[interface];
    const auto entries_of = [&](const of_interface& i) {  // with the new one
        return std::accumulate(i.takeable.begin(), i.takeable.end(),
                               size_t{is == role::dynamic && &i == &own},
                               [](size_t n, const lru& list) { return n + list.size(); });
    };
    const size_t own_entries = entries_of(own);
    if (own_entries > share)
        if (entry* const e = victim(own, worth::solicited); e != nullptr) return e;
    for (const worth most : {worth::solicited, worth::reachable}) {
        entry* found = nullptr;
        size_t found_entries = 0;
        for (of_interface& i : interfaces_) {
            const size_t n = entries_of(i);
            if (n <= share || n < own_entries || n <= found_entries) continue;
            entry* const e = victim(i, most);
            if (e == nullptr) continue;
            found = e;
            found_entries = n;
        }
        if (found != nullptr) return found;
    }
    return nullptr;
}

/// Make room for an entry. Where the limit was lowered, two go for each that comes, until the table is within it.
/// Returns  false: there is none
bool neighbours::make_room(uint16_t interface, role is, uint32_t limit, dropped_by by,
                           uint64_t now_ms) {
    const size_t before = entries_.size();
    for (unsigned gone = 0; gone < 2 && !has_room_for(is, limit); ++gone) {
        entry* const e = victim_for(interface, is, limit);
        if (e == nullptr) break;
        if (by == dropped_by::tick)
            for (const auto at : std::exchange(e->pending, {}))
                aside_.splice(aside_.end(), waiting_, at);
        forget(*e, drop_reason::neighbour_limit, now_ms);
    }
    return entries_.size() < before || has_room_for(is, limit);
}

}  // namespace turnpike::control
