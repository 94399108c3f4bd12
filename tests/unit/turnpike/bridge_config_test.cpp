// SPDX-License-Identifier: BSD-3-Clause
// Bridges and VLANs in the configuration: accepted forms, the error of each invalid one, and that written YAML
// parses to the same state.
#include <gtest/gtest.h>

#include "complaints.hpp"
#include "sources/edits.hpp"
#include "sources/yaml_writer.hpp"

namespace turnpike::sources {
namespace {

const std::string ports =
    "ports:\n  - {name: a, device: d0}\n  - {name: b, device: d1}\n  - {name: c, device: d2}\n"
    "  - {name: up, device: d3}\n";

/// A configuration with every option of a bridge.
const std::string every_option = ports + R"(interfaces:
  - {port: up, vlan: 100, addresses: [10.0.100.1/24]}
bridges:
  - name: lan
    ageing_s: 60
    max_addresses: 500
    mac: "02:00:00:00:00:01"
    reserved: {stp: drop, lacp: flood, lldp: punt, other: flood}
    damping: {moves: 0, within_s: 2, hold_s: 3}
    members:
      - {port: a, mode: access, vlan: 10, locked: true, learning: false, flood_unknown: false}
      - {port: b, mode: trunk, trunks: [10, 20-29], translate: [{wire: 110, vlan: 20}], isolation: 3,
         max_addresses: 7, storm: {broadcast: 1, multicast: 2, unknown: 3}}
      - {port: c, mode: native-untagged, vlan: 10, ethertype: 802.1ad}
    fdb: [{mac: "02:00:00:00:00:09", vlan: 10, port: a}]
    interfaces: [{vlan: 10, addresses: [10.0.10.1/24, "2001:db8::1/64"]}]
)";

TEST(bridges, are_read_and_written) {
    const auto read = load_text(every_option, "f.yaml");
    ASSERT_TRUE(read) << read.error().message();
    const state::bridge& lan = read->bridges.at("lan");
    EXPECT_EQ(lan.member("b")->vlans.count(), 11U);
    EXPECT_EQ(lan.member("c")->vlans.count(), 4094U);
    EXPECT_EQ(read->interfaces.at("a").bridge, "lan");
    EXPECT_EQ(read->interfaces.at("lan.10").addresses.size(), 2U);
    EXPECT_EQ(read->interfaces.at("up.100").vlan, 100);
    const auto again = load_text(to_yaml(*read), "again");
    ASSERT_TRUE(again) << again.error().message() << to_yaml(*read);
    EXPECT_TRUE(again->bridges == read->bridges) << to_yaml(*again);
    EXPECT_TRUE(again->interfaces == read->interfaces) << to_yaml(*again);
}

std::string bridge(const std::string& members, const std::string& more = "") {
    return ports + "bridges:\n  - name: lan\n    members: [" + members + "]\n" + more;
}
const std::string others =  // ports that a test does not use are to have a use
    "  - {name: other, members: [{port: b}, {port: c}, {port: up}]}\n";

/// A port with a VLAN interface.
std::string vlan_port(const std::string& keys) {
    return "ports:\n  - {name: up, device: d0, " + keys +
           "}\ninterfaces: [{port: up, vlan: 7, addresses: [10.0.7.1/24]}]\n"
           "acl: [{name: all, rules: []}]\nvrfs: [{name: red}]\n"
           "control_plane: {netlink: true}\n";
}

class refused_bridge : public ::testing::TestWithParam<complaint_row> {};
TEST_P(refused_bridge, says_where_and_why) { expect_complaint(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    all, refused_bridge,
    ::testing::Values(
        complaint_row{"a whole one", bridge("{port: a}", others), "none"},
        complaint_row{"no port", bridge("{port: x}", others),
                      "f.yaml:8: bridges[0].members[0].port names 'x', which is not a port"},
        complaint_row{"in two", bridge("{port: a}, {port: b}", others),
                      "f.yaml:9: bridges[1].members[0].port names 'b', which is in bridge 'lan'"},
        complaint_row{"a member of another", bridge("{port: a, bridge: other}", others),
                      "f.yaml:8: bridges[0].members[0].bridge is for the edit of one member"},
        complaint_row{"of modes and none", bridge("{port: a, mode: trunk}, {port: b}"),
                      "f.yaml:7: bridge 'lan': member 'b' has no mode, and 'a' has one"},
        complaint_row{"a trunk with a vlan", bridge("{port: a, mode: trunk, vlan: 3}"),
                      "f.yaml:8: bridges[0].members[0].vlan has no meaning in mode trunk"},
        complaint_row{"access without one", bridge("{port: a, mode: access}"),
                      "f.yaml:8: bridges[0].members[0] lacks the key 'vlan'"},
        complaint_row{"a vlan without a mode", bridge("{port: a, vlan: 3}"),
                      "f.yaml:8: bridges[0].members[0].vlan has no meaning in mode unaware"},
        complaint_row{
            "the isolation group of tunnels", bridge("{port: a, isolation: 255}", others),
            "f.yaml:8: bridges[0].members[0].isolation should be a whole number from 1 to "
            "254"},
        complaint_row{
            "4095", bridge("{port: a, mode: access, vlan: 4095}"),
            "f.yaml:8: bridges[0].members[0].vlan should be a whole number from 1 to 4094"},
        complaint_row{"a range upside down", bridge("{port: a, mode: trunk, trunks: [9-3]}"),
                      "f.yaml:8: bridges[0].members[0].trunks[0] is '9-3'; should be a VLAN"},
        complaint_row{"translated twice",
                      bridge("{port: a, mode: trunk, translate: [{wire: 1, vlan: 2}, {wire: 3, "
                             "vlan: 2}]}"),
                      "f.yaml:8: bridges[0].members[0].translate[1] is a second translation"},
        complaint_row{
            "translated to another's",
            bridge("{port: a, mode: trunk, trunks: [1, 2], translate: [{wire: 1, vlan: 2}]}"),
            "f.yaml:8: bridges[0].members[0].translate gives VLAN 2 the tag 1, which"},
        complaint_row{
            "exchanged",
            bridge("{port: a, mode: trunk, trunks: [1, 2], translate: [{wire: 1, vlan: 2}, "
                   "{wire: 2, vlan: 1}]}",
                   others),
            "none"},
        complaint_row{
            "members of two mtus",
            replaced(bridge("{port: a}, {port: b}"), "device: d1", "device: d1, mtu: 9000"),
            "f.yaml:7: bridge 'lan': 'a' (mtu 1500) and 'b' (mtu 9000) would lose"},
        complaint_row{"a member with addresses",
                      replaced(bridge("{port: a}", others), "device: d0",
                               "device: d0, addresses: [10.0.0.1/24]"),
                      "f.yaml:2: port 'a' has addresses and is in bridge 'lan'"},
        complaint_row{"a member in a patch", bridge("{port: a}", others) + "xconnects: [[b, c]]\n",
                      "f.yaml:9: bridges[1].members[0].port names 'b', which is in a patch"},
        complaint_row{
            "routing without a vlan",
            bridge("{port: a, mode: trunk}", "    addresses: [10.0.0.1/24]\n" + others),
            "f.yaml:7: bridge 'lan' is VLAN-aware: its routing interface 'lan' should be"},
        complaint_row{
            "a station elsewhere",
            bridge("{port: a}", "    fdb: [{mac: \"02:00:00:00:00:01\", port: b}]\n" + others),
            "f.yaml:7: bridge 'lan': station 02:00:00:00:00:01 is behind 'b', which is not"},
        complaint_row{
            "a station of a group",
            bridge("{port: a}", "    fdb: [{mac: \"03:00:00:00:00:01\", port: a}]\n" + others),
            "f.yaml:9: bridges[0].fdb[0].mac should be one station's"},
        complaint_row{
            "a station of no vlan",
            bridge("{port: a, mode: access, vlan: 5}",
                   "    fdb: [{mac: \"02:00:00:00:00:01\", vlan: 6, port: a}]\n" + others),
            "f.yaml:7: bridge 'lan': station 02:00:00:00:00:01 is behind 'a', which has no"},
        complaint_row{"a station with the bridge's address",
                      bridge("{port: a}",
                             "    mac: \"02:00:00:00:00:01\"\n    addresses: [10.0.0.1/24]\n"
                             "    fdb: [{mac: \"02:00:00:00:00:01\", port: a}]\n" +
                                 others),
                      "f.yaml:7: bridge 'lan': station 02:00:00:00:00:01 has the MAC address of "
                      "the routing interface 'lan'"},
        complaint_row{"a station with the address of a bridge that does not route",
                      bridge("{port: a}",
                             "    mac: \"02:00:00:00:00:01\"\n"
                             "    fdb: [{mac: \"02:00:00:00:00:01\", port: a}]\n" +
                                 others),
                      "none"},
        complaint_row{"a station with an additional address of a vlan",
                      bridge("{port: a, mode: trunk}",
                             "    fdb: [{mac: \"00:00:5e:00:01:07\", vlan: 7, port: a},\n"
                             "          {mac: \"00:00:5e:00:01:08\", vlan: 8, port: a}]\n"
                             "    interfaces:\n"
                             "      - {vlan: 7, addresses: [10.0.7.1/24],\n"
                             "         extra_macs: [\"00:00:5e:00:01:08\"]}\n"
                             "      - {vlan: 8, addresses: [10.0.8.1/24],\n"
                             "         extra_macs: [\"00:00:5e:00:01:08\"]}\n" +
                                 others),
                      "f.yaml:7: bridge 'lan': station 00:00:5e:00:01:08 has the MAC address of "
                      "the routing interface 'lan.8'"},
        complaint_row{"a name twice",
                      bridge("{port: a}", "  - {name: lan, members: [{port: b}]}\n"),
                      "f.yaml:9: bridges[1].name is 'lan', which a bridge, a port, a tunnel or"},
        complaint_row{"the name of a port's vlan",
                      ports + "interfaces: [{port: up, vlan: 100, addresses: [10.0.0.1/24]}]\n"
                              "bridges: [{name: up.100, members: [{port: a}]}]\n",
                      "f.yaml:7: bridges[0].name is 'up.100', which a bridge, a port, a tunnel or "
                      "a VLAN's interface has already"},
        complaint_row{"the name of a later bridge's vlan",
                      ports + "bridges:\n  - {name: lan.10, members: [{port: b}]}\n"
                              "  - {name: lan, members: [{port: a, mode: access, vlan: 10}],\n"
                              "     interfaces: [{vlan: 10, addresses: [10.0.0.1/24]}]}\n",
                      "f.yaml:9: bridges[1].interfaces[0] makes the interface 'lan.10', which is "
                      "the name of a bridge"},
        complaint_row{"a list without addresses", bridge("{port: a}", "    acl: {in: x}\n"),
                      "f.yaml:9: bridges[0].acl needs addresses"},
        complaint_row{"a look-up without addresses", bridge("{port: a}", "    urpf: strict\n"),
                      "f.yaml:9: bridges[0].urpf needs addresses"},
        complaint_row{"a list on a carrier of vlans", vlan_port("acl: {in: all}"),
                      "f.yaml:2: port 'up' has acl, which needs addresses: interfaces of"},
        complaint_row{"a list out of a carrier", vlan_port("acl: {out: all}"),
                      "f.yaml:2: port 'up' has acl, which needs addresses"},
        complaint_row{"a vrf of a carrier", vlan_port("vrf: red"),
                      "f.yaml:2: port 'up' has vrf, which needs addresses"},
        complaint_row{"a look-up on a carrier", vlan_port("urpf: strict"),
                      "f.yaml:2: port 'up' has urpf, which needs addresses"},
        complaint_row{"an address of a carrier", vlan_port("extra_macs: [\"00:00:5e:00:01:01\"]"),
                      "f.yaml:2: port 'up' has extra_macs, which needs addresses"},
        complaint_row{"redirects of a carrier", vlan_port("send_redirects: true"),
                      "f.yaml:2: port 'up' has send_redirects, which needs addresses"},
        complaint_row{"source routes on a carrier", vlan_port("accept_source_route: true"),
                      "f.yaml:2: port 'up' has accept_source_route, which needs addresses"},
        complaint_row{"a carrier that may get addresses",
                      vlan_port("host_interface: true, acl: {in: all}, vrf: red, urpf: strict"),
                      "none"},
        complaint_row{"a carrier with addresses",
                      vlan_port("addresses: [10.0.0.1/24], acl: {in: all}, urpf: strict"), "none"},
        complaint_row{"a list on the port of a mirror's copies",
                      "acl: [{name: all, rules: []}]\n"
                      "ports:\n  - {name: a, device: d0, addresses: [10.0.0.1/24]}\n"
                      "  - {name: up, device: d1, acl: {out: all}}\n"
                      "mirrors: [{name: m, ports: [a], to: up}]\n",
                      "f.yaml:4: port 'up' has acl, which needs addresses"},
        complaint_row{"a group's address",
                      "ports: [{name: a, device: d0, extra_macs: [\"01:00:5e:00:01:01\"]}]\n",
                      "f.yaml:1: ports[0].extra_macs[0] should be one station's"},
        complaint_row{"an address twice",
                      "ports: [{name: a, device: d0,\n"
                      " extra_macs: [\"00:00:5e:00:01:01\", \"00:00:5e:00:01:01\"]}]\n",
                      "f.yaml:2: ports[0].extra_macs[1] names 00:00:5e:00:01:01 twice"},
        complaint_row{"addresses of a member",
                      "ports: [{name: a, device: d0, extra_macs: [\"00:00:5e:00:01:01\"]}]\n"
                      "bridges: [{name: lan, members: [{port: a}]}]\n",
                      "f.yaml:1: port 'a' has extra_macs and does not route"},
        complaint_row{"redirects of a member",
                      "ports: [{name: a, device: d0, send_redirects: true}]\n"
                      "bridges: [{name: lan, members: [{port: a}]}]\n",
                      "f.yaml:1: port 'a' has send_redirects and does not route"},
        complaint_row{"a member that looks up",
                      "ports: [{name: a, device: d0, urpf: loose}]\n"
                      "bridges: [{name: lan, members: [{port: a}]}]\n",
                      "f.yaml:1: port 'a' has urpf and does not route"},
        complaint_row{"no members", bridge("", others), "f.yaml:7: bridge 'lan' has no members"},
        complaint_row{"a vlan of nothing",
                      ports + "interfaces: [{port: x, vlan: 3, addresses: [10.0.0.1/24]}]\n",
                      "f.yaml:6: interfaces[0].port names 'x', which is not a port"},
        complaint_row{"a vlan without addresses", ports + "interfaces: [{port: a, vlan: 3}]\n",
                      "f.yaml:6: interfaces[0] has no addresses"},
        complaint_row{"tags of two types",
                      ports + "interfaces: [{port: a, vlan: 3, addresses: [10.0.0.1/24]}]\n" +
                          "bridges:\n  - {name: lan, members: [{port: a, mode: trunk, ethertype: "
                          "802.1ad}]}\n" +
                          others,
                      "f.yaml:8: bridge 'lan': 'a' has interfaces of VLANs (802.1q)"}),
    test_name);

TEST(bridge_edits, one_by_one) {
    auto loaded = load_text(every_option, "f.yaml");
    ASSERT_TRUE(loaded);
    const auto change = [&](const char* what) {
        const auto done = edit(*loaded, std::string("[") + what + "]");
        return done ? std::string("done") : done.error().message();
    };
    EXPECT_EQ(
        change(
            R"({"add": {"fdb": {"bridge": "lan", "mac": "02:00:00:00:00:07", "vlan": 10, "port": "b"}}})"),
        "done");
    EXPECT_EQ(loaded->bridges.at("lan").fixed.size(), 2U);
    EXPECT_NE(
        change(R"({"del": {"fdb": {"bridge": "lan", "mac": "02:00:00:00:00:08", "vlan": 10}}})")
            .find("is not there"),
        std::string::npos);
    EXPECT_EQ(change(R"({"replace": {"member": {"bridge": "lan", "port": "b", "mode": "trunk"}}})"),
              "done");
    EXPECT_EQ(loaded->bridges.at("lan").member("b")->vlans.count(), 4094U);
    EXPECT_EQ(
        change(
            R"({"add": {"interface": {"port": "up", "vlan": 101, "addresses": ["10.0.101.1/24"]}}})"),
        "done");
    EXPECT_EQ(change(R"({"del": {"interface": {"port": "up", "vlan": 101}}})"), "done");
    EXPECT_NE(change(R"({"del": {"port": {"name": "up"}}})").find("has the interface 'up.100'"),
              std::string::npos);
    EXPECT_NE(change(R"({"del": {"port": {"name": "a"}}})").find("is a member of bridge 'lan'"),
              std::string::npos);
    for (const char* name : {"lan", "lan.10", "up.100"})
        EXPECT_NE(change((std::string(R"({"add": {"port": {"name": ")") + name +
                          R"(", "device": "d9", "addresses": ["10.0.9.1/24"]}}})")
                             .c_str())
                      .find("which a bridge or a VLAN's interface is called already"),
                  std::string::npos)
            << name;
    EXPECT_NE(change(R"({"add": {"member": {"bridge": "lan", "port": "up"}}})").find("has no mode"),
              std::string::npos);
}

/// Otherwise `set bridge up.100 addresses` would change the VLAN's interface.
TEST(bridge_edits, a_vlans_interface_and_a_bridge_have_two_names) {
    auto loaded = load_text(bridge("{port: a}", others), "f.yaml");
    ASSERT_TRUE(loaded);
    ASSERT_TRUE(edit(*loaded, R"([{"del": {"member": {"bridge": "other", "port": "up"}}},
        {"add": {"address": {"port": "up", "address": "10.0.9.1/24"}}}])"));
    const std::string of_vlan_100 = R"({"add": {"interface":
        {"port": "up", "vlan": 100, "addresses": ["10.0.100.1/24"]}}})",
                      up_100 = R"({"del": {"member": {"bridge": "other", "port": "c"}}},
        {"add": {"bridge": {"name": "up.100", "members": [{"port": "c"}]}}})";
    const auto refusal = [&](const std::string& first, const std::string& second) {
        auto edited = *loaded;
        const auto done = edit(edited, "[" + first + "," + second + "]");
        return done ? std::string("done") : done.error().message();
    };
    EXPECT_NE(refusal(of_vlan_100, up_100).find("which a bridge, a port, a tunnel or a VLAN's"),
              std::string::npos);
    EXPECT_NE(refusal(up_100, of_vlan_100)
                  .find("makes the interface 'up.100', which is the name of a bridge"),
              std::string::npos);
}

TEST(bridge_edits, whole_ones) {
    auto loaded = load_text(bridge("{port: a}", others), "f.yaml");
    ASSERT_TRUE(loaded);
    const auto done = edit(*loaded, R"([{"del": {"bridge": {"name": "other"}}},
        {"add": {"member": {"bridge": "lan", "port": "b"}}}, {"add": {"member": {"bridge": "lan", "port": "up"}}},
        {"add": {"bridge": {"name": "new", "members": [{"port": "c"}], "addresses": ["10.0.0.1/24"]}}}])");
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(loaded->bridges.at("lan").members.size(), 3U);
    EXPECT_EQ(loaded->interfaces.at("new").bridge, "new");
    EXPECT_TRUE(edit(*loaded, R"([{"del": {"bridge": {"name": "new"}}},
        {"add": {"member": {"bridge": "lan", "port": "c"}}}])"));
    EXPECT_EQ(loaded->interfaces.find("new"), nullptr);
}

}  // namespace
}  // namespace turnpike::sources
