// SPDX-License-Identifier: BSD-3-Clause
#include "state/changes.hpp"

#include <fmt/format.h>

#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace turnpike::state {
namespace {

template <class T>
const T* find_in(const named<T>& all, const std::string& name) {
    return all.find(name);
}
template <class T>
const T* find_in(const std::map<neighbour_name, T>& all, const neighbour_name& name) {
    const auto at = all.find(name);
    return at == all.end() ? nullptr : &at->second;
}

template <class Objects>
auto diff_objects(const Objects& before, const Objects& after) {
    change_list<std::remove_cvref_t<decltype(before.begin()->first)>> out;
    for (const auto& [name, b] : before)
        if (find_in(after, name) == nullptr) out.removed.push_back(name);
    for (const auto& [name, a] : after) {
        const auto* const b = find_in(before, name);
        if (b == nullptr)
            out.added.push_back(name);
        else if (!(*b == a))
            out.changed.push_back(name);
    }
    return out;
}

/// Ports whose devices must be reopened: their settings are fixed at open.
std::vector<std::string> find_reopened(const configuration& before, const configuration& after) {
    std::vector<std::string> out;
    for (const auto& [name, b] : before.ports)
        if (const port* a = after.ports.find(name); a != nullptr && !a->opens_like(b))
            out.push_back(name);
    return out;
}

}  // namespace

result<changes> diff(const configuration& before, const configuration& after) {
    if (!(before.fixed == after.fixed))
        return fail(
            EBUSY, after.file,
            "eal or mempool differ from the running configuration: they are fixed at start, and "
            "need a restart");
    changes out;
    out.workers = before.workers != after.workers;
    out.ports = diff_objects(before.ports, after.ports);
    out.reopened = find_reopened(before, after);
    out.interfaces = diff_objects(before.interfaces, after.interfaces);
    out.bridges = diff_objects(before.bridges, after.bridges);
    out.tunnels = diff_objects(before.tunnels, after.tunnels);
    out.mirrors = diff_objects(before.mirrors, after.mirrors);
    out.acls = diff_objects(before.acls, after.acls);
    out.vrfs = diff_objects(before.vrfs, after.vrfs);
    for (const auto& [name, a] : after.vrfs) {
        static const route_set none;
        const vrf* const b = before.vrfs.find(name);
        out.vrf_routes.emplace(name, diff(b == nullptr ? none : b->routes, a.routes));
    }
    out.neighbours = diff_objects(before.neighbours, after.neighbours);
    out.routes = diff(before.routes, after.routes);
    const auto settings_of = [](const configuration& c) {
        return std::tie(c.sending, c.idle, c.messages, c.punt_rate, c.sharing, c.drops_special,
                        c.default_resolves, c.interface_counters, c.latency_sample, c.limits,
                        c.control, c.pcie_profiles, c.control_plane, c.metrics, c.sflow);
    };
    out.settings = settings_of(before) != settings_of(after);
    return out;
}

void add_learned(changes& to, const followed& before, const followed& after) {
    static const route_set none;
    for (const auto& [vrf, routes] : after.routes) {
        const auto b = before.routes.find(vrf);
        to.learned[vrf] = diff(b == before.routes.end() ? none : b->second, routes);
    }
    to.learned_neighbours = diff_objects(before.neighbours, after.neighbours);
}

size_t changes::route_count() const noexcept {
    size_t n = routes.size();
    for (const auto& [name, of_vrf] : vrf_routes) n += of_vrf.size();
    return n;
}

size_t changes::removed_routes() const noexcept {
    size_t n = routes.removed.size();
    for (const auto& [name, of_vrf] : vrf_routes) n += of_vrf.removed.size();
    return n;
}

size_t changes::learned_count() const noexcept {
    size_t n = 0;
    for (const auto& [name, of_vrf] : learned) n += of_vrf.size();
    return n;
}

std::string changes::text() const {
    std::string out;
    const auto count = [&](size_t n, std::string_view what) {
        if (n == 0) return;
        if (!out.empty()) out += ", ";
        out += fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
    };
    count(ports.size(), "port");
    count(interfaces.size(), "interface");
    count(bridges.size(), "bridge");
    count(tunnels.size(), "tunnel");
    count(mirrors.size(), "mirror");
    count(acls.size(), "access list");
    count(neighbours.size(), "neighbour");
    count(vrfs.size(), "VRF");
    count(route_count(), "route");
    count(learned_count(), "learned route");
    count(learned_neighbours.size(), "learned neighbour");
    for (const auto& [differs, what] : {std::pair{workers, "workers"}, {settings, "settings"}})
        if (differs) out += fmt::format("{}{}", out.empty() ? "" : ", ", what);
    return out.empty() ? "nothing" : out;
}

}  // namespace turnpike::state
