// SPDX-License-Identifier: BSD-3-Clause
// `show` has every key of bridges, members, tunnels and mirrors, as the fields table does.
#include <nlohmann/json.hpp>

#include "control/management/show.hpp"
#include "sources/fields.hpp"
#include "turnpike/bridge_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using nlohmann::json;

json shown_list(bridge_lab& l, const std::string& what) {
    const json request = {{"request", "show"}, {"what", what}};
    return control::show(l.controller(), control::request_fields(request)).at(what);
}

template <class Object>
void expect_keys(const json& one, std::span<const sources::field<Object>> table, unsigned kinds) {
    for (const sources::field<Object>& f : table) {
        std::string key(f.shown.empty() ? f.key : f.shown);
        std::replace(key.begin(), key.end(), '.', '_');
        EXPECT_TRUE((f.kinds & kinds) == 0 || one.contains(key)) << key << " in " << one;
    }
}

TEST(show_objects, have_every_key) {
    bridge_lab l(
        ports(3) +
        "  - {name: up, device: d3, descriptors: 256, mtu: 1600, addresses: [10.0.9.1/24]}\n"
        "tunnels: [{name: far, vni: 7, local: 10.0.9.1, remote: 10.0.9.2, mtu: 1500, ttl: 9}]\n"
        "bridges:\n  - name: lan\n    ageing_s: 60\n    members:\n"
        "      - {port: p0, mode: trunk, trunks: [10, 20-29], translate: [{wire: 110, vlan: 20}]}\n"
        "      - {port: p1, mode: access, vlan: 10, storm: {broadcast: 100}, isolation: 3}\n"
        "      - {port: far, mode: trunk, trunks: [10]}\n"
        "mirrors:\n  - {name: m, ports: [p0], to: p2}\n"
        "  - {name: g, ports: [p0], remote: 10.0.9.2, local: 10.0.9.1, session: 5}\n"
        "  - {name: v, ports: [p0], remote: 10.0.9.2, local: 10.0.9.1, vni: 8}\n");
    json bridge = shown_list(l, "bridges")[0];
    expect_keys(bridge, sources::bridge_fields(), sources::of_bridge);
    EXPECT_EQ(bridge["ageing_s"], 60);
    json members = bridge["members"];
    for (const json& one : members) expect_keys(one, sources::member_fields(), sources::of_member);
    EXPECT_EQ(members[0]["port"], "p0");
    EXPECT_EQ(members[0]["trunks"], json({"10", "20-29"}));
    EXPECT_EQ(members[0]["translate"], json::array({{{"wire", 110}, {"vlan", 20}}}));
    EXPECT_EQ(members[0]["vlan"], nullptr);
    EXPECT_EQ(members[1]["vlan"], 10);
    EXPECT_EQ(members[1]["storm_broadcast"], 100);
    EXPECT_EQ(members[1]["isolation"], 3);
    json tunnel = shown_list(l, "tunnels")[0];
    expect_keys(tunnel, sources::tunnel_fields(), sources::of_tunnel);
    EXPECT_EQ(tunnel["ttl"], 9);
    EXPECT_EQ(tunnel["vrf"], nullptr);
    EXPECT_EQ(tunnel["bridge"], "lan");
    json mirrors = shown_list(l, "mirrors");
    for (const json& one : mirrors) expect_keys(one, sources::mirror_fields(), sources::of_mirror);
    EXPECT_EQ(mirrors[0]["to"], "p2");
    EXPECT_EQ(mirrors[0]["session"], nullptr);
    EXPECT_EQ(mirrors[1]["to"], "10.0.9.2");
    EXPECT_EQ(mirrors[1]["session"], 5);
    EXPECT_EQ(mirrors[1]["udp_port"], nullptr);
    EXPECT_EQ(mirrors[2]["vni"], 8);
    EXPECT_EQ(mirrors[2]["udp_port"], 4789);
    EXPECT_EQ(mirrors[2]["erspan_type"], nullptr);
}

}  // namespace
}  // namespace turnpike
