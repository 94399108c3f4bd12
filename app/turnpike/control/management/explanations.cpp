// SPDX-License-Identifier: BSD-3-Clause
// Request `explain`: the trace of a synthetic frame, with the decision behind each step: the ACL rule, the route and
// its origin, the ECMP member, the FDB entry, the neighbour's state.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "control/management/history.hpp"
#include "control/management/near_misses.hpp"
#include "control/management/show.hpp"
#include "control/management/synthetic_frame.hpp"
#include "control/management/trace_json.hpp"
#include "sources/netlink_rib.hpp"
#include "sources/yaml_acl_writer.hpp"

namespace turnpike::control {
namespace {

using datapath::acl_decision, datapath::explanation;
using nlohmann::json;

constexpr size_t max_near_misses = 3;

/// Port and VLAN by which a frame arrives.
struct arrival {
    uint16_t port = 0, vlan = 0;
};

/// A port, or an interface on one.
arrival arrival_of(controller& c, const request_fields& f) {
    const std::string name = f.text("port");
    const auto vlan = static_cast<uint16_t>(f.number_or("vlan", 0, 1, 4094));
    for (const auto& p : c.ports().open())
        if (p->name == name) return {p->port_index, vlan};
    const std::string quoted_name = "names '" + name.substr(0, 80) + "', which is ";
    const auto at = c.interfaces().indexes().find(name);
    if (at == c.interfaces().indexes().end())
        throw error{ENOENT, "port", quoted_name + "neither a port nor an interface"};
    const datapath::interface& i = c.snapshot().interfaces[at->second];
    if (i.port >= datapath::max_ports)
        throw error{EINVAL, "port",
                    quoted_name +
                        "a tunnel: name the port at which its packets arrive, and give "
                        "the whole packet as \"frame\""};
    if (i.kind == datapath::interface_kind::routed && i.bridge != 0)
        throw error{EINVAL, "port",
                    quoted_name + "a bridge's routing interface: name a port of the bridge"};
    if (vlan != 0 && vlan != i.vlan)
        throw error{EINVAL, "vlan", "differs from the VLAN of the interface '" + name + "'"};
    return {i.port, i.vlan};
}

// ACLs.

/// Position among the operator's rules, from 1, as the commands of rules take it.
size_t position_of(const state::acl_list& list, size_t index) {
    size_t position = 1;
    for (size_t i = 0; i < index; ++i) position += list.rules[i].where.text.empty() ? 0U : 1U;
    return position;
}

std::string name_of_rule(const state::acl_list& list, size_t index) {
    const state::acl_rule& r = list.rules[index];
    return r.name.empty() ? fmt::format("{}", position_of(list, index)) : r.name;
}

json rule_json(const state::acl_list& list, size_t index) {
    if (index >= list.rules.size())
        return {{"rule", "default"},
                {"position", nullptr},
                {"action", list.default_permits ? "permit" : "deny"},
                {"where", list.where.text},
                {"text", nullptr}};
    const state::acl_rule& r = list.rules[index];
    const bool implicit = r.where.text.empty();
    return {{"rule", name_of_rule(list, index)},
            {"position", implicit ? json(nullptr) : json(position_of(list, index))},
            {"action", state::acl_action_names[static_cast<size_t>(r.action)]},
            {"where", implicit ? json(nullptr) : json(r.where.text)},
            {"text", implicit ? json(nullptr) : json(sources::rule_text(r, list.l2))}};
}

/// The value of a rule's condition, as in the configuration.
std::string wanted_value(const state::acl_list& list, const near_miss& m) {
    for (const auto& [key, value] : sources::conditions(list.rules[m.rule], list.l2))
        if (key == m.field) return value;
    return {};
}

/// Index of a rule by its id; behind the last rule: the default.
size_t index_of_id(const datapath::acl_list& list, uint32_t id) {
    size_t index = 0;
    while (index < list.says().rules.size() && list.id_at(index) != id) ++index;
    return index;
}

json acl_json(controller& c, const acl_decision& d) {
    const datapath::acl_list& compiled = *d.by->bound.list;
    const state::acl_list& list = compiled.says();
    json out = json::object(), counted = json::array(), near = json::array();
    for (const uint32_t id : d.matched) {
        const size_t index = index_of_id(compiled, id);
        if (compiled.action_of(id) == state::acl_action::count) {
            counted.push_back(name_of_rule(list, index));
            continue;
        }
        out = rule_json(list, index);
        for (const near_miss& m : near_misses(list, index, d.packet, max_near_misses)) {
            json one = rule_json(list, m.rule);
            one["field"] = m.field;
            one["expected"] = wanted_value(list, m);
            one["packet"] = m.packet;
            near.push_back(std::move(one));
        }
    }
    out["list"] = list.name;
    out["interface"] = c.interfaces().name_of(d.by->ifindex);
    out["direction"] = d.by->direction;
    out["counted"] = std::move(counted);
    out["near"] = std::move(near);
    return out;
}

// Routes.

/// The program that installs a learned route, by its protocol.
std::string_view daemon_of(std::string_view protocol) {
    static constexpr std::pair<std::string_view, std::string_view> all[] = {
        {"kernel", "the kernel"}, {"boot", "ip route"},       {"static", "staticd or ip route"},
        {"ra", "the kernel"},     {"redirect", "the kernel"}, {"zebra", "FRR"},
        {"bird", "BIRD"},         {"dhcp", "a DHCP client"},  {"babel", "babeld"},
        {"openr", "Open/R"},      {"bgp", "FRR's bgpd"},      {"isis", "FRR's isisd"},
        {"ospf", "FRR's ospfd"},  {"rip", "FRR's ripd"},      {"eigrp", "FRR's eigrpd"}};
    for (const auto& [name, daemon] : all)
        if (name == protocol) return daemon;
    return {};
}

json typed_json(const past_state& s) {
    json out = {{"by", s.cause.by}, {"what", s.cause.what}, {"when", s.when}};
    if (!s.cause.comment.empty()) out["comment"] = s.cause.comment;
    return out;
}

/// The last change of a configured route; null: before the changes that the history keeps.
json typed_by(const history& past, const std::string& vrf, const ip_prefix& to) {
    for (const past_state& s : past.states())
        if (s.set_route(vrf, to)) return typed_json(s);
    return past.is_complete() ? typed_json(past.states().back()) : json(nullptr);
}

json route_lookup_json(controller& c, const history& past, const datapath::route_lookup& l) {
    json out = {{"address", l.address.text()}};
    const std::string& vrf = c.routing().vrfs().name_of(l.vrf);
    const auto to = add_route(c, l.vrf, l.address, out);
    out.erase("members");
    out["vrf"] = vrf.empty() ? "main" : vrf;
    if (out.contains("protocol"))
        if (const auto daemon = daemon_of(out["protocol"].get_ref<const std::string&>());
            !daemon.empty())
            out["daemon"] = daemon;
    if (to && out["origin"] == "configured") out["configured_by"] = typed_by(past, vrf, *to);
    return out;
}

/// The state of the destination's neighbour, for a packet that waits for it.
json neighbour_json(controller& c, const json& nexthop, const ip_address& destination) {
    if (!nexthop.contains("interface")) return nullptr;
    ip_address address = destination;
    if (nexthop.contains("via"))
        address = *parse_address(nexthop["via"].get_ref<const std::string&>());
    const auto ifindex =
        c.interfaces().indexes().find(nexthop["interface"].get_ref<const std::string&>());
    if (ifindex == c.interfaces().indexes().end()) return nullptr;
    json out = {{"address", address.text()}, {"state", "unknown"}};
    c.routing().neighbours().for_each(ifindex->second, address, [&](const known_neighbour& n) {
        if (n.interface == ifindex->second && n.address == address)
            out["state"] = neighbour_state_names[static_cast<size_t>(n.state)];
        return false;
    });
    return out;
}

constexpr std::string_view hashed_fields[] = {"addresses", "flow", "inner"};

/// The chosen member, and the reason.
json chosen_member_json(controller& c, const datapath::member_choice& m) {
    const auto group = c.routing().groups().of_nexthop(m.group);
    json out = nexthop_json(c, m.nexthop), unable = json::array();
    uint32_t buckets = 0;
    uint32_t weight = 0, weights = 0;
    for (const auto& one : group.members) {
        weights += one.weight;
        if (one.nexthop == m.nexthop) buckets = one.buckets, weight = one.weight;
        if (!one.able) unable.push_back(nexthop_json(c, one.nexthop));
    }
    out["group"] = m.group;
    out["hash"] = fmt::format("0x{:08x}", m.hash);
    out["hashed"] = hashed_fields[static_cast<size_t>(c.snapshot().sharing.fields)];
    out["bucket"] = m.bucket;
    out["buckets_of_group"] = group.buckets;
    out["reason"] = fmt::format(
        "hash of {} {:#010x}, bucket {} of {}: the member has {} of them, for weight {} of {}",
        hashed_fields[static_cast<size_t>(c.snapshot().sharing.fields)], m.hash, m.bucket,
        group.buckets, buckets, weight, weights);
    if (!unable.empty()) out["unable"] = std::move(unable);
    return out;
}

// Bridges.

/// The FDB entry of the destination; without one, its entries in other VLANs of the bridge.
json station_json(controller& c, const datapath::fdb_lookup& l) {
    if ((l.destination.bytes[0] & 1) != 0 || l.domain == 0) return nullptr;
    const auto [bridge, vlan] = c.bridges().name_of(l.domain);
    if (bridge.empty()) return nullptr;
    const uint64_t mac = datapath::fdb_key_of(l.destination, 0);
    json out = {{"mac", l.destination.text()}, {"port", nullptr}};
    if (const uint16_t at = c.bridges().ifindex_of(mac, l.domain); at != 0) {
        out["port"] = c.interfaces().name_of(at);
        return out;
    }
    const state::bridge* const says = c.running().bridges.find(bridge);
    if (says == nullptr || !says->vlan_aware()) return out;
    json elsewhere = json::array();
    const uint16_t first = c.bridges().first_domain_of(bridge);
    for (uint16_t other = 1; other <= state::last_vlan; ++other)
        if (const uint16_t at = c.bridges().ifindex_of(mac, static_cast<uint16_t>(first + other));
            other != vlan && at != 0)
            elsewhere.push_back({{"vlan", other}, {"port", c.interfaces().name_of(at)}});
    if (!elsewhere.empty()) out["elsewhere"] = std::move(elsewhere);
    return out;
}

json explanation_json(controller& c, const history& past, const explanation& e) {
    json out = trace_json(c, e);
    json& path = out["path"];
    const auto step = [&](uint8_t number) -> json& {
        // A trace with too many steps ends early; its later decisions belong to the last step.
        return path[std::min<size_t>(number, path.size() - 1)];
    };
    for (const acl_decision& d : e.acls) step(d.step)["acl"].push_back(acl_json(c, d));
    for (const datapath::route_lookup& l : e.routes)
        step(l.step)["route"] = route_lookup_json(c, past, l);
    for (const datapath::member_choice& m : e.members)
        step(m.step)["member"] = chosen_member_json(c, m);
    for (const datapath::fdb_lookup& l : e.stations)
        if (json s = station_json(c, l); !s.is_null()) step(l.step)["fdb_entry"] = std::move(s);
    const json* nexthop = nullptr;
    const datapath::route_lookup* lookup = nullptr;
    for (size_t i = 0; i < path.size(); ++i) {
        json& now = path[i];
        if (now.contains("next_hop")) nexthop = &now["next_hop"];
        if (now.contains("member")) nexthop = &now["member"];
        for (const datapath::route_lookup& l : e.routes)
            if (l.step == i) lookup = &l;
        if (nexthop != nullptr && lookup != nullptr && now.value("why", std::string()) == "resolve")
            if (json n = neighbour_json(c, *nexthop, lookup->address); !n.is_null())
                now["neighbour"] = std::move(n);
    }
    return out;
}

}  // namespace

json explain_request(controller& c, control_calls& calls, const history& past,
                     const request_fields& f) {
    const bool whole = f.has("frame");
    f.expect(whole ? "port frame"
                   : "port from to protocol source_port destination_port ttl vlan bytes source_mac "
                     "destination_mac");
    // The synthetic packet needs a buffer, and control's thread. Its rules, which can be a million, do not.
    const auto explained = calls.run([&] {
        const arrival at = arrival_of(c, f);
        const frame_bytes frame =
            whole ? from_hex(f.text("frame")) : frame_of(c.snapshot(), at.port, at.vlan, f);
        return parsed(explain(c, at.port, frame), "frame");
    });
    return c.with_loan(calls, [&] { return explanation_json(c, past, *explained); });
}

}  // namespace turnpike::control
