// SPDX-License-Identifier: BSD-3-Clause
#include "control/routing/routes.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "fib/fib_dpdk.hpp"

namespace turnpike::control {
namespace {

constexpr int any_socket = -1;
/// Rebuild the FIB if there are more writes than this, and more than one route in four. A rebuild
/// costs as much as some 8,000 writes up to 10,000 routes, as a third of the routes at 100,000, as
/// a seventh at 900,000 (turnpike-bench-fib: the time of a load times updates a second).
constexpr size_t many_writes = 8192;
/// learn() leaves more to a transaction: some 40 ms.
constexpr size_t max_direct_writes = 32768;

template <class Fib>
result<void> create_into(std::unique_ptr<Fib>& fib, const char* name, uint32_t max_routes,
                         rcu::defer_free defer_free) {
    fib::config c = fib::eal_config(name, any_socket);
    c.max_routes = max_routes;
    c.next_hop_bytes = 4;
    c.default_next_hop = datapath::fixed_nexthop::no_route;
    c.defer_free = defer_free;
    auto made = Fib::create(c);
    if (!made) return tl::unexpected<error>(made.error());
    fib = std::move(*made);
    return {};
}

}  // namespace

result<std::unique_ptr<routes>> routes::create(rcu::qsbr& rcu, next_hops& nexthops,
                                               uint32_t max_routes) {
    std::unique_ptr<routes> r(new routes(rcu, nexthops));
    r->max_routes_ = max_routes;
    if (auto made = create_into(r->v4_, "routes of IPv4", max_routes, rcu.hook()); !made)
        return tl::unexpected<error>(made.error());
    if (auto made = create_into(r->v6_, "routes of IPv6", max_routes, rcu.hook()); !made)
        return tl::unexpected<error>(made.error());
    return r;
}

result<void> routes::set(const ip_prefix& to, std::optional<uint32_t> nexthop) {
    const ip_address& a = to.address;
    const auto write = [&] {
        ++written_;
        if (nexthop)
            return a.v6 ? v6_->add(a.v6_bytes(), to.length, *nexthop)
                        : v4_->add(a.v4(), to.length, *nexthop);
        return a.v6 ? v6_->remove(a.v6_bytes(), to.length) : v4_->remove(a.v4(), to.length);
    };
    auto done = write();
    if (done || done.error().code != ENOMEM) return done;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_growth_) return done;
    next_growth_ = now + std::chrono::seconds(1);
    retry_growth();
    return write();
}

/// Routes by these next hops may be left in the FIB: until it is restored, no other owner gets their indices.
void routes::pin_refused(std::span<const uint32_t> some) noexcept {
    try {
        for (const uint32_t nexthop : some)
            if (nexthop != no_nexthop) refused_.try_emplace(nexthop, nexthops_.pin(nexthop));
    } catch (const std::bad_alloc&) {
    }
}

void routes::retry_growth() noexcept {
    v4_->retry_growth();
    v6_->retry_growth();
}

std::optional<uint32_t> routes::get(const ip_prefix& to) const {
    const auto nexthop = to.address.v6 ? v6_->get(to.address.v6_bytes(), to.length)
                                       : v4_->get(to.address.v4(), to.length);
    return nexthop ? std::optional(static_cast<uint32_t>(*nexthop)) : std::nullopt;
}

uint32_t routes::lookup(const ip_address& destination) const noexcept {
    uint64_t nexthop = 0;
    if (destination.v6) {
        const ipv6_address address = destination.v6_bytes();
        v6_->lookup_bulk({&address, 1}, {&nexthop, 1});
    } else {
        const uint32_t address = destination.v4();
        v4_->lookup_bulk({&address, 1}, {&nexthop, 1});
    }
    return static_cast<uint32_t>(nexthop);
}

bool routes::lead_to_links(const state::route_set& some) noexcept {
    const auto targets = some.targets();
    return std::any_of(targets.begin(), targets.end(), [](const state::route_target& t) {
        return t.members.size() == 1 && !t.members.front().via;
    });
}

bool routes::is_on_link(const ip_address& a, uint32_t link_nexthop) const noexcept {
    if (a.is_link_local()) return false;
    if (!hosts_.contains({a, static_cast<uint8_t>(a.bits())})) return lookup(a) == link_nexthop;
    const sources all = running();
    for (unsigned length = a.bits() + 1; length-- > 0;) {
        const ip_prefix to = ip_prefix{a, static_cast<uint8_t>(length)}.network();
        if (const auto nexthop = routed_nexthop(to, all)) return nexthop->first == link_nexthop;
    }
    return false;
}

std::optional<std::pair<uint32_t, route_origin>> routes::routed_nexthop(const ip_prefix& to,
                                                                        const sources& from) {
    const auto d = from.derived.find(to);
    const bool derived = d != from.derived.end();
    if (derived && d->second == datapath::fixed_nexthop::local)
        return std::pair(d->second, route_origin::address);
    if (const auto nexthop = from.operators.nexthop(to))
        return std::pair(*nexthop, route_origin::configured);
    if (derived) return std::pair(d->second, route_origin::connected);
    if (from.without != nullptr && from.without->contains(to)) return std::nullopt;
    if (const auto nexthop = from.learned.nexthop(to))
        return std::pair(*nexthop, route_origin::learned);
    return std::nullopt;
}

std::optional<std::pair<uint32_t, route_origin>> routes::effective(const ip_prefix& to,
                                                                   const sources& from) const {
    const auto routed = routed_nexthop(to, from);
    const auto h = hosts_.find(to);
    if (h == hosts_.end()) return routed;
    if (!routed) return std::pair(h->second.nexthop, route_origin::neighbour);
    return routed->first == h->second.link_nexthop ? std::pair(h->second.nexthop, routed->second)
                                                   : routed;
}

std::optional<uint32_t> routes::effective_nexthop(const ip_prefix& to, const sources& from) const {
    const auto counts = effective(to, from);
    return counts ? std::optional(counts->first) : std::nullopt;
}

result<void> routes::set_host(const ip_address& a, uint32_t nexthop, uint32_t link_nexthop) {
    const ip_prefix to{a, static_cast<uint8_t>(a.bits())};
    const auto [at, is_new] = hosts_.try_emplace(to);
    const host before = std::exchange(at->second, host{nexthop, link_nexthop});
    const auto wanted = effective_nexthop(to, running());
    auto done = wanted == get(to) ? result<void>{} : set(to, wanted);
    if (done) return done;
    if (is_new)
        hosts_.erase(at);
    else
        at->second = before;
    return done;
}

result<void> routes::clear_host(const ip_address& a, uint32_t nexthop) {
    const ip_prefix to{a, static_cast<uint8_t>(a.bits())};
    const auto at = hosts_.find(to);
    if (at == hosts_.end() || at->second.nexthop != nexthop) return {};
    auto node = hosts_.extract(at);
    const auto wanted = effective_nexthop(to, running());
    if (wanted == get(to)) return {};
    auto done = set(to, wanted);
    if (!done) hosts_.insert(std::move(node));
    return done;
}

void routes::for_each(const ip_prefix& from, const visitor& visit) const {
    static const state::route_set none;
    const sources all = running();
    const auto first_of = [&](const state::route_set* set) {
        return (set != nullptr ? *set : none).lower_bound(from);
    };
    auto o = first_of(operators_.set), l = first_of(learned_.set);
    const auto o_end = none.end(), l_end = none.end();
    auto d = derived_.lower_bound(from);
    auto h = hosts_.lower_bound(from);
    while (o != o_end || l != l_end || d != derived_.end() || h != hosts_.end()) {
        std::optional<ip_prefix> to;
        const auto least = [&](const ip_prefix& p) { to = to ? std::min(*to, p) : p; };
        if (o != o_end) least(o->to);
        if (l != l_end) least(l->to);
        if (d != derived_.end()) least(d->first);
        if (h != hosts_.end()) least(h->first);
        const auto counts = effective(*to, all);  // none: left out
        if (counts && !visit(*to, counts->first, counts->second)) return;
        if (o != o_end && o->to == *to) ++o;
        if (l != l_end && l->to == *to) ++l;
        if (d != derived_.end() && d->first == *to) ++d;
        if (h != hosts_.end() && h->first == *to) ++h;
    }
}

/// Every prefix whose active route may change, and its next hop. Duplicates have the same
/// value.
routes::writes routes::writes_for(const vrf_routes& t, bool retries) const {
    const sources after = {t.operators, t.learned, t.derived};
    writes out;
    const auto add = [&](const ip_prefix& to) { out.add(to, effective_nexthop(to, after)); };
    // Targets that are unchanged but have another next hop, because their interface was recreated.
    const auto add_moved = [&](const routes_with_nexthops& was, const routes_with_nexthops& is) {
        if (was.set == nullptr) return;
        std::vector<bool> moved(is.set->targets().size());
        // A set may have equal targets at several indices (route_set::replace_target); most are at one.
        const auto now = is.set->targets(), then = was.set->targets();
        for (uint32_t a = 0; a < now.size(); ++a) {
            const auto b = a < then.size() && then[a] == now[a] ? a : was.set->find_target(now[a]);
            moved[a] = b && is.nexthop_of_target[a] != was.nexthop_of_target[*b];
        }
        if (std::find(moved.begin(), moved.end(), true) == moved.end()) return;
        for (const state::route& r : *is.set)
            if (moved[r.target]) add(r.to);
    };
    out.v4.reserve(t.operators.what->size() + t.learned.what->size());
    for (const state::route_changes* what : {t.operators.what, t.learned.what}) {
        for (const ip_prefix& to : what->removed) add(to);
        for (const state::route& r : what->set) add(r.to);
    }
    const sources before = running();
    add_moved(before.operators, after.operators);
    add_moved(before.learned, after.learned);
    for (const auto& [to, nexthop] : derived_)
        if (!t.derived.contains(to)) add(to);
    for (const auto& [to, nexthop] : t.derived) {
        const auto was = derived_.find(to);
        if (was == derived_.end() || was->second != nexthop) add(to);
    }
    if (retries) {
        for (const ip_prefix& to : left_out_) add(to);
        for (const auto& [to, pin] : stale_) add(to);
    }
    out.order();
    return out;
}

/// Every prefix for which the FIBs are not as wanted, after a rollback that was not complete.
routes::writes routes::differences(const sources& wanted) const {
    writes out;
    const auto add = [&](const ip_prefix& to) {
        if (const auto nexthop = effective_nexthop(to, wanted); nexthop != get(to))
            out.add(to, nexthop);
    };
    v4_->for_each([&](const fib::route4& r) { add({ip_address::from_v4(r.address), r.length}); });
    v6_->for_each([&](const fib::route6& r) {
        add({ip_address::from_v6(r.address.bytes), r.length});
    });
    std::set<ip_prefix> missing;
    const auto look = [&](const ip_prefix& to) {
        if (!get(to)) missing.insert(to);
    };
    for (const state::route_set* some : {wanted.operators.set, wanted.learned.set})
        for (const state::route& r : *some) look(r.to);
    for (const auto& [to, nexthop] : wanted.derived) look(to);
    for (const auto& [to, h] : hosts_) look(to);
    for (const ip_prefix& to : missing) add(to);
    for (const ip_prefix& to : left_out_)
        if (get(to)) out.add(to, effective_nexthop(to, wanted));
    out.order();
    return out;
}

/// Next hops do not depend on the daemon and the metric.
state::route_target routes::key_of(const state::route_target& t) {
    state::route_target out = t;
    out.protocol = 0;
    out.metric = 0;
    return out;
}

/// The next hops of the targets of `next`; none: a transaction has to prepare one of them, or to release some.
std::optional<std::vector<uint32_t>> routes::known_nexthops(const state::route_set& running,
                                                            const state::route_set& next,
                                                            const make_nexthop& make,
                                                            bool may_release) {
    const auto before = running.targets(), after = next.targets();
    std::vector<uint32_t> out(after.size(), no_nexthop);
    size_t used = 0;
    for (size_t t = 0; t < after.size(); ++t) {
        const bool was = t < before.size() && running.uses_of(t) != 0, is = next.uses_of(t) != 0;
        const bool stays = was && is && before[t] == after[t];
        if (was && !stays && !may_release) return std::nullopt;
        if (!is) continue;
        ++used;
        if (stays) {
            out[t] = learned_.nexthop_of_target[t];
            continue;
        }
        const auto [known, is_new] = prepared_.try_emplace(key_of(after[t]), no_nexthop);
        if (is_new) {
            const auto made = make(after[t]);
            if (!made) {
                prepared_.erase(known);
                return std::nullopt;
            }
            known->second = *made;
        }
        if (known->second == no_nexthop) return std::nullopt;
        out[t] = known->second;
    }
    if (prepared_.size() > 2 * used + max_unused_nexthops) return std::nullopt;
    return out;
}

bool routes::learn(state::route_set& running, const state::route_set& next,
                   const state::route_changes& what, const make_nexthop& make, bool may_release) {
    // Routes that were left out are counted by transactions.
    if (incomplete_ || !left_out_.empty() || !stale_.empty() || &running != learned_.set ||
        what.size() > max_direct_writes)
        return false;
    auto known = known_nexthops(running, next, make, may_release);
    if (!known) return false;
    routes_with_nexthops learned{&next, std::move(*known)};
    const auto lacks = [](const std::vector<uint32_t>& of, std::optional<uint32_t> target) {
        return target && of[*target] == no_nexthop;
    };
    for (const ip_prefix& to : what.removed)
        if (lacks(learned_.nexthop_of_target, running.at(to))) return false;
    for (const state::route& r : what.set)
        if (lacks(learned_.nexthop_of_target, running.at(r.to)) ||
            lacks(learned.nexthop_of_target, r.target))
            return false;
    const sources after = {operators_, learned, derived_};
    writes all;
    for (const ip_prefix& to : what.removed) all.add(to, effective_nexthop(to, after));
    for (const state::route& r : what.set) all.add(r.to, effective_nexthop(r.to, after));
    all.order();
    state::route_set taken = next;
    if (v4_->stats().routes + all.v4.size() > max_learned() ||
        v6_->stats().routes + all.v6.size() > max_learned() || !v4_->exchange(all.v4))
        return false;
    if (!v6_->exchange(all.v6)) {
        std::reverse(all.v4.begin(), all.v4.end());
        incomplete_ = !v4_->exchange(all.v4, true);
        if (incomplete_) pin_refused(learned.nexthop_of_target);
        return false;
    }
    written_ += all.v4.size() + all.v6.size();
    running = std::move(taken);
    learned_.nexthop_of_target.swap(learned.nexthop_of_target);
    return true;
}

void routes::writes::add(const ip_prefix& to, std::optional<uint32_t> nexthop) {
    if (to.address.v6)
        v6.push_back({to.address.v6_bytes(), to.length, nexthop});
    else
        v4.push_back({to.address.v4(), to.length, nexthop});
}

void routes::writes::order() {
    const auto removes = [](const auto& w) { return !w.next_hop; };
    std::stable_partition(v4.begin(), v4.end(), removes);
    std::stable_partition(v6.begin(), v6.end(), removes);
}

result<void> routes::load(const sources& from, bool* six_loaded) {
    std::vector<fib::route4> v4;
    std::vector<fib::route6> v6;
    const auto put = [&](const ip_prefix& to, uint32_t nexthop) {
        if (to.address.v6)
            v6.push_back({to.address.v6_bytes(), to.length, nexthop});
        else
            v4.push_back({to.address.v4(), to.length, nexthop});
    };
    const auto put_all = [&](const routes_with_nexthops& some, const std::set<ip_prefix>* without) {
        if (some.set == nullptr) return;
        for (const state::route& r : *some.set)
            if (const uint32_t nexthop = some.nexthop_of_target[r.target];
                nexthop != no_nexthop && (without == nullptr || !without->contains(r.to)))
                put(r.to, nexthop);
    };
    v4.reserve((from.operators.set == nullptr ? 0 : from.operators.set->size()) +
               (from.learned.set == nullptr ? 0 : from.learned.set->size()) + from.derived.size());
    // The last of several duplicates counts.
    for (const auto& [to, h] : hosts_) put(to, h.nexthop);
    put_all(from.learned, from.without);
    for (const auto& [to, nexthop] : from.derived)
        if (nexthop != datapath::fixed_nexthop::local) put(to, nexthop);
    put_all(from.operators, nullptr);
    for (const auto& [to, nexthop] : from.derived)
        if (nexthop == datapath::fixed_nexthop::local) put(to, nexthop);
    // On-link host routes, as long as a neighbour's host route.
    for (const auto& [to, h] : hosts_)
        if (const auto routed = routed_nexthop(to, from); routed && routed->first == h.link_nexthop)
            put(to, h.nexthop);
    written_ += v4.size() + v6.size();
    if (auto loaded = v6_->load(v6); !loaded) return loaded;
    if (six_loaded != nullptr) *six_loaded = true;
    return v4_->load(v4);
}

/// The first routes, by prefix, find room.
std::set<ip_prefix> routes::beyond_room(const sources& from) const {
    std::set<ip_prefix> out;
    const state::route_set& learned = *from.learned.set;
    const size_t others = from.operators.set->size() + from.derived.size() + hosts_.size();
    if (others + learned.size() <= max_learned()) return out;
    size_t v4 = 0, v6 = 0;
    const auto count = [&](const ip_prefix& to) { return ++(to.address.v6 ? v6 : v4); };
    for (const state::route& r : *from.operators.set) count(r.to);
    for (const auto& [to, nexthop] : from.derived) count(to);
    for (const auto& [to, h] : hosts_) count(to);
    for (const state::route& r : learned)
        if (from.learned.nexthop_of_target[r.target] != no_nexthop && count(r.to) > max_learned())
            out.insert(r.to);
    return out;
}

class routes::prepared_routes : public prepared_change {
  public:
    prepared_routes(routes& of, const vrf_routes& t)
        : of_(of), operators_(t.operators), learned_(t.learned), derived_(t.derived) {
        const auto targets = learned_.set->targets();
        for (size_t i = 0; i < targets.size(); ++i)
            if (learned_.set->uses_of(i) != 0)
                prepared_.emplace(key_of(targets[i]), learned_.nexthop_of_target[i]);
    }
    ~prepared_routes() override {
        if (committed_) return;
        bool good = !loaded_ || load_what_was();
        good &= undo(*of_.v6_, made_.v6, shown_v6_);
        good &= undo(*of_.v4_, made_.v4, shown_v4_);
        if (good) return;
        of_.incomplete_ = true;
        of_.pin_refused(operators_.nexthop_of_target);
        of_.pin_refused(learned_.nexthop_of_target);
        for (const auto& [to, nexthop] : derived_) of_.pin_refused({&nexthop, 1});
    }
    result<void> show(const vrf_routes& t, bool retries) {
        if (retries || t.operators.what->size() != 0 || derived_ != of_.derived_)
            of_.retry_growth();
        const bool restores = of_.incomplete_ && retries;
        lacks_ = of_.incomplete_ && !restores;
        bool loads = restores || are_many(t.operators.what->size() + t.learned.what->size());
        if (!loads) {
            made_ = of_.writes_for(t, retries);
            loads = are_many(made_.v4.size() + made_.v6.size());
        }
        if (loads) {
            if (load()) {
                lacks_ = false;
                return {};
            }
            // No room for all at once: route by route.
            made_ = restores ? of_.differences(after()) : of_.writes_for(t, true);
            if (loaded_) made_.v6 = {};
            std::erase_if(left_out_, [&](const ip_prefix& p) { return !loaded_ || !p.address.v6; });
        }
        const auto is_left = [&](const ip_prefix& to) { return !loaded_ || !to.address.v6; };
        for (const ip_prefix& to : of_.left_out_)
            if (is_left(to)) left_out_.insert(to);
        for (const auto& [to, pin] : of_.stale_)
            if (is_left(to)) stale_.emplace(to, pin);
        of_.written_ += made_.v4.size() + made_.v6.size();
        if (auto done = show_all(*of_.v4_, made_.v4, shown_v4_); !done) return done;
        return show_all(*of_.v6_, made_.v6, shown_v6_);
    }
    void commit() noexcept override {
        committed_ = true;
        of_.incomplete_ = lacks_;
        if (!lacks_) of_.refused_.clear();
        of_.derived_.swap(derived_);
        std::swap(of_.operators_, operators_);
        std::swap(of_.learned_, learned_);
        of_.prepared_.swap(prepared_);
        of_.left_out_.swap(left_out_);
        of_.stale_.swap(stale_);
        if (lacked_v4_) of_.full_v4_ = of_.v4_->stats().routes;
        if (lacked_v6_) of_.full_v6_ = of_.v6_->stats().routes;
        of_.links_ = lead_to_links(*of_.operators_.set) || lead_to_links(*of_.learned_.set);
    }

  private:
    /// Batch size: nodes freed by a batch are reused by the next one.
    static constexpr size_t together = 2048;
    /// Failed writes of a family, after which additions are left out at once: each takes time.
    static constexpr unsigned max_failures = 64;

    static ip_prefix prefix_of(const fib::change4& w) noexcept {
        return {ip_address::from_v4(w.address), w.length};
    }
    static ip_prefix prefix_of(const fib::change6& w) noexcept {
        return {ip_address::from_v6(w.address.bytes), w.length};
    }

    /// The first `shown` writes are replaced by their undo.
    template <class Fib, class Change>
    result<void> show_all(Fib& fib, std::vector<Change>& all, size_t& shown) {
        failures_ = 0;
        if (!left_out_.empty())
            for (const Change& w : all) left_out_.erase(prefix_of(w));
        while (shown < all.size()) {
            const auto some =
                std::span(all).subspan(shown).first(std::min(together, all.size() - shown));
            const size_t there = fib.stats().routes;
            if (failures_ < max_failures && there + some.size() <= of_.max_learned() &&
                fib.exchange(some)) {
                shown += some.size();
                if (!stale_.empty())
                    for (const Change& w : some) stale_.erase(prefix_of(w));
            } else if (auto done = show_each(fib, some, there, shown); !done) {
                return done;
            }
        }
        return {};
    }
    /// Kernel routes without room are left out. Without memory to remove a route, it stays.
    template <class Fib, class Change>
    result<void> show_each(Fib& fib, std::span<Change> some, size_t there, size_t& shown) {
        for (Change& w : some) {
            const ip_prefix to = prefix_of(w);
            const bool may_fail = w.next_hop && is_learned(to);
            if (may_fail && (there >= of_.max_learned() || failures_ == max_failures) &&
                !of_.get(to))
                leave_out(w);
            const bool restores = w.next_hop && was_in_force(to, *w.next_hop);
            auto done = show_one(fib, w, restores);
            if (!done && w.next_hop && (may_fail || restores)) {
                failures_ += failures_ < max_failures;
                may_fail ? leave_out(w) : lack(w);
                done = show_one(fib, w, false);
            }
            if (done)
                stale_.erase(to);
            else if (w.next_hop || done.error().code != ENOMEM)
                return done;
            else
                keep_stale(w);
            const bool was = w.next_hop.has_value(), is = of_.get(to).has_value();
            there = there + is - was;
            ++shown;
        }
        return {};
    }
    /// Memory that earlier writes freed may still wait for workers.
    template <class Fib, class Change>
    result<void> show_one(Fib& fib, Change& w, bool undoes) {
        auto done = fib.exchange(std::span(&w, 1), undoes);
        if (!done && wait_for_frees()) {
            fib.retry_growth();
            done = fib.exchange(std::span(&w, 1), undoes);
        }
        return done;
    }
    /// Workers are quiescent after each burst, control every 250 us where management makes the change.
    /// Returns  whether memory was freed
    bool wait_for_frees() noexcept {
        constexpr auto interval = std::chrono::microseconds(50);
        constexpr unsigned max_waits = 20;
        const size_t before = of_.rcu_.pending();
        if (before == 0) return false;
        of_.rcu_.reclaim();
        for (unsigned n = 0; n < max_waits && waits_left_ != 0 && of_.rcu_.pending() != 0; ++n) {
            --waits_left_;
            std::this_thread::sleep_for(interval);
            of_.rcu_.reclaim();
        }
        return of_.rcu_.pending() < before;
    }
    /// Whether the rollback of a refused change lost this route: then nothing is gained by refusing this one, too.
    [[nodiscard]] bool was_in_force(const ip_prefix& to, uint64_t nexthop) const {
        return of_.incomplete_ && of_.effective_nexthop(to, of_.running()) == nexthop;
    }
    /// It is restored when there is memory.
    template <class Change>
    void lack(Change& w) {
        lacks_ = true;
        w.next_hop.reset();
    }
    /// The removal is retried as the routes that are left out. Its undo changes nothing.
    template <class Change>
    void keep_stale(Change& w) {
        const ip_prefix to = prefix_of(w);
        const auto nexthop = of_.get(to);
        if (!nexthop) return;
        stale_.insert_or_assign(to, of_.nexthops_.pin(static_cast<uint32_t>(*nexthop)));
        (to.address.v6 ? lacked_v6_ : lacked_v4_) = true;
        w.next_hop = nexthop;
    }
    template <class Change>
    void leave_out(Change& w) {
        const ip_prefix to = prefix_of(w);
        left_out_.insert(to);
        (to.address.v6 ? lacked_v6_ : lacked_v4_) = true;
        w.next_hop.reset();
    }
    [[nodiscard]] sources after() const { return {operators_, learned_, derived_}; }
    [[nodiscard]] bool is_learned(const ip_prefix& to) const {
        const auto routed = routed_nexthop(to, after());
        return routed && routed->second == route_origin::learned;
    }
    template <class Fib, class Change>
    bool undo(Fib& fib, std::vector<Change>& all, size_t shown) noexcept {
        std::reverse(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown));
        bool good = true;
        for (size_t at = 0; at < shown; at += together) {
            const auto some = std::span(all).subspan(at, std::min(together, shown - at));
            if (fib.exchange(some, true)) continue;
            for (Change& w : some) good &= show_one(fib, w, true).has_value();
        }
        return good;
    }
    [[nodiscard]] bool are_many(size_t writes) const {
        const size_t there = of_.v4_->stats().routes + of_.v6_->stats().routes;
        return writes > many_writes && writes > there / 4;
    }
    result<void> load() {
        made_ = {};
        sources all = after();
        left_out_ = of_.beyond_room(all);
        all.without = &left_out_;
        for (const ip_prefix& to : left_out_) (to.address.v6 ? lacked_v6_ : lacked_v4_) = true;
        auto done = of_.load(all, &loaded_);
        loaded_ |= done.has_value();
        return done;
    }
    [[nodiscard]] bool load_what_was() const noexcept {
        try {
            return of_.load(of_.running()).has_value();
        } catch (const std::bad_alloc&) {
            return false;
        }
    }

    routes& of_;
    routes_with_nexthops operators_, learned_;
    nexthops_of_targets prepared_;
    nexthops derived_;
    writes made_;
    std::set<ip_prefix> left_out_;
    stale_routes stale_;
    bool lacked_v4_ = false, lacked_v6_ = false;
    unsigned waits_left_ = 400;  ///< of wait_for_frees(): 20 ms and more
    bool lacks_ = false;         ///< the FIBs still differ after the rollback of a refused change
    unsigned failures_ = 0;
    size_t shown_v4_ = 0, shown_v6_ = 0;
    bool loaded_ = false, committed_ = false;
};

result<std::unique_ptr<prepared_change>> routes::prepare(const vrf_routes& t, bool retries) {
    auto ready = std::make_unique<prepared_routes>(*this, t);
    if (auto shown = ready->show(t, retries); !shown) return tl::unexpected<error>(shown.error());
    return ready;
}

}  // namespace turnpike::control
