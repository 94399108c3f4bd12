// SPDX-License-Identifier: BSD-3-Clause
// Routes, neighbours and next hops: up to a million, so shown by the page, each page from a key on. A page takes a
// part of one iteration of control.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "control/management/show.hpp"
#include "sources/netlink_rib.hpp"
#include "sources/route_file.hpp"

namespace turnpike::control {
namespace {

using nlohmann::json;

/// Members of a group, with their current shares.
void add_members(controller& c, uint32_t index, json& out) {
    const auto group = c.routing().groups().of_nexthop(index);
    out["buckets"] = group.buckets;
    if (group.mtu != 0) out["mtu"] = group.mtu;
    out["members"] = json::array();
    for (const auto& m : group.members) {
        json one = nexthop_json(c, m.nexthop);
        one["weight"] = m.weight;
        one["able"] = m.able;
        one["buckets"] = m.buckets;
        out["members"].push_back(std::move(one));
    }
}

}  // namespace

json nexthop_json(controller& c, uint32_t index) {
    const datapath::next_hop& nexthop = c.nexthops()[index];
    json out = {{"next_hop", index}};
    switch (nexthop.kind.load(std::memory_order_relaxed)) {
        case datapath::nexthop_kind::drop:
            out["type"] = "drop";
            out["reason"] = datapath::name(nexthop.reason);
            return out;
        case datapath::nexthop_kind::local:
            out["type"] = "local";
            return out;
        case datapath::nexthop_kind::group:
            out["type"] = "group";
            add_members(c, index, out);
            return out;
        case datapath::nexthop_kind::failed:
            out["type"] = "failed";
            break;
        case datapath::nexthop_kind::glean:
            out["type"] = "glean";
            break;
        case datapath::nexthop_kind::adjacency:
            out["type"] = "adjacency";
            break;
    }
    out["interface"] = c.interfaces().name_of(nexthop.out.interface);
    out["mtu"] = nexthop.mtu.load(std::memory_order_relaxed);
    if (const auto whose = c.routing().neighbours().of_nexthop(index)) {
        out["via"] = whose->address.text();
        out["mac"] = whose->mac ? json(whose->mac->text()) : json(nullptr);
    }
    return out;
}

namespace {

const state::route_target* learned_route(controller& c, uint8_t vrf, const ip_prefix& to) {
    return c.followed().routes.at(c.routing().vrfs().name_of(vrf)).find(to);
}

/// Source of a route; of a learned one, its protocol.
void add_origin(controller& c, uint8_t vrf, json& out, const ip_prefix& to, route_origin origin) {
    out["origin"] = route_origin_names[static_cast<size_t>(origin)];
    if (origin != route_origin::learned) return;
    const state::route_target* learned = learned_route(c, vrf, to);
    if (learned == nullptr) return;
    out["protocol"] = sources::protocol_name(learned->protocol);
    out["metric"] = learned->metric;
}

/// A single element without a list.
json alone_or_all(json list) { return list.size() == 1 ? json(list[0]) : list; }

/// Gateways of a recursive route, and why one is unresolved.
void add_gateways(controller& c, uint8_t vrf, json& out, const ip_prefix& to, route_origin origin) {
    if (origin != route_origin::configured) return;
    const state::route_target* route =
        c.running().routes_of(c.routing().vrfs().name_of(vrf)).find(to);
    if (route == nullptr || !route->recursive) return;
    json via = json::array(), interfaces = json::array(), all = json::array();
    std::string reason;
    bool any = false;
    for (const state::route_member& m : route->members) {
        const resolved_gateway* g = c.routing().recursive().find(vrf, *m.via);
        if (g == nullptr) continue;
        via.push_back(m.via->text());
        json one = {{"via", m.via->text()}, {"weight", m.weight}};
        one["through"] = g->through ? json(g->through->text()) : json(nullptr);
        any |= g->why == unresolved::none;
        if (g->why != unresolved::none) {
            one["unresolved"] = text_of(g->why);
            reason +=
                fmt::format("{}{}: {}", reason.empty() ? "" : "; ", m.via->text(), text_of(g->why));
        }
        all.push_back(std::move(one));
    }
    for (const json& member : out["members"])
        if (const json on = member.value("interface", json());
            !on.is_null() &&
            std::find(interfaces.begin(), interfaces.end(), on) == interfaces.end())
            interfaces.push_back(on);
    out["recursive"] = true;
    out["via"] = alone_or_all(std::move(via));
    out["gateways"] = std::move(all);
    if (!interfaces.empty()) out["interface"] = alone_or_all(std::move(interfaces));
    if (!reason.empty()) out["reason"] = reason;
    if (!any) out["type"] = "unresolved";
}

json route_json(controller& c, uint8_t vrf, const ip_prefix& to, uint32_t nexthop,
                route_origin origin) {
    json out = nexthop_json(c, nexthop);
    out["to"] = to.text();
    add_origin(c, vrf, out, to, origin);
    add_gateways(c, vrf, out, to, origin);
    return out;
}

/// Default: the main VRF.
uint8_t vrf_of(controller& c, const request_fields& f) {
    if (!f.has("vrf")) return 0;
    const std::string name = f.text("vrf");
    if (name == "main") return 0;
    const auto there = c.routing().vrfs().indexes().find(name);
    if (name.empty() || there == c.routing().vrfs().indexes().end())
        throw error{ENOENT, "vrf", "names '" + name.substr(0, 80) + "', which is not a VRF"};
    return there->second;
}

/// A prefix, an address for its host prefix, or `default`.
ip_prefix prefix_of(const request_fields& f, std::string_view field) {
    return parsed(sources::parse_destination(f.text(field)), field).network();
}

/// Routes of an origin, or of a routing protocol of learned routes; empty: all.
class origin_filter {
  public:
    origin_filter(controller& c, uint8_t vrf, const request_fields& f) : c_(c), vrf_(vrf) {
        if (!f.has("origin")) return;
        const std::string name = f.text("origin");
        const auto& all = route_origin_names;
        const auto* const at = std::find(std::begin(all), std::end(all), name);
        if (at == std::end(all))
            protocol_ = name;
        else
            origin_ = static_cast<route_origin>(at - std::begin(all));
    }
    [[nodiscard]] bool matches(const ip_prefix& to, route_origin origin) const {
        if (protocol_.empty()) return origin == origin_.value_or(origin);
        const auto* const r =
            origin == route_origin::learned ? learned_route(c_, vrf_, to) : nullptr;
        return r != nullptr && sources::protocol_name(r->protocol) == protocol_;
    }

  private:
    controller& c_;
    uint8_t vrf_;
    std::optional<route_origin> origin_{};
    std::string protocol_{};
};

}  // namespace

std::optional<ip_prefix> add_route(controller& c, uint8_t vrf, const ip_address& a, json& out) {
    const routes& table = c.routing().tables().of(vrf);
    out["to"] = out["origin"] = nullptr;
    for (unsigned length = a.bits() + 1; length-- > 0;) {
        const ip_prefix to = ip_prefix{a, static_cast<uint8_t>(length)}.network();
        bool found = false;
        table.for_each(to, [&](const ip_prefix& first, uint32_t, route_origin origin) {
            found = first == to;
            if (!found) return false;
            add_origin(c, vrf, out, to, origin);
            add_gateways(c, vrf, out, to, origin);
            return false;
        });
        if (!found) continue;
        out["to"] = to.text();
        return to;
    }
    return std::nullopt;
}

/// Result of a worker's lookup, and the matching route.
json show_route(controller& c, const request_fields& f) {
    const uint8_t vrf = vrf_of(c, f);
    const routes& table = c.routing().tables().of(vrf);
    const ip_address a = parsed(parse_address(f.text("address")), "address");
    json out = nexthop_json(c, table.lookup(a));
    out["address"] = a.text();
    add_route(c, vrf, a, out);
    return out;
}

json show_routes(controller& c, const request_fields& f) {
    const bool longer = f.truth_or("longer", false), filtered = f.has("to");
    const ip_prefix to = filtered ? prefix_of(f, "to") : ip_prefix{};
    if (longer && !filtered) throw error{EINVAL, "longer", "requires \"to\""};
    const ip_prefix from = f.has("from") ? std::max(prefix_of(f, "from"), to) : to;
    const uint64_t most = page_of(f);
    json list = json::array(), next = nullptr;
    const uint8_t vrf = vrf_of(c, f);
    const origin_filter wanted(c, vrf, f);
    c.routing().tables().of(vrf).for_each(
        from, [&](const ip_prefix& p, uint32_t nexthop, route_origin origin) {
            if (filtered && (p.address.v6 != to.address.v6 || !to.contains(p.address)))
                return false;
            if (filtered && (p.length < to.length || (!longer && p != to))) return longer;
            if (!wanted.matches(p, origin)) return true;
            if (list.size() == most) {
                next = p.text();
                return false;
            }
            list.push_back(route_json(c, vrf, p, nexthop, origin));
            return true;
        });
    return {{"routes", std::move(list)}, {"next", std::move(next)}};
}

/// Numbers of active routes by family, origin and protocol.
json show_route_summary(controller& c, const request_fields& f) {
    const uint8_t vrf = vrf_of(c, f);
    std::map<std::tuple<bool, route_origin, std::optional<uint8_t>>, uint64_t> counts;
    c.routing().tables().of(vrf).for_each({}, [&](const ip_prefix& p, uint32_t,
                                                  route_origin origin) {
        const auto* const r = origin == route_origin::learned ? learned_route(c, vrf, p) : nullptr;
        ++counts[{p.address.v6, origin,
                  r == nullptr ? std::nullopt : std::optional<uint8_t>(r->protocol)}];
        return true;
    });
    json list = json::array();
    for (const auto& [of, routes] : counts) {
        const auto& [v6, origin, protocol] = of;
        list.push_back({{"family", v6 ? "ipv6" : "ipv4"},
                        {"origin", route_origin_names[static_cast<size_t>(origin)]},
                        {"protocol", protocol ? json(sources::protocol_name(*protocol)) : json()},
                        {"routes", routes}});
    }
    const std::string& name = c.routing().vrfs().name_of(vrf);
    return {{"vrf", name.empty() ? "main" : name}, {"summary", std::move(list)}};
}

json show_vrfs(controller& c, const request_fields&) {
    json all = json::array();
    for (const auto& [name, index] : c.routing().vrfs().indexes()) {
        json interfaces = json::array();
        for (const auto& [interface, says] : c.running().interfaces)
            if (says.vrf == name && says.kind == state::interface_kind::routed)
                interfaces.push_back(interface);
        const routes& table = c.routing().tables().of(index);
        all.push_back(
            {{"name", name.empty() ? "main" : name},
             {"table", name.empty() ? state::main_table : c.running().vrfs.at(name).table},
             {"interfaces", std::move(interfaces)},
             {"ipv4", table.v4().stats().routes},
             {"ipv6", table.v6().stats().routes}});
    }
    return {{"vrfs", std::move(all)}};
}

namespace {

neighbours::filter neighbours_named(const controller& c, const request_fields& f) {
    neighbours::filter which;
    if (f.has("port")) {
        const std::string name = f.text("port");
        const auto at = c.interfaces().indexes().find(name);
        if (at == c.interfaces().indexes().end())
            throw error{EINVAL, "port", "'" + name + "' is not an interface"};
        which.interface = at->second;
    }
    if (f.has("address")) which.address = parsed(parse_address(f.text("address")), "address");
    return which;
}

}  // namespace

json show_neighbours(controller& c, const request_fields& f) {
    uint16_t interface = 0;
    ip_address address{};
    if (f.has("from")) {
        const std::string from = f.text("from");
        const size_t blank = std::min(from.find(' '), from.size());
        const auto ifindex = c.interfaces().indexes().find(from.substr(0, blank));
        if (ifindex == c.interfaces().indexes().end())
            throw error{EINVAL, "from", "should be the value of \"next\": INTERFACE ADDRESS"};
        interface = ifindex->second;
        address = parsed(
            parse_address(std::string_view(from).substr(std::min(blank + 1, from.size()))), "from");
    }
    const neighbours::filter which = neighbours_named(c, f);
    if (which.interface && !f.has("from")) interface = *which.interface;
    const uint64_t most = page_of(f);
    json list = json::array(), next = nullptr;
    const auto add = [&](const known_neighbour& n) {
        if (which.interface && n.interface != *which.interface) return false;  // the next one's
        const std::string& on = c.interfaces().name_of(n.interface);
        if (list.size() == most) {
            next = on + " " + n.address.text();
            return false;
        }
        list.push_back({{"interface", on},
                        {"address", n.address.text()},
                        {"state", neighbour_state_names[static_cast<size_t>(n.state)]},
                        {"mac", n.mac ? json(n.mac->text()) : json(nullptr)},
                        {"next_hop", n.nexthop},
                        {"gateway", n.gateway},
                        {"static", n.fixed},
                        {"learned", c.followed().neighbours.contains({on, n.address})},
                        {"held", n.pending}});
        return true;
    };
    const neighbours& known = c.routing().neighbours();
    if (!which.address) known.for_each(interface, address, add);
    // Each interface has the address once, at most: go from one interface with neighbours to the next.
    const uint32_t end = which.interface ? *which.interface + 1U : datapath::max_interfaces;
    for (uint32_t at = interface; which.address && at < end && next.is_null();) {
        uint32_t following = end;
        known.for_each(static_cast<uint16_t>(at), *which.address, [&](const known_neighbour& n) {
            following = n.interface;
            if (n.interface != at) return false;
            if (n.address == *which.address) (void)add(n);
            ++following;
            return false;
        });
        at = following;
    }
    return {{"neighbours", std::move(list)}, {"next", std::move(next)}};
}

uint32_t flush_neighbours(controller& c, control_calls& calls, const request_fields& f) {
    auto flush = calls.run([&] { return c.begin_flush(neighbours_named(c, f)); });
    while (!flush.is_done()) calls.run([&] { c.continue_flush(flush); });
    return flush.deleted();
}

json show_next_hops(controller& c, const request_fields& f) {
    const uint64_t most = page_of(f);
    json list = json::array(), next = nullptr;
    for (auto i = static_cast<uint32_t>(f.number_or("from", 0, 0, UINT32_MAX));
         i < c.nexthops().capacity(); ++i) {
        // A free index drops packets; some fixed next hops do so on purpose.
        if (i >= datapath::fixed_nexthop::first_free &&
            c.nexthops()[i].kind.load(std::memory_order_relaxed) == datapath::nexthop_kind::drop)
            continue;
        if (list.size() == most) {
            next = i;
            break;
        }
        list.push_back(nexthop_json(c, i));
    }
    return {{"next_hops", std::move(list)},
            {"in_use", c.nexthops().in_use()},
            {"capacity", c.nexthops().capacity()},
            {"next", std::move(next)}};
}

}  // namespace turnpike::control
