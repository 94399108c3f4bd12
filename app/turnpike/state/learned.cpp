// SPDX-License-Identifier: BSD-3-Clause
#include "state/learned.hpp"

#include <algorithm>

#include "state/next_hop_rules.hpp"

namespace turnpike::state {
namespace {

bool overlaps(const configuration& in, const std::string& name, const ip_prefix& a) {
    const std::string& vrf = in.interfaces.at(name).vrf;
    return std::any_of(in.interfaces.begin(), in.interfaces.end(), [&](const auto& other) {
        if (other.second.vrf != vrf) return false;
        const auto& theirs = other.second.addresses;
        return std::any_of(theirs.begin(), theirs.end(), [&](const ip_prefix& b) {
            // One interface may have two addresses of a network.
            return other.first == name ? a.address == b.address : !may_both_be(a, b);
        });
    });
}

void add_addresses(configuration& to, const learned& l) {
    for (const auto& [name, addresses] : l.addresses) {
        interface* on = to.interfaces.find(name);
        if (on == nullptr || !on->host_interface || on->kind != interface_kind::routed) continue;
        for (const ip_prefix& a : addresses)
            if (!overlaps(to, name, a)) on->addresses.push_back(a);
    }
}

/// Whether a next hop is via a mirrored interface and not a local address.
bool can_be(const configuration& in, const route_member& m) {
    const interface* by = in.interfaces.find(m.interface);
    if (by == nullptr || !by->host_interface || by->kind != interface_kind::routed) return false;
    return std::none_of(by->addresses.begin(), by->addresses.end(),
                        [&](const ip_prefix& a) { return m.via && a.address == *m.via; });
}

/// Answers  the number of neighbours beyond the limit
size_t add_neighbours(configuration& to, const learned& l) {
    const size_t most = to.limits.limit / 2;
    size_t left_out = 0;
    for (const auto& [name, mac] : l.neighbours) {
        const route_member there{.via = name.address, .interface = name.interface};
        if (!can_be(to, there) || to.neighbours.contains(name)) continue;
        if (to.neighbours.size() + to.learned_neighbours.size() < most)
            to.learned_neighbours.emplace_hint(to.learned_neighbours.end(), name, mac);
        else
            ++left_out;
    }
    return left_out;
}

/// An on-link route must be in the VRF of its interface (neighbour_finder::check_link).
void add_routes(configuration& to, const std::string& vrf, route_set& into,
                const route_set& routes) {
    into = routes;
    change_members(into, [&](const route_member& m) {
        return can_be(to, m) && (m.via || to.interfaces.at(m.interface).vrf == vrf);
    });
}

}  // namespace

bool change_members(route_set& in, const std::function<bool(const route_member&)>& stays) {
    const std::vector<route_target> targets(in.targets().begin(), in.targets().end());
    std::vector<route_target> less = targets;
    bool any = false;
    for (route_target& t : less)
        any |= std::erase_if(t.members, [&](const route_member& m) { return !stays(m); }) != 0;
    if (!any) return false;
    std::vector<route> changed;
    for (const route& r : in)
        if (less[r.target] != targets[r.target]) changed.push_back(r);
    for (const route& r : changed) {
        const route_target& t = less[r.target];
        if (t.members.empty())
            in.remove(r.to);
        else
            in.set(r.to, t);
    }
    return true;
}

void take_back(learned& l, const configuration& said_before, const configuration& says) noexcept {
    for (auto& [name, addresses] : l.addresses) {
        const interface *was = said_before.interfaces.find(name), *is = says.interfaces.find(name);
        if (was == nullptr || !was->host_interface) continue;
        const auto has = [](const interface* i, const ip_prefix& a) {
            return i != nullptr &&
                   std::find(i->addresses.begin(), i->addresses.end(), a) != i->addresses.end();
        };
        std::erase_if(addresses, [&](const ip_prefix& a) { return has(was, a) && !has(is, a); });
    }
}

std::shared_ptr<const configuration> with_learned(std::shared_ptr<const configuration> said,
                                                  const learned& l, size_t* neighbours_left_out) {
    if (!said->control_plane.netlink || l.empty()) return said;
    auto both = std::make_shared<configuration>(*said);
    add_addresses(*both, l);
    add_routes(*both, {}, both->learned, l.routes);
    for (const auto& [name, routes] : l.vrf_routes)
        if (vrf* const v = both->vrfs.find(name)) add_routes(*both, name, v->learned, routes);
    const size_t left_out = add_neighbours(*both, l);
    if (neighbours_left_out != nullptr) *neighbours_left_out = left_out;
    return both;
}

}  // namespace turnpike::state
