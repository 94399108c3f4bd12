// SPDX-License-Identifier: BSD-3-Clause
// Bytes -> a configuration file's text -> a model, or a complaint that names the file and says why.

#include "config/model.hpp"
#include "lib/require.hpp"

namespace turnpike::config {
namespace {

void check_complaint(const error& e) {
    REQUIRE(e.code == EINVAL);
    REQUIRE(e.object == "fuzz.yaml" || e.object.starts_with("fuzz.yaml:"));
    REQUIRE(!e.text.empty());
}

/// What the datapath relies on without asking again, here and below.
void check_list(const acl_list& l) {
    REQUIRE(l.categories == 1 || (l.categories % 4 == 0 && l.categories <= acl::max_categories));
    REQUIRE(!l.rules.empty() && l.rules[0].action == acl_action::deny);
    for (size_t i = 0; i < l.rules.size(); ++i) {
        const acl_rule& r = l.rules[i];
        REQUIRE(r.ipv4 || r.ipv6);
        REQUIRE(acl::pack<acl::ipv6_words>(r.match).has_value());
        REQUIRE(!r.ipv4 || acl::pack<acl::ipv4_words>(r.match).has_value());
        REQUIRE(r.match.user_data == acl_hit(i, r.action == acl_action::deny));
        REQUIRE(r.match.categories < 1u << l.categories);
        REQUIRE((r.match.categories == 1) == (r.action != acl_action::count));
    }
}

void check_model(const model& m) {
    REQUIRE(!m.ports.empty());
    for (const acl_list& l : m.acls) check_list(l);
    for (const port& p : m.ports) {
        REQUIRE(!p.acl_in || *p.acl_in < m.acls.size());
        REQUIRE(!p.acl_out || *p.acl_out < m.acls.size());
    }
    for (const auto& [a, b] : m.patches)
        REQUIRE(a < m.ports.size() && b < m.ports.size() && a != b);
    for (const port& p : m.ports) {
        REQUIRE(!p.name.empty() && !p.device.empty());
        REQUIRE(p.where.starts_with("fuzz.yaml:"));
        for (const ip_prefix& a : p.addresses) {
            REQUIRE(a.length > 0 && a.length <= a.address.bits());
            REQUIRE(!a.address.is_multicast() && !a.address.is_link_local());
            REQUIRE(!a.address.v6 || p.mtu >= 1280);
        }
    }
    for (const route& r : m.routes) {
        REQUIRE(r.to == r.to.network());
        if (r.type != route_type::unicast) continue;
        REQUIRE(r.via.v6 == r.to.address.v6);
        REQUIRE(r.port < m.ports.size() && m.ports[r.port].routed());
    }
}

}  // namespace
}  // namespace turnpike::config

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto loaded = turnpike::config::load_text(text, "fuzz.yaml");
    if (loaded)
        turnpike::config::check_model(*loaded);
    else
        turnpike::config::check_complaint(loaded.error());
    return 0;
}
