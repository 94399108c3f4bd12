// SPDX-License-Identifier: BSD-3-Clause
#include "sources/yaml_bridges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sources/fields.hpp"

namespace turnpike::sources {
namespace {

using state::bridge;
using state::bridge_member;
using state::configuration;
using state::last_vlan;
using state::vlan_mode;
using yaml::reader;

uint16_t read_vlan(const reader& from) { return static_cast<uint16_t>(from.number(1, last_vlan)); }

/// "10" or "20-29".
std::pair<uint16_t, uint16_t> read_range(const reader& from) {
    const std::string text = from.text();
    const char *at = text.data(), *const end = at + text.size();
    uint16_t first = 0, last = 0;
    auto read = std::from_chars(at, end, first);
    last = first;
    if (read.ec == std::errc{} && read.ptr != end && *read.ptr == '-')
        read = std::from_chars(read.ptr + 1, end, last);
    if (read.ec != std::errc{} || read.ptr != end || first < 1 || first > last || last > last_vlan)
        from.refuse(fmt::format("is '{}'; should be a VLAN from 1 to {}, or a range like 20-29",
                                text.substr(0, 40), last_vlan));
    return {first, last};
}

/// The keys of a routed interface.
void read_routed(const reader& from, unsigned kind, const configuration& in,
                 state::interface& into) {
    into.kind = state::interface_kind::routed;
    read_fields(from, interface_fields(), kind, in, into);
    if (into.addresses.empty() && !into.host_interface) from.refuse("has no addresses");
    into.where.text = from.where();
}

void add_interface(const reader& from, configuration& into, const std::string& name,
                   state::interface i) {
    if (!into.interfaces.add(name, std::move(i)))
        from.refuse(fmt::format("makes the interface '{}', which is there already", name));
}

state::storm_rates read_storm(const reader& from) {
    constexpr uint64_t most = 1'000'000'000;
    from.expect_map({"broadcast", "multicast", "unknown"});
    state::storm_rates out;
    out.broadcast = from.number_or("broadcast", out.broadcast, 1, most);
    out.multicast = from.number_or("multicast", out.multicast, 1, most);
    out.unknown = from.number_or("unknown", out.unknown, 1, most);
    return out;
}

/// The keys of a bridge port that depend on its mode.
void read_mode(const reader& from, bridge_member& m) {
    const auto forbid = [&](std::initializer_list<std::string_view> keys) {
        for (const std::string_view key : keys)
            if (from.has(key))
                from.at(key).refuse(
                    fmt::format("has no meaning in mode {}",
                                state::vlan_mode_names[static_cast<size_t>(m.mode)]));
    };
    if (from.has("mode"))
        m.mode =
            static_cast<vlan_mode>(1 + from.at("mode").word({"access", "trunk", "native-tagged",
                                                             "native-untagged", "dot1q-tunnel"}));
    switch (m.mode) {
        case vlan_mode::access:
        case vlan_mode::dot1q_tunnel:
            forbid({"trunks", "ethertype", "translate"});
            break;
        case vlan_mode::trunk:
            forbid({"vlan"});
            break;
        case vlan_mode::unaware:
            forbid({"vlan", "trunks", "ethertype", "translate"});
            return;
        default:
            break;
    }
    if (m.mode != vlan_mode::trunk) m.vlan = read_vlan(from.at("vlan"));
    if (m.mode == vlan_mode::access || m.mode == vlan_mode::dot1q_tunnel) return;
    if (from.has("trunks")) {
        m.vlans = read_vlans(from.at("trunks"));
    } else {
        for (uint16_t v = 1; v <= last_vlan; ++v) m.vlans.set(v);
    }
    if (m.vlan != 0) m.vlans.set(m.vlan);
    if (from.has("ethertype"))
        m.service_tags = from.at("ethertype").word({"802.1q", "802.1ad"}) == 1;
}

/// [{wire: 100, vlan: 10}]: both sides must be unique, so that the mapping is reversible.
void read_translation(const reader& from, bridge_member& m) {
    state::vlan_set inside;
    for (const reader& one : from.list("pairs of wire and vlan")) {
        one.expect_map({"wire", "vlan"});
        const uint16_t wire = read_vlan(one.at("wire")), vlan = read_vlan(one.at("vlan"));
        if (!m.vlans.test(vlan))
            one.at("vlan").refuse(fmt::format("is {}, which is not one of its trunks", vlan));
        if (!m.translate.emplace(wire, vlan).second || inside.test(vlan))
            one.refuse("is a second translation of one VLAN");
        inside.set(vlan);
    }
    // Two VLANs must not share a tag on the wire.
    for (const auto& [wire, vlan] : m.translate)
        if (m.vlans.test(wire) && !inside.test(wire))
            from.refuse(
                fmt::format("gives VLAN {} the tag {}, which VLAN {} has: translate that too, "
                            "or leave it out of trunks",
                            vlan, wire, wire));
}

/// An element of a bridge's list, or a single edit with `bridge`.
bridge_member read_member(const reader& from) {
    from.expect_map({"bridge", "port", "mode", "vlan", "trunks", "ethertype", "translate",
                     "learning", "flood_unknown", "neigh_suppress", "locked", "isolation",
                     "max_addresses", "storm"});
    bridge_member m;
    m.port = from.at("port").text();
    read_mode(from, m);
    if (from.has("translate")) read_translation(from.at("translate"), m);
    const auto truth = [&](std::string_view key, bool& of) {
        if (from.has(key)) of = from.at(key).truth();
    };
    truth("learning", m.learning);
    truth("flood_unknown", m.flood_unknown);
    truth("neigh_suppress", m.neigh_suppress);
    truth("locked", m.locked);
    m.isolation = from.number_or("isolation", m.isolation, 1, 255);
    m.max_addresses = from.number_or("max_addresses", m.max_addresses, 1, 1u << 20);
    if (from.has("storm")) m.storm = read_storm(from.at("storm"));
    return m;
}

void join(const reader& at, const std::string& port, const std::string& bridge,
          configuration& into) {
    state::interface* const i = into.interfaces.find(port);
    if (i == nullptr || i->port != port)
        at.refuse(fmt::format("names '{}', which is not a port or a tunnel", port.substr(0, 80)));
    if (i->kind != state::interface_kind::routed)
        at.refuse(fmt::format(
            "names '{}', which is in {} already", port,
            i->kind == state::interface_kind::patched ? "a patch" : "bridge '" + i->bridge + "'"));
    i->kind = state::interface_kind::bridged;
    i->bridge = bridge;
}

void leave(const std::string& port, configuration& in) {
    if (state::interface* const i = in.interfaces.find(port); i != nullptr) {
        i->kind = state::interface_kind::routed;
        i->bridge.clear();
    }
}

void read_members(const reader& from, const std::string& name, bridge& b, configuration& into) {
    for (const reader& one : from.list("members")) {
        if (one.is_map() && one.has("bridge"))
            one.at("bridge").refuse(
                "is for the edit of one member; a member of this list is in the list's bridge");
        bridge_member m = read_member(one);
        join(one.at("port"), m.port, name, into);
        b.members.push_back(std::move(m));
    }
}

void read_reserved(const reader& from, state::reserved_groups& into) {
    from.expect_map({"stp", "lacp", "lldp", "other"});
    for (const auto& [key, of] : {std::pair{"stp", &into.stp},
                                  {"lacp", &into.lacp},
                                  {"lldp", &into.lldp},
                                  {"other", &into.other}})
        if (from.has(key))
            *of = static_cast<state::reserved_frames>(from.at(key).word({"drop", "flood", "punt"}));
}

void read_damping(const reader& from, state::move_damping& into) {
    from.expect_map({"moves", "within_s", "hold_s"});
    into.moves = from.number_or("moves", into.moves, 0, 1'000'000);
    into.within_s = from.number_or("within_s", into.within_s, 1, 3600);
    into.hold_s = from.number_or("hold_s", into.hold_s, 1, 86'400);
}

}  // namespace

state::vlan_set read_vlans(const reader& from) {
    state::vlan_set out;
    for (const reader& one : from.list("VLANs")) {
        const auto [first, last] = read_range(one);
        for (uint16_t v = first; v <= last; ++v) out.set(v);
    }
    if (out.none()) from.refuse("is empty; leave the key out for all VLANs");
    return out;
}

std::string vlans_text(const state::vlan_set& vlans) {
    std::string out;
    for (uint16_t first = 1; first <= last_vlan; ++first) {
        if (!vlans.test(first)) continue;
        uint16_t last = first;
        while (last < last_vlan && vlans.test(last + 1u)) ++last;
        out += fmt::format("{}{}", out.empty() ? "" : ", ", first);
        if (last != first) out += fmt::format("-{}", last);
        first = last;
    }
    return out;
}

std::pair<state::static_fdb_entry, std::string> read_static_fdb_entry(const reader& from) {
    state::static_fdb_entry fdb_entry;
    fdb_entry.mac = read_station_mac(from.at("mac"));
    if (from.has("vlan")) fdb_entry.vlan = read_vlan(from.at("vlan"));
    return {fdb_entry, from.has("port") ? from.at("port").text() : std::string()};
}

void read_vlan_interface(const reader& from, configuration& into) {
    key_list().add(interface_fields(), of_vlan).expect(from, {"port", "vlan"});
    state::interface i;
    i.port = from.at("port").text();
    if (into.ports.find(i.port) == nullptr)
        from.at("port").refuse(
            fmt::format("names '{}', which is not a port", i.port.substr(0, 80)));
    i.vlan = read_vlan(from.at("vlan"));
    read_routed(from, of_vlan, into, i);
    const std::string name = state::interface_name(i.port, i.vlan);
    add_interface(from, into, name, std::move(i));
}

void read_bridge(const reader& from, configuration& into) {
    const key_list routing_keys = key_list().add(interface_fields(), of_bridge);
    routing_keys.expect(from, {"name", "members", "ageing_s", "max_addresses", "mac", "reserved",
                               "damping", "fdb", "interfaces"});
    bridge b;
    const std::string name = from.at("name").name();
    b.where.text = from.where();
    if (into.bridges.find(name) != nullptr || into.ports.find(name) != nullptr ||
        into.tunnels.find(name) != nullptr)
        from.at("name").refuse(
            fmt::format("is '{}', which a bridge, a port or a tunnel has already", name));
    read_members(from.at("members"), name, b, into);
    b.ageing_s = from.number_or("ageing_s", b.ageing_s, 10, 1'000'000);
    b.max_addresses = from.number_or("max_addresses", b.max_addresses, 1, 1'000'000);
    if (from.has("mac")) b.mac = read_station_mac(from.at("mac"));
    if (from.has("reserved")) read_reserved(from.at("reserved"), b.reserved);
    if (from.has("damping")) read_damping(from.at("damping"), b.damping);
    if (from.has("fdb"))
        for (const reader& one : from.at("fdb").list("stations")) {
            one.expect_map({"mac", "vlan", "port"});
            (void)one.at("port");
            if (!b.fixed.insert(read_static_fdb_entry(one)).second)
                one.refuse("is a second place for one station");
        }
    into.bridges.add(name, std::move(b));
    const auto add_routing = [&](const reader& at, uint16_t vlan) {
        state::interface i;
        i.bridge = name;
        i.vlan = vlan;
        read_routed(at, of_bridge, into, i);
        add_interface(at, into, state::interface_name(name, vlan), std::move(i));
    };
    if (from.has("addresses") || (from.has("host_interface") && from.at("host_interface").truth()))
        add_routing(from, 0);
    else if (from.has("acl"))
        from.at("acl").refuse("needs addresses: bridge ports have separate lists");
    else
        for (const field<state::interface>& f : interface_fields())
            if (from.has(f.key) && f.key != "host_interface")
                from.at(f.key).refuse("needs addresses: it applies to routed interfaces only");
    if (from.has("interfaces"))
        for (const reader& one : from.at("interfaces").list("routing interfaces")) {
            routing_keys.expect(one, {"vlan"});
            add_routing(one, read_vlan(one.at("vlan")));
        }
}

void remove_bridge(const std::string& name, configuration& from) {
    std::vector<std::string> routing;
    for (const auto& [interface, i] : from.interfaces)
        if (i.bridge == name && i.port.empty()) routing.push_back(interface);
    for (const std::string& interface : routing) from.interfaces.remove(interface);
    for (const bridge_member& m : from.bridges.at(name).members) leave(m.port, from);
    from.bridges.remove(name);
}

void read_member(const reader& from, const std::string& bridge, configuration& into, bool replace) {
    bridge_member m = read_member(from);
    auto& members = into.bridges.find(bridge)->members;
    const auto there =
        std::find_if(members.begin(), members.end(),
                     [&](const bridge_member& other) { return other.port == m.port; });
    if (replace && there != members.end()) {
        *there = std::move(m);
        return;
    }
    join(from.at("port"), m.port, bridge, into);
    members.push_back(std::move(m));
}

void remove_member(const std::string& port, const std::string& bridge, configuration& from) {
    std::erase_if(from.bridges.find(bridge)->members,
                  [&](const bridge_member& m) { return m.port == port; });
    leave(port, from);
}

}  // namespace turnpike::sources
