// SPDX-License-Identifier: BSD-3-Clause
#include "control/routing/routing.hpp"

#include <utility>

namespace turnpike::control {

result<std::unique_ptr<routing>> routing::create(next_hops& nexthops, rcu::qsbr& rcu,
                                                 uint32_t max_held, neighbour_callbacks callbacks) {
    std::unique_ptr<routing> made(new routing(nexthops, rcu));
    auto tables = route_tables::create(rcu, nexthops);
    if (!tables) return tl::unexpected<error>(tables.error());
    made->tables_ = std::move(*tables);
    made->neighbours_ = std::make_unique<control::neighbours>(nexthops, *made->tables_, max_held,
                                                              std::move(callbacks));
    return made;
}

class routing::prepared_routing : public prepared_change {
  public:
    explicit prepared_routing(routing& of) : of_(of) {}
    ~prepared_routing() override {
        while (!steps_.empty()) steps_.pop_back();
    }

    result<void> prepare(transaction& c) {
        routes_in_progress r;
        r.had_left_out = of_.no_room_.any();
        for (const auto& [name, index] : c.vrf_index_of) {
            vrf_routes& t = r.tables.emplace_back();
            t.vrf = index;
            t.operators.set = &c.after.routes_of(name);
            t.operators.what = name.empty() ? &c.what.routes : &c.what.vrf_routes.at(name);
            t.learned.set = &c.learned.routes.at(name);
            t.learned.what = &c.what.learned.at(name);
            t.derived.swap(c.derived[index]);
        }
        steps_.reserve(4);
        steps_.push_back(of_.recursion_.prepare(c, r));
        if (auto done = add(of_.neighbours_->prepare(c, r)); !done) return done;
        if (auto done = add(of_.groups_.prepare(c, r)); !done) return done;
        if (auto done = add(of_.tables_->prepare(c, r)); !done) return done;
        out_ = r.out;
        out_.permanent += c.learned.neighbours_left_out;
        return {};
    }

    /// In reverse order, as the owners of a change.
    void commit() noexcept override {
        for (auto s = steps_.rbegin(); s != steps_.rend(); ++s) (*s)->commit();
        of_.no_room_ = out_;
        of_.no_room_.fib = of_.tables_->left_out();
    }
    void retire() noexcept override {
        for (auto s = steps_.rbegin(); s != steps_.rend(); ++s) (*s)->retire();
        of_.nexthops_when_left_out_ = of_.nexthops_.in_use();
    }

  private:
    result<void> add(result<std::unique_ptr<prepared_change>> step) {
        if (!step) return tl::unexpected<error>(step.error());
        steps_.push_back(std::move(*step));
        return {};
    }

    routing& of_;
    std::vector<std::unique_ptr<prepared_change>> steps_{};
    left_out out_{};
};

result<std::unique_ptr<prepared_change>> routing::prepare(transaction& c) {
    auto ready = std::make_unique<prepared_routing>(*this);
    if (auto done = ready->prepare(c); !done) return tl::unexpected<error>(done.error());
    return ready;
}

/// The next hop of a new target of the kernel's; none: a transaction has to prepare it.
std::optional<uint32_t> routing::make_nexthop(const in_force& running,
                                              const state::route_target& target) {
    if (!groups_.is_ready(target)) return std::nullopt;
    std::vector<uint32_t> nexthops;
    for (const state::route_member& m : target.members) {
        if (!m.via) return std::nullopt;
        const bool grouped = target.members.size() > 1 && running.config.sharing.uses_neigh(*m.via);
        const auto nexthop =
            neighbours_->add_gateway(running.ifindexes.at(m.interface), *m.via, grouped);
        if (!nexthop) return std::nullopt;
        nexthops.push_back(*nexthop);
    }
    return groups_.nexthop_of(target, nexthops, running.config, running.can_send);
}

bool routing::learn(const in_force& running, state::followed& followed,
                    const state::learned& before, const state::learned& next,
                    size_t& changed) noexcept {
    changed = 0;
    const auto new_nexthop = [&](const state::route_target& t) { return make_nexthop(running, t); };
    try {
        for (const auto& [name, index] : vrfs_.indexes()) {
            if (next.routes_of(name).is_same(before.routes_of(name))) continue;
            state::route_set& now = followed.routes.at(name);
            const state::route_set wanted =
                state::followed_routes(running.config, name, next.routes_of(name));
            const state::route_changes what = state::diff(now, wanted);
            changed += what.size();
            control::routes& table = tables_->of(index);
            if (recursion_.depends_on(index, what) ||
                neighbours_->any_in(index, what,
                                    table.has_link_routes() ? neighbours::decides::any_length
                                                            : neighbours::decides::longer) ||
                !table.learn(now, wanted, what, new_nexthop, !no_room_.any()))
                return false;
        }
        return true;
    } catch (const std::exception&) {  // out of memory: as a transaction, or not at all
        return false;
    }
}

bool routing::make_groups_ahead(const state::learned& next) noexcept {
    try {
        return groups_.make_ahead(next);
    } catch (const std::bad_alloc&) {
        return true;
    }
}

bool routing::has_room() noexcept {
    if (no_room_.fib != 0 && tables_->has_room()) return true;
    if (no_room_.groups != 0 && nexthops_.in_use() < nexthops_when_left_out_) return true;
    return (no_room_.neighbours != 0 || no_room_.paths != 0 || no_room_.permanent != 0) &&
           neighbours_->has_room();
}

}  // namespace turnpike::control
