// SPDX-License-Identifier: BSD-3-Clause
// Transactions of neighbours, and their display.
#include <fmt/format.h>

#include <algorithm>
#include <bitset>

#include "control/neighbours/neighbours.hpp"

namespace turnpike::control {

using datapath::drop_reason;
using datapath::nexthop_kind;

class neighbours::prepared_neighbours : public prepared_change {
  public:
    prepared_neighbours(neighbours& of, const transaction& c)
        : of_(of), after_(c.after), snapshot_(*c.snapshot) {}
    ~prepared_neighbours() override {
        if (committed_) return;
        for (entry* e : touched_) of_.update_rank(*e);  // may be deleted
        for (entry* e : made_)
            if (e != nullptr) of_.forget(*e, drop_reason::stopping, 0);
    }

    /// The operator's objects first: room that is left is the kernel's.
    result<void> add_all(const transaction& c, routes_in_progress& r) {
        for (vrf_routes& t : r.tables)
            if (auto done = add_gateways(c, t.operators); !done) return done;
        if (auto done = add_fixed(c, r); !done) return done;
        for (vrf_routes& t : r.tables)
            if (auto done = add_gateways(c, t.learned, true); !done) return done;
        return add_permanent(c, r.out);
    }
    void find_interfaces(const transaction& c) {
        interfaces_.resize(of_.interfaces_.size());
        for (const auto& [name, ifindex] : c.ifindex_of) {
            const datapath::interface& on = snapshot_.interfaces[ifindex];
            if (on.kind != datapath::interface_kind::routed) continue;
            interfaces_[ifindex].about = &on;
            interfaces_[ifindex].networks = after_.interfaces.at(name).addresses;
            interfaces_[ifindex].link_nexthop = on.addresses->link_nexthop;
            interfaces_[ifindex].is_new =
                c.running != nullptr &&
                c.running->interfaces[ifindex].kind != datapath::interface_kind::routed;
        }
        not_yet_.reserve(fixed_.size());
    }
    /// The entries that the change concerns: control updates them, and may not pause for all the others.
    void find_concerned(const routes_in_progress& r) {
        std::bitset<datapath::max_vrfs> vrfs;
        for (const vrf_routes& t : r.tables) vrfs[t.vrf] = r.had_left_out || concerns_links(t);
        std::vector<bool> differs(interfaces_.size());
        for (size_t i = 0; i < interfaces_.size(); ++i) {
            const of_one& is = interfaces_[i];
            const of_interface& was = of_.interfaces_[i];
            differs[i] = was.about.has_value() != (is.about != nullptr) ||
                         (is.about != nullptr && was.about->mtu != is.about->mtu);
            if (is.about != nullptr && was.link_nexthop != is.link_nexthop) vrfs.set(is.about->vrf);
        }
        for (const auto& [whose, e] : of_.entries_)
            if (differs[e->interface] || vrfs[e->vrf] || other_role(*e) || lacks_route(*e))
                concerned_.push_back(e.get());
        for (entry* e : touched_)
            if (other_role(*e)) concerned_.push_back(e);
        concerned_.insert(concerned_.end(), made_.begin(), made_.end());
        std::sort(concerned_.begin(), concerned_.end());
        concerned_.erase(std::unique(concerned_.begin(), concerned_.end()), concerned_.end());
    }

    void commit() noexcept override {
        committed_ = true;
        of_.limits_ = after_.limits;
        of_.learned_ = learned_.size();
        of_.routed_interfaces_ = 0;
        for (size_t i = 0; i < interfaces_.size(); ++i) {
            of_.interfaces_[i].about = interfaces_[i].about == nullptr
                                           ? std::nullopt
                                           : std::optional(*interfaces_[i].about);
            of_.interfaces_[i].networks.swap(interfaces_[i].networks);
            of_.interfaces_[i].link_nexthop = interfaces_[i].link_nexthop;
            of_.routed_interfaces_ += interfaces_[i].about != nullptr;
        }
        for (entry* e : touched_) of_.update_rank(*e);  // find_or_insert() took it out of its list
        for (entry* e : concerned_) update(*e);
    }
    /// Now workers know the interfaces that are new: until here the way to their neighbours was unresolved.
    void retire() noexcept override {
        for (entry* e : not_yet_) {
            of_.set_mac(*e, fixed_.find(e)->second);
            change_host_route(*e, of_.is_on_network(*e));
        }
    }

  private:
    /// Whether routes change that may decide whether a neighbour is in a connected network or on-link route.
    [[nodiscard]] bool concerns_links(const vrf_routes& t) const {
        if (!of_.host_routes_.has_derived(t)) return true;
        const bool any_length = of_.host_routes_.of(t.vrf).has_link_routes() ||
                                routes::lead_to_links(*t.operators.set) ||
                                routes::lead_to_links(*t.learned.set);
        return of_.any_in(t.vrf, *t.operators.what,
                          any_length ? decides::any_length : decides::as_long) ||
               of_.any_in(t.vrf, *t.learned.what,
                          any_length ? decides::any_length : decides::longer);
    }
    [[nodiscard]] bool other_role(entry& e) const {
        const auto f = fixed_.find(&e);
        return e.gateway != gateways_.contains(&e) || e.grouped != grouped_.contains(&e) ||
               e.fixed != (f != fixed_.end()) || (e.fixed && e.mac != f->second);
    }
    /// There was no memory for it, or it is no neighbour of a connected network.
    [[nodiscard]] bool lacks_route(const entry& e) const noexcept {
        return !e.has_route && !e.address.is_link_local() && may_have_route(e);
    }
    [[nodiscard]] bool may_have_route(const entry& e) const noexcept {
        const auto kind = of_.nexthops_[e.nexthop].kind.load(std::memory_order_relaxed);
        return kind == nexthop_kind::adjacency || kind == nexthop_kind::failed;
    }
    result<void> add_fixed(const transaction& c, routes_in_progress& r) {
        for (const auto& [name, says] : after_.neighbours) {
            auto e = add(c, name, "the static ones");
            if (!e) return tl::unexpected<error>(e.error());
            fixed_.emplace(*e, says.mac);
            const auto bits = static_cast<uint8_t>(name.address.bits());
            if (!name.address.is_link_local())
                r.of((*e)->vrf).derived[{name.address, bits}] = (*e)->nexthop;
        }
        return {};
    }
    /// The kernel's permanent entries: routes and networks decide which are used.
    result<void> add_permanent(const transaction& c, left_out& out) {
        for (const auto& [name, mac] : c.learned.neighbours) {
            if (is_own_link_local(c.ifindex_of.at(name.interface), name.address)) continue;
            if (entry* const e = add_learned(c, name); e != nullptr)
                fixed_.emplace(e, mac);
            else
                ++out.permanent;
        }
        return {};
    }

    /// learned  a gateway that is our own address gives an unusable next hop, and one without room none, instead of
    ///          an error
    result<void> add_gateways(const transaction& c, resolved_routes& some, bool learned = false) {
        const auto targets = some.set->targets();
        for (size_t t = 0; t < targets.size(); ++t) {
            auto& nexthops = some.nexthops_of_members.emplace_back();
            if (targets[t].recursive) {
                if (auto done = add_paths(c, some, t, nexthops); !done) return done;
                continue;
            }
            for (const state::route_member& m : targets[t].members) {
                const uint16_t interface = c.ifindex_of.at(m.interface);
                if (!m.via) {
                    nexthops.push_back(snapshot_.interfaces[interface].addresses->link_nexthop);
                    continue;
                }
                if (learned && is_own_link_local(interface, *m.via)) {
                    nexthops.push_back(datapath::fixed_nexthop::unreachable);
                    continue;
                }
                const bool grouped = targets[t].members.size() > 1;
                if (learned) {
                    nexthops.push_back(
                        gateway_nexthop(add_learned(c, {m.interface, *m.via}), grouped));
                    continue;
                }
                auto e = add(c, {m.interface, *m.via}, "the gateways of the routes");
                if (!e) return tl::unexpected<error>(e.error());
                nexthops.push_back(gateway_nexthop(*e, grouped));
            }
        }
        return {};
    }
    uint32_t gateway_nexthop(entry* e, bool grouped) {
        if (e == nullptr) return no_nexthop;
        gateways_.insert(e);
        if (grouped && after_.sharing.uses_neigh(e->address)) grouped_.insert(e);
        return e->nexthop;
    }

    /// Whether the operator adds or changes a route of this target.
    static bool is_new(const resolved_routes& some, size_t target) {
        return std::any_of(some.what->set.begin(), some.what->set.end(),
                           [&](const state::route& r) { return r.target == target; });
    }
    /// The same for recursive routes, which may resolve by learned routes: only a new route is refused without room.
    result<void> add_paths(const transaction& c, const resolved_routes& some, size_t target,
                           std::vector<uint32_t>& nexthops) {
        for (const resolved_path& path : some.paths[target]) {
            const state::route_member& to = path.to;
            if (path.drops || is_own_link_local(c.ifindex_of.at(to.interface), *to.via)) {
                nexthops.push_back(path.drops.value_or(datapath::fixed_nexthop::unreachable));
                continue;
            }
            auto e = add(c, {to.interface, *to.via}, "the gateways of the routes");
            if (!e && (e.error().code != ENOSPC || is_new(some, target)))
                return tl::unexpected<error>(e.error());
            nexthops.push_back(gateway_nexthop(e.value_or(nullptr), some.paths[target].size() > 1));
        }
        return {};
    }

    /// The link-local address follows from the device's MAC address, which is known only here.
    [[nodiscard]] bool is_own_link_local(uint16_t interface, const ip_address& a) const noexcept {
        const datapath::interface_addresses* const own = snapshot_.interfaces[interface].addresses;
        return a.is_link_local() && own != nullptr && a.v6_bytes() == own->v6.front();
    }

    struct of_one {
        const datapath::interface* about = nullptr;
        std::vector<ip_prefix> networks{};
        uint32_t link_nexthop = 0;
        bool is_new = false;  ///< no routed interface for workers, until the next snapshot
    };

    result<entry*> add(const transaction& c, const state::neighbour_name& name, const char* whose) {
        const uint16_t interface = c.ifindex_of.at(name.interface);
        if (is_own_link_local(interface, name.address))
            return turnpike::fail(EINVAL, after_.file,
                                  fmt::format("{} is our own address on '{}': no next hop, and "
                                              "no neighbour",
                                              name.address.text(), name.interface));
        if (entry* const e = find_or_insert(interface, name.address); e != nullptr) return e;
        return turnpike::fail(ENOSPC, after_.file,
                              fmt::format("neighbours.max_entries ({}) is too small for {}",
                                          after_.limits.limit, whose));
    }
    /// Null: no room.
    entry* add_learned(const transaction& c, const state::neighbour_name& name) {
        const uint16_t interface = c.ifindex_of.at(name.interface);
        entry* e = of_.find(interface, name.address);
        const bool counts = e == nullptr || (!gateways_.contains(e) && !fixed_.contains(e));
        if (counts && learned_.size() >= max_learned(after_.limits)) return nullptr;
        e = find_or_insert(interface, name.address);
        if (e != nullptr && counts) learned_.insert(e);
        return e;
    }
    entry* find_or_insert(uint16_t interface, const ip_address& a) {
        if (entry* there = of_.find(interface, a)) {
            touched_.push_back(there);
            of_.unrank(*there);  // a wanted entry is not evicted for another
            return there;
        }
        made_.push_back(nullptr);
        const bool room =
            of_.make_room(interface, role::lasting, after_.limits.limit, dropped_by::tick, 0);
        entry* e = room ? of_.insert(interface, a, snapshot_.interfaces[interface]) : nullptr;
        if (e == nullptr) {
            made_.pop_back();
            return nullptr;
        }
        e->state = neighbour_state::failed;  // resolved on first use
        return made_.back() = e;
    }

    void update(entry& e) noexcept {
        const of_interface& on = of_.interfaces_[e.interface];
        const bool was_fixed = e.fixed, was_gateway = e.gateway;
        e.gateway = gateways_.contains(&e);
        e.grouped = grouped_.contains(&e);
        const auto f = fixed_.find(&e);
        e.fixed = f != fixed_.end();
        if (!on.about) {
            e.gateway = e.fixed = false;
            return of_.forget(e, drop_reason::interface_gone, 0);
        }
        of_.nexthops_[e.nexthop].mtu.store(on.about->mtu, std::memory_order_relaxed);
        if (e.fixed) {
            if (interfaces_[e.interface].is_new)
                not_yet_.push_back(&e);
            else if (!was_fixed || e.mac != f->second)
                of_.set_mac(e, f->second);
            e.state = neighbour_state::reachable;
            of_.stop_timer(e);
            change_host_route(e, of_.is_on_network(e));
            return of_.update_rank(e);
        }
        if (was_fixed) {  // the MAC address was configured, not learned
            of_.lose_mac(e);
            change_host_route(e, false);
            e.state = neighbour_state::failed;
            e.deadline_ms = 0;  // a solicitation may be sent at once
        }
        const bool on_network = of_.is_on_network(e);
        const bool on_link = e.address.is_link_local() || on_network;
        if (!e.gateway && (!on_link || was_fixed))
            return of_.forget(e, drop_reason::interface_gone, 0);
        // A gateway has a host route only while it is in a connected network or on-link route.
        change_host_route(e, on_network);
        if (was_gateway && !e.gateway && e.state == neighbour_state::failed)
            of_.set_timer(e, e.deadline_ms);
        of_.update_rank(e);
    }

    void change_host_route(entry& e, bool on_network) noexcept {
        try {
            if (e.has_route && !on_network)
                e.has_route = !of_.host_routes_.clear_host(e.vrf, e.address, e.nexthop).has_value();
            else if (!e.has_route && on_network && may_have_route(e))
                e.has_route = of_.host_routes_
                                  .set_host(e.vrf, e.address, e.nexthop,
                                            of_.interfaces_[e.interface].link_nexthop)
                                  .has_value();
        } catch (const std::bad_alloc&) {  // out of memory: packets go through control meanwhile
        }
    }

    neighbours& of_;
    const state::configuration& after_;
    const datapath::snapshot& snapshot_;
    std::vector<of_one> interfaces_;
    std::vector<entry*> made_, touched_, concerned_;
    std::set<entry*> gateways_, grouped_;
    std::set<entry*> learned_;  ///< the kernel's only
    std::map<entry*, mac_address> fixed_;
    std::vector<entry*> not_yet_;  ///< fixed, on new interfaces
    bool committed_ = false;
};

result<std::unique_ptr<prepared_change>> neighbours::prepare(const transaction& c,
                                                             routes_in_progress& r) {
    auto ready = std::make_unique<prepared_neighbours>(*this, c);
    if (c.after.limits.limit > nexthops_.capacity() / 2)
        return turnpike::fail(
            ENOSPC, c.after.file,
            fmt::format("neighbours.max_entries can be {} at most until a restart, which "
                        "makes room for more",
                        nexthops_.capacity() / 2));
    if (auto done = ready->add_all(c, r); !done) return tl::unexpected<error>(done.error());
    ready->find_interfaces(c);
    ready->find_concerned(r);
    return ready;
}

std::optional<uint32_t> neighbours::add_gateway(uint16_t interface, const ip_address& a,
                                                bool grouped) {
    const std::optional<datapath::interface>& on = interfaces_[interface].about;
    if (!on || (a.is_link_local() && a.v6_bytes() == on->addresses->v6.front()))
        return std::nullopt;
    entry* e = find(interface, a);
    if (e == nullptr || (!e->gateway && !e->fixed)) {
        if (learned_ >= max_learned(limits_)) return std::nullopt;
        if (e == nullptr) {
            e = make(interface, a, role::lasting, 0);
            if (e == nullptr) return std::nullopt;
            e->state = neighbour_state::failed;  // resolved on first use
        }
        ++learned_;
    }
    e->gateway = true;
    e->grouped |= grouped;
    update_rank(*e);
    return e->nexthop;
}

bool neighbours::any_in(uint8_t vrf, const state::route_changes& what, decides which) const {
    std::set<ip_prefix> networks;
    std::set<uint8_t> lengths;
    const auto find_networks = [&] {
        for (const of_interface& i : interfaces_)
            if (i.entries != 0 && i.about && i.about->vrf == vrf)
                for (const ip_prefix& p : i.networks) {
                    networks.insert(p.network());
                    lengths.insert(p.length);
                }
    };
    const auto is_inside = [&](const ip_prefix& to) {
        return std::ranges::any_of(lengths, [&](uint8_t length) {
            return (which == decides::as_long ? length <= to.length : length < to.length) &&
                   networks.contains(ip_prefix{to.address, length}.network());
        });
    };
    const auto concerns_any = [&](const ip_prefix& to) {
        const auto first = addresses_.lower_bound({vrf, to.address});
        if (first == addresses_.end() || first->first.first != vrf ||
            !to.contains(first->first.second))
            return false;
        if (which == decides::any_length) return true;
        if (lengths.empty()) find_networks();
        return is_inside(to);
    };
    return std::any_of(what.removed.begin(), what.removed.end(), concerns_any) ||
           std::any_of(what.set.begin(), what.set.end(),
                       [&](const state::route& r) { return concerns_any(r.to); });
}

known_neighbour neighbours::shown(const entry& e) const {
    known_neighbour out{.interface = e.interface,
                        .address = e.address,
                        .nexthop = e.nexthop,
                        .state = e.state,
                        .gateway = e.gateway,
                        .fixed = e.fixed,
                        .pending = e.pending.size()};
    if (nexthops_[e.nexthop].kind.load(std::memory_order_relaxed) == nexthop_kind::adjacency)
        out.mac = e.mac;
    return out;
}

void neighbours::for_each(uint16_t from_interface, const ip_address& from,
                          const std::function<bool(const known_neighbour&)>& visit) const {
    for (auto at = entries_.lower_bound({from_interface, from}); at != entries_.end(); ++at)
        if (!visit(shown(*at->second))) return;
}

std::optional<known_neighbour> neighbours::of_nexthop(uint32_t nexthop) const {
    const auto at = by_nexthop_.find(nexthop);
    return at == by_nexthop_.end() ? std::nullopt : std::optional(shown(*at->second));
}

}  // namespace turnpike::control
