// SPDX-License-Identifier: BSD-3-Clause
#include "control/routes.hpp"

#include <algorithm>
#include <new>

#include "fib/fib_dpdk.hpp"

namespace turnpike::control {
namespace {

constexpr int any_socket = -1;
/// More writes than this, and more than one route in four: the table is built anew. A load costs as much
/// as some 8,000 writes up to 10,000 routes, as many as a third of the routes at 100,000, a seventh at
/// 900,000 (turnpike-bench-fib: the time of a load times updates a second).
constexpr size_t many_writes = 8192;

template <class Fib>
result<void> create_into(std::unique_ptr<Fib>& fib, const char* name, rcu::defer_free defer_free) {
    fib::config c = fib::eal_config(name, any_socket);
    c.max_routes = datapath::max_route_entries;
    c.next_hop_bytes = 4;
    c.default_next_hop = datapath::fixed_hop::no_route;
    c.defer_free = defer_free;
    auto made = Fib::create(c);
    if (!made) return tl::unexpected<error>(made.error());
    fib = std::move(*made);
    return {};
}

uint32_t hop_of(const std::vector<uint32_t>& hop_of_target, const state::route& r) {
    return hop_of_target[r.target];
}

}  // namespace

result<std::unique_ptr<routes>> routes::create(rcu::qsbr& rcu) {
    std::unique_ptr<routes> r(new routes());
    if (auto made = create_into(r->v4_, "routes of IPv4", rcu.hook()); !made)
        return tl::unexpected<error>(made.error());
    if (auto made = create_into(r->v6_, "routes of IPv6", rcu.hook()); !made)
        return tl::unexpected<error>(made.error());
    return r;
}

result<void> routes::set(const ip_prefix& to, std::optional<uint32_t> hop) {
    const ip_address& a = to.address;
    if (hop)
        return a.v6 ? v6_->add(a.v6_bytes(), to.length, *hop) : v4_->add(a.v4(), to.length, *hop);
    return a.v6 ? v6_->remove(a.v6_bytes(), to.length) : v4_->remove(a.v4(), to.length);
}

std::optional<uint32_t> routes::get(const ip_prefix& to) const {
    const auto hop = to.address.v6 ? v6_->get(to.address.v6_bytes(), to.length)
                                   : v4_->get(to.address.v4(), to.length);
    return hop ? std::optional(static_cast<uint32_t>(*hop)) : std::nullopt;
}

uint32_t routes::lookup(const ip_address& destination) const noexcept {
    uint64_t hop = 0;
    if (destination.v6) {
        const ipv6_address address = destination.v6_bytes();
        v6_->lookup_bulk({&address, 1}, {&hop, 1});
    } else {
        const uint32_t address = destination.v4();
        v4_->lookup_bulk({&address, 1}, {&hop, 1});
    }
    return static_cast<uint32_t>(hop);
}

std::optional<uint32_t> routes::operators_hop(const ip_prefix& to) const {
    const state::route* r = operators_ == nullptr ? nullptr : operators_->at(to);
    return r == nullptr ? std::nullopt : std::optional(hop_of(hop_of_target_, *r));
}

std::optional<uint32_t> routes::effective(const ip_prefix& to, std::optional<uint32_t> operators,
                                          const hops& derived) const {
    const auto d = derived.find(to);
    if (d != derived.end() && d->second == datapath::fixed_hop::local) return d->second;
    if (operators) return operators;
    if (d != derived.end()) return d->second;
    const auto h = hosts_.find(to);
    return h == hosts_.end() ? std::nullopt : std::optional(h->second);
}

result<void> routes::set_host(const ip_address& a, uint32_t hop) {
    const ip_prefix to{a, static_cast<uint8_t>(a.bits())};
    const auto [at, fresh] = hosts_.insert_or_assign(to, hop);
    const auto wanted = effective(to, operators_hop(to), derived_);
    auto done = wanted == get(to) ? result<void>{} : set(to, wanted);
    if (!done) hosts_.erase(at);
    return done;
}

result<void> routes::clear_host(const ip_address& a) {
    const ip_prefix to{a, static_cast<uint8_t>(a.bits())};
    const auto at = hosts_.find(to);
    if (at == hosts_.end()) return {};
    auto node = hosts_.extract(at);
    const auto wanted = effective(to, operators_hop(to), derived_);
    if (wanted == get(to)) return {};
    auto done = set(to, wanted);
    if (!done) hosts_.insert(std::move(node));
    return done;
}

void routes::for_each(const ip_prefix& from, const visitor& visit) const {
    static const state::route_set none;
    const state::route_set& all = operators_ != nullptr ? *operators_ : none;
    auto o = all.lower_bound(from);
    auto d = derived_.lower_bound(from), h = hosts_.lower_bound(from);
    const auto is_at = [](const auto& at, const auto& end, const ip_prefix& to) {
        return at != end && at->first == to;
    };
    while (o != all.end() || d != derived_.end() || h != hosts_.end()) {
        std::optional<ip_prefix> to;
        const auto least = [&](const ip_prefix& p) { to = to ? std::min(*to, p) : p; };
        if (o != all.end()) least(o->to);
        if (d != derived_.end()) least(d->first);
        if (h != hosts_.end()) least(h->first);
        const bool configured = o != all.end() && o->to == *to;
        const bool derived = is_at(d, derived_.end(), *to), host = is_at(h, hosts_.end(), *to);
        route_origin origin = route_origin::neighbour;
        if (derived && d->second == datapath::fixed_hop::local)
            origin = route_origin::address;
        else if (configured)
            origin = route_origin::configured;
        else if (derived)
            origin = route_origin::connected;
        const auto hop = effective(
            *to, configured ? std::optional(hop_of(hop_of_target_, *o)) : std::nullopt, derived_);
        if (!visit(*to, *hop, origin)) return;
        if (configured) ++o;
        if (derived) ++d;
        if (host) ++h;
    }
}

/// Every prefix for which something differs, and what is to be there.
std::vector<routes::write> routes::writes_for(const change& c) const {
    std::vector<write> out;
    const auto add = [&](const ip_prefix& to, std::optional<uint32_t> operators) {
        const auto wanted = effective(to, operators, c.derived), there = get(to);
        if (wanted != there) out.push_back({to, wanted, there});
    };
    out.reserve(c.what.routes.removed.size() + c.what.routes.set.size());
    for (const ip_prefix& to : c.what.routes.removed) add(to, std::nullopt);
    for (const state::route& r : c.what.routes.set) add(r.to, hop_of(c.hop_of_target, r));
    const auto operators_after = [&](const ip_prefix& to) -> std::optional<uint32_t> {
        const state::route* r = c.after.routes.at(to);
        return r == nullptr ? std::nullopt : std::optional(hop_of(c.hop_of_target, *r));
    };
    // Targets that read the same but are another hop now: their interface was made anew.
    std::vector<bool> moved(c.after.routes.targets().size());
    if (operators_ != nullptr)
        for (size_t b = 0; b < operators_->targets().size(); ++b) {
            const auto a = c.after.routes.find_target(operators_->targets()[b]);
            if (a) moved[*a] = c.hop_of_target[*a] != hop_of_target_[b];
        }
    if (std::find(moved.begin(), moved.end(), true) != moved.end())
        for (const state::route& r : c.after.routes)
            if (moved[r.target]) add(r.to, c.hop_of_target[r.target]);
    for (const auto& [to, hop] : derived_)
        if (!c.derived.contains(to)) add(to, operators_after(to));
    for (const auto& [to, hop] : c.derived) {
        const auto was = derived_.find(to);
        if (was == derived_.end() || was->second != hop) add(to, operators_after(to));
    }
    return out;
}

result<void> routes::load(const state::route_set& operators,
                          const std::vector<uint32_t>& hop_of_target, const hops& derived) {
    std::vector<fib::route4> v4;
    std::vector<fib::route6> v6;
    const auto put = [&](const ip_prefix& to, uint32_t hop) {
        if (to.address.v6)
            v6.push_back({to.address.v6_bytes(), to.length, hop});
        else
            v4.push_back({to.address.v4(), to.length, hop});
    };
    v4.reserve(operators.size() + derived.size());
    // Of equal prefixes the last counts.
    for (const auto& [to, hop] : hosts_) put(to, hop);
    for (const auto& [to, hop] : derived)
        if (hop != datapath::fixed_hop::local) put(to, hop);
    for (const state::route& r : operators) put(r.to, hop_of(hop_of_target, r));
    for (const auto& [to, hop] : derived)
        if (hop == datapath::fixed_hop::local) put(to, hop);
    if (auto loaded = v6_->load(v6); !loaded) return loaded;
    return v4_->load(v4);
}

class routes::staged_routes : public staged {
  public:
    staged_routes(routes& of, change& c)
        : of_(of), after_(c.after), hop_of_target_(c.hop_of_target) {
        derived_ = c.derived;
    }
    ~staged_routes() override {
        if (committed_) return;
        bool good = !loaded_ || load_what_was();
        for (auto w = undo_.rbegin(); w != undo_.rend(); ++w)
            good &= of_.set(w->to, w->before).has_value();
        if (good) return;
        of_.incomplete_ = true;
    }
    result<void> show(const change& c) {
        const size_t of_operator = c.what.routes.removed.size() + c.what.routes.set.size();
        if (of_.incomplete_ || are_many(of_operator)) return load();
        const auto writes = of_.writes_for(c);
        if (are_many(writes.size())) return load();
        undo_.reserve(writes.size());
        for (size_t i = 0; i < writes.size(); ++i) {
            write w = writes[i];
            // The first are of the operator's routes, each prefix once; others may be there again.
            if (i >= of_operator) w.before = of_.get(w.to);
            if (w.before == w.hop) continue;
            if (auto done = of_.set(w.to, w.hop); !done) return done;
            undo_.push_back(w);
        }
        return {};
    }
    void commit() noexcept override {
        committed_ = true;
        of_.incomplete_ = false;
        of_.derived_.swap(derived_);
        of_.hop_of_target_.swap(hop_of_target_);
        of_.operators_ = &after_.routes;
    }

  private:
    [[nodiscard]] bool are_many(size_t writes) const {
        const size_t there = of_.v4_->stats().routes + of_.v6_->stats().routes;
        return writes > many_writes && writes > there / 4;
    }
    result<void> load() {
        loaded_ = true;
        return of_.load(after_.routes, hop_of_target_, derived_);
    }
    [[nodiscard]] bool load_what_was() const noexcept {
        try {
            static const state::route_set none;
            const auto* before = of_.operators_ != nullptr ? of_.operators_ : &none;
            return of_.load(*before, of_.hop_of_target_, of_.derived_).has_value();
        } catch (const std::bad_alloc&) {
            return false;
        }
    }

    routes& of_;
    const state::desired& after_;
    std::vector<uint32_t> hop_of_target_;
    hops derived_;
    std::vector<write> undo_;
    bool loaded_ = false, committed_ = false;
};

result<std::unique_ptr<staged>> routes::prepare(change& c) {
    c.view->fib4 = v4_.get();
    c.view->fib6 = v6_.get();
    auto ready = std::make_unique<staged_routes>(*this, c);
    if (auto shown = ready->show(c); !shown) return tl::unexpected<error>(shown.error());
    return ready;
}

}  // namespace turnpike::control
