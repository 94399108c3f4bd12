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

/// What the datapath and control rely on without asking again, here and below.
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

void check_interface(const state::desired& m, const state::interface& i) {
    REQUIRE(m.ports.find(i.port) != nullptr);
    REQUIRE(i.acl_in.empty() || m.acls.find(i.acl_in) != nullptr);
    REQUIRE(i.acl_out.empty() || m.acls.find(i.acl_out) != nullptr);
    const bool patched = i.kind == state::interface_kind::patched;
    REQUIRE(patched == i.addresses.empty());
    REQUIRE(patched ? m.interfaces.find(i.peer) != nullptr : i.peer.empty());
    for (const ip_prefix& a : i.addresses) {
        REQUIRE(a.length > 0 && a.length <= a.address.bits());
        REQUIRE(!a.address.is_multicast() && !a.address.is_link_local());
        REQUIRE(!a.address.v6 || m.ports.at(i.port).mtu >= 1280);
    }
}

void check_state(const state::desired& m) {
    REQUIRE(!m.ports.empty());
    for (const auto& [name, l] : m.acls) check_list(*l);
    for (const auto& [name, p] : m.ports) {
        REQUIRE(!name.empty() && !p.device.empty());
        REQUIRE(p.where.text.starts_with("fuzz.yaml:"));
    }
    for (const auto& [name, i] : m.interfaces) check_interface(m, i);
    for (const state::route& r : m.routes) {
        REQUIRE(r.to == r.to.network());
        const state::route_target& t = m.routes.targets()[r.target];
        if (t.type != state::route_type::unicast) continue;
        REQUIRE(t.via.v6 == r.to.address.v6);
        REQUIRE(m.interfaces.at(t.interface).kind == state::interface_kind::routed);
    }
    // What is the same makes no change.
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
