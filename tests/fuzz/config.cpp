// SPDX-License-Identifier: BSD-3-Clause
// Bytes -> a configuration file's text -> a model, or a complaint that names the file and says why. A
// model is written as a file that is read as the same model.

#include "lib/require.hpp"
#include "sources/yaml.hpp"
#include "sources/yaml_writer.hpp"
#include "state/changes.hpp"

namespace turnpike::sources {
namespace {

void check_complaint(const error& e) {
    REQUIRE(e.code == EINVAL);
    REQUIRE(e.object == "fuzz.yaml" || e.object.starts_with("fuzz.yaml:"));
    REQUIRE(!e.text.empty());
}

/// Invariants that the datapath and control rely on without another check, here and below.
void check_list(const state::acl_list& l) {
    REQUIRE(l.categories == 1 || (l.categories % 4 == 0 && l.categories <= acl::max_categories));
    REQUIRE(!l.rules.empty() && l.rules[0].action == state::acl_action::deny);
    for (const state::acl_rule& r : l.rules) {
        REQUIRE(r.ipv4 || r.ipv6);
        REQUIRE(acl::pack<acl::ipv6_words>(r.match).has_value());
        REQUIRE(!r.ipv4 || acl::pack<acl::ipv4_words>(r.match).has_value());
        REQUIRE(r.match.categories < 1u << l.categories);
        REQUIRE((r.match.categories == 1) == (r.action != state::acl_action::count));
    }
}

void check_interface(const state::configuration& m, const state::interface& i) {
    using enum state::interface_kind;
    const bool of_bridge = i.port.empty();
    REQUIRE(of_bridge || m.ports.find(i.port) != nullptr);
    REQUIRE(i.bridge.empty() || m.bridges.find(i.bridge) != nullptr);
    for (const state::acl_binding& at : state::acl_bindings) {
        if ((i.*at.list).empty()) continue;
        REQUIRE(m.acls.at(i.*at.list)->l2 == at.l2);
        REQUIRE(!at.l2 || i.kind == bridged);
    }
    REQUIRE(i.kind == routed || i.addresses.empty());
    REQUIRE(!i.addresses.empty() || i.vlan == 0);
    REQUIRE(i.kind == patched ? m.interfaces.find(i.peer) != nullptr : i.peer.empty());
    REQUIRE(i.bridge.empty() == (i.kind != bridged && !of_bridge));
    REQUIRE(i.kind != bridged || m.bridges.at(i.bridge).member(i.port) != nullptr);
    for (const ip_prefix& a : i.addresses) {
        REQUIRE(a.length > 0 && a.length <= a.address.bits());
        REQUIRE(!a.address.is_multicast() && !a.address.is_link_local());
        REQUIRE(!a.address.v6 || m.mtu_of(i) >= 1280);
    }
}

void check_routes(const state::configuration& m, const state::route_set& routes) {
    for (const state::route& r : routes) {
        REQUIRE(r.to == r.to.network());
        const state::route_target& t = routes.targets()[r.target];
        REQUIRE(t.members.empty() == (t.type != state::route_type::unicast));
        for (const state::route_member& nexthop : t.members) {
            REQUIRE(!nexthop.via || nexthop.via->v6 || !r.to.address.v6);
            REQUIRE(nexthop.weight >= 1 && nexthop.weight <= state::max_member_weight);
            REQUIRE(!t.recursive || (nexthop.via && nexthop.interface.empty() && !nexthop.onlink));
            if (t.recursive) continue;
            REQUIRE(m.interfaces.at(nexthop.interface).kind == state::interface_kind::routed);
        }
    }
}

void check_state(const state::configuration& m) {
    REQUIRE(!m.ports.empty());
    for (const auto& [name, l] : m.acls) check_list(*l);
    for (const auto& [name, p] : m.ports) {
        REQUIRE(!name.empty() && !p.device.empty());
        REQUIRE(p.where.text.starts_with("fuzz.yaml:"));
    }
    for (const auto& [name, i] : m.interfaces) check_interface(m, i);
    for (const auto& [name, b] : m.bridges)
        for (const state::bridge_member& member : b.members)
            REQUIRE(m.interfaces.at(member.port).bridge == name);
    check_routes(m, m.routes);
    for (const auto& [name, v] : m.vrfs) check_routes(m, v.routes);
    // Equal configurations have no differences.
    REQUIRE(state::diff(m, m)->empty());
    const auto written = load_text(to_yaml(m), "fuzz.yaml");
    REQUIRE(written.has_value());
    REQUIRE(state::diff(m, *written)->empty());
}

}  // namespace
}  // namespace turnpike::sources

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto loaded = turnpike::sources::load_text(text, "fuzz.yaml");
    if (loaded)
        turnpike::sources::check_state(*loaded);
    else
        turnpike::sources::check_complaint(loaded.error());
    return 0;
}
