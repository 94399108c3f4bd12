// SPDX-License-Identifier: BSD-3-Clause
#include "sources/yaml_bridges.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sources/fields.hpp"

namespace turnpike::sources {
namespace {

using state::bridge;
using state::bridge_member;
using state::configuration;
using state::last_vlan;
using state::vlan_mode;
using yaml::reader;

/// The keys of a routed interface.
void read_routed(const reader& from, unsigned kind, const configuration& in,
                 state::interface& into) {
    into.kind = state::interface_kind::routed;
    read_fields(from, interface_fields(), kind, in, into);
    if (!from.has("addresses") && !into.host_interface)
        from.attempt([&] { from.refuse("has no addresses"); });
    into.where.text = from.where();
}

void add_interface(const reader& from, configuration& into, const std::string& name,
                   state::interface i) {
    const bool is_bridges_own = i.port.empty() && i.vlan == 0;  // has the bridge's name
    if (!is_bridges_own && into.bridges.find(name) != nullptr)
        from.refuse("makes the interface '{}', which is the name of a bridge", name);
    if (!into.interfaces.add(name, std::move(i)))
        from.refuse("makes the interface '{}', which is there already", name);
}

/// A member without routing keys, in a bridge's list; a name alone is a member with the defaults.
bridge_member read_member(const reader& from, const configuration& in) {
    bridge_member m;
    if (!from.is_map()) {
        m.port = from.text();
        return m;
    }
    key_list().add(member_fields(), of_member).expect(from, {"bridge", "port"});
    m.port = from.at("port").text();
    read_fields(from, member_fields(), of_member, in, m);
    fit_member(from, m);
    return m;
}

/// Two VLANs must not share a tag on the wire, and each VLAN is one of the trunks.
void check_translation(const reader& from, const bridge_member& m) {
    const reader at = place_of(from, "translate");
    const state::vlan_set all = m.tagged_vlans();
    state::vlan_set inside;
    for (const auto& [wire, vlan] : m.translate) {
        if (!all.test(vlan)) at.refuse("gives VLAN {}, which is not one of its trunks", vlan);
        inside.set(vlan);
    }
    for (const auto& [wire, vlan] : m.translate)
        if (all.test(wire) && !inside.test(wire))
            at.refuse(
                "gives VLAN {} the tag {}, which VLAN {} has: translate that too, or leave it out "
                "of trunks",
                vlan, wire, wire);
}

void join(const reader& at, const std::string& port, const std::string& bridge,
          configuration& into) {
    state::interface* const i = into.interfaces.find(port);
    if (i == nullptr || i->port != port)
        at.refuse("names '{}', which is not a port or a tunnel", port.substr(0, 80));
    if (i->kind != state::interface_kind::routed)
        at.refuse(
            "names '{}', which is in {} already", port,
            i->kind == state::interface_kind::patched ? "a patch" : "bridge '" + i->bridge + "'");
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
    for (const reader& one : from.list("members"))
        one.attempt([&] {
            if (one.is_map() && one.has("bridge"))
                one.at("bridge").refuse(
                    "is for the edit of one member; a member of this list is in the list's bridge");
            bridge_member m = read_member(one, into);
            join(place_of(one, "port"), m.port, name, into);
            b.members.push_back(std::move(m));
        });
}

}  // namespace

void fit_member(const reader& from, bridge_member& m) {
    const bool has_vlan = m.mode != vlan_mode::unaware && m.mode != vlan_mode::trunk;
    const bool has_trunks = m.mode == vlan_mode::trunk || m.mode == vlan_mode::native_tagged ||
                            m.mode == vlan_mode::native_untagged;
    const auto forbid = [&](std::initializer_list<std::string_view> keys) {
        for (const std::string_view key : keys)
            if (from.has(key))
                from.at(key).refuse("has no meaning in mode {}",
                                    state::vlan_mode_names[static_cast<size_t>(m.mode)]);
    };
    if (!has_vlan) {
        forbid({"vlan"});
        m.vlan = 0;
    } else if (m.vlan == 0) {
        (void)from.at("vlan");  // reports the missing key
    }
    if (!has_trunks) {
        forbid({"trunks", "ethertype", "translate"});
        m.vlans.reset();
        m.translate.clear();
        m.service_tags = false;
        return;
    }
    if (m.vlans.none())
        for (uint16_t v = 1; v <= last_vlan; ++v) m.vlans.set(v);
    check_translation(from, m);
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
    (void)named_object(from.at("port"), into.ports, "a port");
    i.vlan = read_vlan(from.at("vlan"));
    read_routed(from, of_vlan, into, i);
    const std::string name = state::interface_name(i.port, i.vlan);
    add_interface(from, into, name, std::move(i));
}

void add_routed_interface(const reader& from, const std::string& bridge, uint16_t vlan,
                          configuration& into) {
    state::interface i;
    i.bridge = bridge;
    i.vlan = vlan;
    read_routed(from, of_bridge, into, i);
    add_interface(from, into, state::interface_name(bridge, vlan), std::move(i));
}

namespace {

/// The routed interfaces in a bridge's map.
void read_routed_interfaces(const reader& from, const std::string& name, configuration& into) {
    if (from.has("addresses") || (from.has("host_interface") && from.at("host_interface").truth()))
        add_routed_interface(from, name, 0, into);
    else if (from.has("acl"))
        from.at("acl").refuse("needs addresses: bridge ports have separate lists");
    else
        for (const field<state::interface>& f : interface_fields())
            if (from.has(f.key) && f.key != "host_interface")
                from.at(f.key).refuse("needs addresses: it applies to routed interfaces only");
    if (!from.has("interfaces")) return;
    for (const reader& one : from.at("interfaces").list("routing interfaces"))
        one.attempt([&] {
            key_list().add(interface_fields(), of_bridge).expect(one, {"vlan"});
            add_routed_interface(one, name, read_vlan(one.at("vlan")), into);
        });
}

}  // namespace

void read_bridge(const reader& from, configuration& into) {
    key_list()
        .add(bridge_fields(), of_bridge)
        .add(interface_fields(), of_bridge)
        .expect(from, {"name", "members", "fdb", "interfaces"});
    bridge b;
    const std::string name = from.at("name").name();
    b.where.text = from.where();
    if (into.bridges.find(name) != nullptr || into.interfaces.find(name) != nullptr)
        from.at("name").refuse(
            "is '{}', which a bridge, a port, a tunnel or a VLAN's interface has already", name);
    from.attempt([&] { read_members(from.at("members"), name, b, into); });
    read_fields(from, bridge_fields(), of_bridge, into, b);
    if (from.has("fdb"))
        from.attempt([&] {
            for (const reader& one : from.at("fdb").list("stations"))
                one.attempt([&] {
                    one.expect_map({"mac", "vlan", "port"});
                    (void)one.at("port");
                    if (!b.fixed.insert(read_static_fdb_entry(one)).second)
                        one.refuse("is a second place for one station");
                });
        });
    into.bridges.add(name, std::move(b));
    read_routed_interfaces(from, name, into);
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
    bridge_member m = read_member(from, into);
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
