// SPDX-License-Identifier: BSD-3-Clause
#include "control/routing/nexthop_groups.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace turnpike::control {
namespace {

using datapath::nexthop_group;
using datapath::nexthop_kind;

uint64_t name_of(const state::route_member& m) noexcept {
    uint64_t name = m.via->v6;  // of ECMP and recursive routes, each member has a gateway
    for (const uint8_t byte : m.via->bytes) name = mix(name ^ byte);
    for (const char c : m.interface) name = mix(name ^ static_cast<uint8_t>(c));
    return name;
}

/// A learned route may have a member without a usable next hop. As in Linux (fib_good_nh), a neighbour that is not
/// known yet is tried.
bool sends(const datapath::next_hop& nexthop, const group_member& m) noexcept {
    const nexthop_kind kind = nexthop.kind.load(std::memory_order_relaxed);
    return kind >= nexthop_kind::failed && !(m.use_neigh && kind == nexthop_kind::failed);
}

/// None: unicast.
std::optional<uint32_t> fixed_nexthop_of(state::route_type type) noexcept {
    using enum state::route_type;
    switch (type) {
        case unicast:
            break;
        case blackhole:
            return datapath::fixed_nexthop::blackhole;
        case unreachable:
            return datapath::fixed_nexthop::unreachable;
        case prohibit:
            return datapath::fixed_nexthop::prohibited;
        case local:
            return datapath::fixed_nexthop::local;
        case not_followed:
            return datapath::fixed_nexthop::not_followed;
    }
    return std::nullopt;
}

}  // namespace

/// Workers may still be reading the previous table.
void nexthop_groups::publish(group& g, nexthop_group::owned next) noexcept {
    nexthops_[g.nexthop].group.store(next.get(), std::memory_order_release);
    ++stores_;
    discard(std::exchange(g.table, std::move(next)));
}

void nexthop_groups::discard(nexthop_group::owned table) noexcept {
    if (table == nullptr) return;
    rcu_.hook()(
        {[](void* gone, uint64_t) { nexthop_group::free{}(static_cast<nexthop_group*>(gone)); },
         table.release(), 0});
}

void nexthop_groups::update_members(const classify& can_send) {
    uint32_t buckets_left = 1U << 20;  // of recovered members: a few milliseconds
    for (auto& [key, g] : groups_) update_members(*g, can_send, buckets_left);
    for (auto& [key, g] : recursive_) update_members(*g, can_send, buckets_left);
}

void nexthop_groups::update_members(group& g, const classify& can_send, uint32_t& buckets_left) {
    const auto is_able = [&](size_t m) {
        const datapath::next_hop& nexthop = nexthops_[g.members[m].nexthop];
        return sends(nexthop, g.members[m]) && can_send(nexthop);
    };
    bool lost = false, came_back = false;
    for (size_t m = 0; m < g.members.size(); ++m) {
        const bool is = is_able(m);
        lost |= g.able[m] && !is;
        came_back |= !g.able[m] && is;
    }
    if (!lost && !came_back) return;
    std::vector<bool> able = g.able;
    for (size_t m = 0; m < able.size(); ++m) able[m] = is_able(m);
    const uint32_t buckets = g.table->buckets();
    if (g.members.size() == 1) {  // it has all buckets
        g.able = std::move(able);
        return;
    }
    if (g.full != nullptr && g.full_able == able) {
        publish(g, std::move(g.full));
        g.able = std::move(able);
        return;
    }
    if (!lost && buckets_left < buckets) return;  // in a later call
    if (came_back) buckets_left -= std::min(buckets_left, buckets);
    auto next = make_group(g.members, able, {g.table.get(), &g.able}, &work_);
    const auto number = [](const std::vector<bool>& of) {
        return std::count(of.begin(), of.end(), true);
    };
    if (!came_back && (g.full == nullptr || number(g.full_able) < number(g.able))) {
        std::vector<bool> full_able = g.able;
        nexthops_[g.nexthop].group.store(next.get(), std::memory_order_release);
        ++stores_;
        discard(std::exchange(g.full, std::exchange(g.table, std::move(next))));
        g.full_able = std::move(full_able);
    } else {
        publish(g, std::move(next));
    }
    g.able = std::move(able);
}

/// Groups without room, now or in the next transaction, stay for later ones.
void nexthop_groups::want_ahead(const state::learned& next) {
    std::set<members> present, needed;
    for (const auto& [key, g] : groups_) present.insert(by_names(g->members));
    const auto add_needed = [&](const state::route_set& routes) {
        for (size_t t = 0; t < routes.targets().size(); ++t) {
            const auto& of = routes.targets()[t].members;
            if (routes.uses_of(t) == 0 || of.size() < 2) continue;
            members key = by_names(routes.targets()[t]);
            if (!present.contains(key)) needed.insert(std::move(key));
        }
    };
    add_needed(next.routes);
    for (const auto& [vrf, routes] : next.vrf_routes) add_needed(routes);
    std::erase_if(ahead_, [&](const auto& made) { return !needed.contains(made.first); });
    const size_t room = nexthops_.capacity() - nexthops_.in_use();
    for (const members& key : needed)
        if (!ahead_.contains(key) && ahead_.size() + wanted_.size() < room) wanted_.push_back(key);
}

bool nexthop_groups::make_ahead(const state::learned& next) {
    if (wanted_.empty()) want_ahead(next);
    for (uint64_t left = scores_at_once; !wanted_.empty();) {
        const members& key = wanted_.back();
        const uint64_t cost = uint64_t{buckets_for(key.size())} * key.size();
        if (left < cost && left != scores_at_once) break;
        left -= std::min(left, cost);
        ahead_.emplace(key, make_group(key, std::vector<bool>(key.size(), true), {}, &work_));
        wanted_.pop_back();
    }
    return wanted_.empty();
}

nexthop_groups::members nexthop_groups::by_names(const members& some) {
    members out;
    for (const group_member& m : some) out.push_back({.name = m.name, .weight = m.weight});
    return out;
}

nexthop_groups::members nexthop_groups::by_names(const state::route_target& target) {
    members out;
    for (const state::route_member& m : target.members)
        out.push_back({.name = name_of(m), .weight = m.weight});
    return out;
}

bool nexthop_groups::is_ready(const state::route_target& target) const {
    return target.members.size() < 2 || ahead_.contains(by_names(target));
}

/// Members without a next hop are left out.
nexthop_groups::shared_by nexthop_groups::key_of(const state::route_target& target,
                                                 const std::vector<uint32_t>& nexthops,
                                                 const state::ecmp& sharing) {
    shared_by key{.mtu = target.members.front().via ? target.mtu : uint16_t{0}};
    for (size_t m = 0; m < nexthops.size(); ++m)
        if (nexthops[m] != no_nexthop)
            key.of.push_back(
                {.name = nexthops.size() == 1 ? 0 : name_of(target.members[m]),
                 .nexthop = nexthops[m],
                 .weight = target.members[m].weight,
                 .use_neigh = nexthops.size() > 1 && sharing.uses_neigh(*target.members[m].via)});
    return key;
}

std::vector<bool> nexthop_groups::able_of(const members& some, const classify& can_send) const {
    std::vector<bool> able;
    for (const group_member& m : some)
        able.push_back(sends(nexthops_[m.nexthop], m) && can_send(nexthops_[m.nexthop]));
    return able;
}

/// Null: no next hop is left.
std::shared_ptr<nexthop_groups::group> nexthop_groups::make(const members& of, uint16_t mtu,
                                                            const classify& can_send) {
    nexthop_handle nexthop = nexthops_.allocate();
    if (!nexthop) return nullptr;
    auto able = able_of(of, can_send);
    auto table = first_table(of, able);
    auto g = std::make_shared<group>(*this, std::move(nexthop));
    g->members = of;
    g->able = std::move(able);
    nexthops_[g->nexthop].mtu.store(mtu != 0 ? mtu : UINT16_MAX, std::memory_order_relaxed);
    publish(*g, std::move(table));
    nexthops_[g->nexthop].kind.store(nexthop_kind::group, std::memory_order_release);
    return g;
}

std::optional<uint32_t> nexthop_groups::nexthop_of(const state::route_target& target,
                                                   const std::vector<uint32_t>& nexthops,
                                                   const state::configuration& running,
                                                   const classify& can_send) {
    if (const auto fixed = fixed_nexthop_of(target.type)) return fixed;
    shared_by key = key_of(target, nexthops, running.sharing);
    if (key.of.size() == 1 && key.mtu == 0) return key.of.front().nexthop;
    if (const auto there = groups_.find(key); there != groups_.end()) return there->second->nexthop;
    // Workers know by the snapshot whether there are groups.
    const uint32_t limit = running.limits.limit;
    if (groups_.empty() || groups_.size() >= limit - limit / reserved_share) return std::nullopt;
    auto g = make(key.of, key.mtu, can_send);
    if (g == nullptr) return std::nullopt;
    return groups_.emplace(std::move(key), std::move(g)).first->second->nexthop;
}

nexthop_group::owned nexthop_groups::first_table(const members& of, const std::vector<bool>& able) {
    const auto made = ahead_.find(by_names(of));
    if (made == ahead_.end()) return make_group(of, able, {}, &work_);
    if (std::find(able.begin(), able.end(), false) != able.end())
        return make_group(of, able, {made->second.get()}, &work_);
    for (size_t m = 0; m < of.size(); ++m) made->second->nexthop[m] = of[m].nexthop;
    return std::move(ahead_.extract(made).mapped());
}

nexthop_groups::shown nexthop_groups::of_nexthop(uint32_t nexthop) const {
    shown out;
    const auto add = [&](const std::shared_ptr<group>& g) {
        if (g->nexthop != nexthop) return;
        out.buckets = g->table->buckets();
        const uint16_t mtu = nexthops_[nexthop].mtu.load(std::memory_order_relaxed);
        out.mtu = mtu == UINT16_MAX ? uint16_t{0} : mtu;
        for (size_t m = 0; m < g->members.size(); ++m)
            out.members.push_back({.nexthop = g->members[m].nexthop,
                                   .weight = g->members[m].weight,
                                   .able = g->able[m]});
        for (uint32_t b = 0; b < out.buckets; ++b) ++out.members[g->table->bucket()[b]].buckets;
    };
    for (const auto& [key, g] : groups_) add(g);
    for (const auto& [key, g] : recursive_) add(g);
    return out;
}

/// Groups with the same members are shared; an existing group keeps its next hop index, so its
/// routes need no write. The same holds for groups of the same gateways, whose members may have
/// changed.
class nexthop_groups::prepared_groups : public prepared_change {
  public:
    prepared_groups(nexthop_groups& of, const transaction& c)
        : of_(of),
          can_send_([&c](const datapath::next_hop& nexthop) { return has_link(c, nexthop); }) {}

    result<void> add(transaction& c, routes_in_progress& r) {
        for (vrf_routes& table : r.tables)
            if (auto done = add_operators(c, table); !done) return done;
        for (vrf_routes& table : r.tables) add_learned(c, table.learned, r.out);
        c.snapshot->groups = !after_.empty() || !recursive_.empty();
        c.snapshot->sharing = {.fields = c.after.sharing.hash, .seed = seed_of(c)};
        const std::vector<uint16_t>& ports = c.after.sharing.vxlan_ports;
        c.snapshot->sharing.vxlan_ports.fill(ports.front());
        std::ranges::copy(ports, c.snapshot->sharing.vxlan_ports.begin());
        return {};
    }
    /// This object now owns the previous groups, and is destroyed after a grace period.
    void commit() noexcept override {
        of_.groups_.swap(after_);
        of_.recursive_.swap(recursive_);
        for (other_members& o : others_) {
            of_.publish(*o.of, std::move(o.table));
            of_.discard(std::move(o.of->full));
            o.of->members.swap(o.members);
            o.of->able.swap(o.able);
        }
    }

  private:
    result<void> add_operators(const transaction& c, vrf_routes& table) {
        resolved_routes& some = table.operators;
        const auto targets = some.set->targets();
        for (size_t t = 0; t < targets.size(); ++t) {
            const auto& nexthops = some.nexthops_of_members[t];
            const auto nexthop =
                targets[t].recursive
                    ? recursive_nexthop(c, {table.vrf, targets[t].mtu, targets[t].members},
                                        some.paths[t], nexthops)
                    : nexthop_of(c, targets[t], nexthops);
            if (!nexthop) return tl::unexpected<error>(nexthop.error());
            some.nexthop_of_target.push_back(*nexthop);
        }
        return {};
    }
    /// Routes without room are left out.
    void add_learned(const transaction& c, resolved_routes& some, left_out& out) {
        const auto targets = some.set->targets();
        for (size_t t = 0; t < targets.size(); ++t) {
            const uint32_t uses = some.set->uses_of(t);
            const auto& nexthops = some.nexthops_of_members[t];
            const auto lacks =
                static_cast<size_t>(std::count(nexthops.begin(), nexthops.end(), no_nexthop));
            uint32_t nexthop = no_nexthop;
            if (lacks == 0 || lacks < nexthops.size()) {
                if (uses != 0) out.paths += lacks;
                nexthop = nexthop_of(c, targets[t], nexthops, true).value_or(no_nexthop);
                if (nexthop == no_nexthop) out.groups += uses;
            } else {
                out.neighbours += uses;
            }
            some.nexthop_of_target.push_back(nexthop);
        }
    }
    /// The seed from the start stays: flows keep their members.
    static uint64_t seed_of(const transaction& c) noexcept {
        if (c.after.sharing.seed) return mix(*c.after.sharing.seed);
        if (c.running != nullptr && !c.before.sharing.seed) return c.running->sharing.seed;
        uint64_t of_mac = 0;
        const uint16_t first = c.port_index_of.at(c.after.ports.begin()->first);
        for (const uint8_t byte : c.snapshot->port[first].mac.bytes) of_mac = of_mac << 8 | byte;
        return mix(of_mac);
    }
    result<uint32_t> nexthop_of(const transaction& c, const state::route_target& target,
                                const std::vector<uint32_t>& nexthops, bool learned = false) {
        if (const auto fixed = fixed_nexthop_of(target.type)) return *fixed;
        shared_by key = key_of(target, nexthops, c.after.sharing);
        if (key.of.size() == 1 && key.mtu == 0) return key.of.front().nexthop;
        if (const auto there = after_.find(key); there != after_.end())
            return there->second->nexthop;
        const uint32_t limit = c.after.limits.limit;
        if (learned && learned_++ >= limit - limit / reserved_share) return no_nexthop;
        auto was = of_.groups_.find(key);
        std::shared_ptr<group> g;
        if (was != of_.groups_.end()) {
            g = was->second;
        } else {
            auto made = make(c, key.of, key.mtu);
            if (!made) return tl::unexpected<error>(made.error());
            g = std::move(*made);
        }
        after_.emplace(std::move(key), g);
        return g->nexthop;
    }
    result<uint32_t> recursive_nexthop(const transaction& c, gateways key,
                                       const std::vector<resolved_path>& paths,
                                       const std::vector<uint32_t>& nexthops) {
        members wanted;
        for (size_t w = 0; w < paths.size(); ++w)
            if (nexthops[w] != no_nexthop)
                wanted.push_back({.name = name_of(paths[w].to),
                                  .nexthop = nexthops[w],
                                  .weight = paths[w].to.weight,
                                  .use_neigh = c.after.sharing.uses_neigh(*paths[w].to.via)});
        if (wanted.empty()) wanted.push_back({.nexthop = datapath::fixed_nexthop::unreachable});
        const auto was = of_.recursive_.find(key);
        if (was == of_.recursive_.end()) {
            auto made = make(c, wanted, key.mtu);
            if (!made) return tl::unexpected<error>(made.error());
            return recursive_.emplace(std::move(key), std::move(*made)).first->second->nexthop;
        }
        const std::shared_ptr<group>& g = was->second;
        if (g->members != wanted) {
            auto able = of_.able_of(wanted, can_send_);
            auto table = make_group(wanted, able, {});
            others_.push_back({g, std::move(wanted), std::move(able), std::move(table)});
        }
        return recursive_.emplace(std::move(key), g).first->second->nexthop;
    }
    result<std::shared_ptr<group>> make(const transaction& c, const members& key, uint16_t mtu) {
        auto g = of_.make(key, mtu, can_send_);
        if (g == nullptr)
            return fail(ENOSPC, c.after.file,
                        "no next hop is left for routes that several neighbours share, or that are "
                        "recursive; allow more neighbours (neighbours.max_entries)");
        return g;
    }
    /// A bridge checks its members' links itself.
    static bool has_link(const transaction& c, const datapath::next_hop& nexthop) noexcept {
        const datapath::port_state* const port = c.snapshot->port[nexthop.out.port].state;
        return c.snapshot->interfaces[nexthop.out.interface].bridge != 0 ||
               (port != nullptr && port->link_up.load(std::memory_order_relaxed));
    }

    nexthop_groups& of_;
    const classify can_send_;
    /// New members of an existing group.
    struct other_members {
        std::shared_ptr<group> of;
        nexthop_groups::members members;
        std::vector<bool> able;
        datapath::nexthop_group::owned table;
    };
    std::map<shared_by, std::shared_ptr<group>> after_;
    std::map<gateways, std::shared_ptr<group>> recursive_;
    std::vector<other_members> others_;
    uint32_t learned_ = 0;  ///< number of groups of the kernel's routes
};

result<std::unique_ptr<prepared_change>> nexthop_groups::prepare(transaction& c,
                                                                 routes_in_progress& r) {
    auto ready = std::make_unique<prepared_groups>(*this, c);
    if (auto done = ready->add(c, r); !done) return tl::unexpected<error>(done.error());
    return ready;
}

}  // namespace turnpike::control
