// SPDX-License-Identifier: BSD-3-Clause
#include "state/learned.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "state/interface_networks.hpp"
#include "state/next_hop_rules.hpp"

namespace turnpike::state {
namespace {

void add_addresses(configuration& to, const learned& l) {
    interface_networks all;
    for (const auto& [name, i] : to.interfaces)
        for (const ip_prefix& a : i.addresses) {
            all.note(i.vrf, name, a.address);
            all.add(i.vrf, name, a);
        }
    for (const auto& [name, addresses] : l.addresses) {
        interface* on = to.interfaces.find(name);
        if (on == nullptr || !on->host_interface || on->kind != interface_kind::routed ||
            on->admin_down)
            continue;
        std::set<ip_address> own;
        for (const ip_prefix& a : on->addresses) own.insert(a.address);
        for (const ip_prefix& a : addresses) {
            // One interface may have two addresses of a network.
            if (own.contains(a.address) || all.find_overlap(on->vrf, name, a) != nullptr) continue;
            own.insert(a.address);
            all.note(on->vrf, name, a.address);
            all.add(on->vrf, name, a);
            on->addresses.push_back(a);
            if (l.no_dad.contains({.interface = name, .address = a.address}))
                on->no_dad.push_back(a.address);
        }
    }
}

/// Whether a next hop is via a mirrored interface and not a local address.
bool can_be(const interface* by, const route_member& m) {
    if (by == nullptr || !by->host_interface || by->kind != interface_kind::routed ||
        by->admin_down)
        return false;
    return std::none_of(by->addresses.begin(), by->addresses.end(),
                        [&](const ip_prefix& a) { return m.via && a.address == *m.via; });
}

void add_neighbours(const configuration& in, const learned& l, followed& to) {
    const size_t most = in.limits.limit / 2;
    for (const auto& [name, mac] : l.neighbours) {
        const route_member there{.via = name.address, .interface = name.interface};
        if (!can_be(in.interfaces.find(name.interface), there) || in.neighbours.contains(name))
            continue;
        if (in.neighbours.size() + to.neighbours.size() < most)
            to.neighbours.emplace_hint(to.neighbours.end(), name, mac);
        else
            ++to.neighbours_left_out;
    }
}

/// Marks the interfaces that are down, and removes their addresses.
/// Returns  whether there are any
bool set_down(configuration& in, const learned& l) {
    const auto is_down = [&](const std::string& name) {
        const interface* const i = in.interfaces.find(name);
        return i != nullptr && i->host_interface && l.admin_down.contains(name);
    };
    std::vector<std::string> down;
    for (const auto& [name, i] : in.interfaces)
        if (i.kind == interface_kind::routed && (is_down(name) || (i.vlan != 0 && is_down(i.port))))
            down.push_back(name);
    for (const std::string& name : down) {
        interface& i = *in.interfaces.find(name);
        i.admin_down = true;
        i.addresses.clear();
        i.extra_macs.clear();
    }
    return !down.empty();
}

/// Removes the next hops via interfaces that are down.
void remove_down_paths(const configuration& in, route_set& routes) {
    const auto is_down = [&](const route_member& m) {
        const interface* const by = in.interfaces.find(m.interface);
        return by != nullptr && by->admin_down;
    };
    const auto targets = routes.targets();
    std::vector<bool> changes(targets.size());
    for (size_t t = 0; t < targets.size(); ++t)
        changes[t] = std::ranges::any_of(targets[t].members, is_down);
    if (std::ranges::find(changes, true) == changes.end()) return;
    std::vector<route> changed;
    for (const route& r : routes)
        if (changes[r.target]) changed.push_back(r);
    const std::vector<route_target> before(targets.begin(), targets.end());
    for (const route& r : changed) {
        route_target left = before[r.target];
        std::erase_if(left.members, is_down);
        if (left.members.empty())
            routes.remove(r.to);
        else
            routes.set(r.to, left);
    }
}

}  // namespace

route_set followed_routes(const configuration& in, const std::string& vrf,
                          const route_set& routes) {
    // Thousands of next hops have few interfaces, mostly the one of the next hop before.
    std::unordered_map<std::string_view, const interface*> by_name;
    std::pair<std::string_view, const interface*> last{};
    // An on-link route must be in the VRF of its interface (neighbour_finder::check_link).
    const auto is_usable = [&](const route_member& m) {
        if (m.interface != last.first || last.first.empty()) {
            const auto [at, is_new] = by_name.try_emplace(m.interface);
            if (is_new) at->second = in.interfaces.find(m.interface);
            last = *at;
        }
        return can_be(last.second, m) && (m.via || last.second->vrf == vrf);
    };
    const auto targets = routes.targets();
    route_set out = routes;
    for (uint32_t t = 0; t < targets.size(); ++t) {
        if (std::ranges::all_of(targets[t].members, is_usable)) continue;
        route_target other = targets[t];
        std::erase_if(other.members, [&](const route_member& m) { return !is_usable(m); });
        if (other.members.empty()) {
            other.type = route_type::not_followed;
            other.mtu = 0;
        }
        out.replace_target(t, other);
    }
    return out;
}

void forget_removed(learned& l, const configuration& before, const configuration& after) noexcept {
    for (auto& [name, addresses] : l.addresses) {
        const interface *was = before.interfaces.find(name), *is = after.interfaces.find(name);
        if (was == nullptr || !was->host_interface) continue;
        const auto has = [](const interface* i, const ip_prefix& a) {
            return i != nullptr &&
                   std::find(i->addresses.begin(), i->addresses.end(), a) != i->addresses.end();
        };
        std::erase_if(addresses, [&](const ip_prefix& a) { return has(was, a) && !has(is, a); });
    }
}

std::shared_ptr<const configuration> with_interfaces(const configuration& operators,
                                                     const learned& l) {
    const bool follows_status =
        operators.control_plane.follow_admin_status && !l.admin_down.empty();
    if (!operators.control_plane.netlink || (l.addresses.empty() && !follows_status))
        return nullptr;
    auto both = std::make_shared<configuration>(operators);
    const bool any_down = follows_status && set_down(*both, l);
    add_addresses(*both, l);
    if (!any_down) return both;
    remove_down_paths(*both, both->routes);
    for (const auto& [name, v] : both->vrfs) remove_down_paths(*both, both->routes_of(name));
    std::erase_if(both->neighbours, [&](const auto& one) {
        const interface* const on = both->interfaces.find(one.first.interface);
        return on != nullptr && on->admin_down;
    });
    return both;
}

size_t followed::route_count() const noexcept {
    size_t n = 0;
    for (const auto& [vrf, of_vrf] : routes) n += of_vrf.size();
    return n;
}

const route_set& learned::routes_of(const std::string& vrf) const {
    static const route_set none;
    if (vrf.empty()) return routes;
    const auto of_vrf = vrf_routes.find(vrf);
    return of_vrf == vrf_routes.end() ? none : of_vrf->second;
}

followed follow(const configuration& in, const learned& l) {
    static const learned none;
    const learned& from = in.control_plane.netlink ? l : none;
    followed out;
    out.routes.emplace("", followed_routes(in, {}, from.routes));
    for (const auto& [name, v] : in.vrfs)
        out.routes.emplace(name, followed_routes(in, name, from.routes_of(name)));
    add_neighbours(in, from, out);
    return out;
}

}  // namespace turnpike::state
