// SPDX-License-Identifier: BSD-3-Clause
// Tunnels in the configuration: accepted forms, the error of each invalid one, that written YAML parses to
// the same state, and edits.
#include <gtest/gtest.h>

#include "complaints.hpp"
#include "sources/edits.hpp"
#include "sources/yaml_writer.hpp"

namespace turnpike::sources {
namespace {

const std::string tunnel_ports =
    "ports:\n  - {name: a, device: d0}\n"
    "  - {name: up, device: d1, addresses: [10.0.9.1/24, \"2001:db8::1/64\"]}\n";
std::string with_tunnels(const std::string& tunnels,
                         const std::string& members = "{port: a}, {port: t}") {
    return tunnel_ports + "tunnels:\n" + tunnels + "bridges: [{name: lan, members: [" + members +
           "]}]\n";
}
const std::string usual_tunnel = "  - {name: t, vni: 7, local: 10.0.9.1, remote: 10.0.9.2}\n";

TEST(tunnels, are_spared_questions) {
    const auto read = load_text(
        with_tunnels(usual_tunnel, "{port: a}, {port: t, neigh_suppress: true}"), "f.yaml");
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_TRUE(read->bridges.at("lan").member("t")->neigh_suppress);
    const auto again = load_text(to_yaml(*read), "again");
    ASSERT_TRUE(again) << again.error().message() << to_yaml(*read);
    EXPECT_TRUE(again->bridges == read->bridges) << to_yaml(*again);
}

/// The default of `checksum` depends on the address family; a saved text has the other value.
TEST(tunnels, with_another_checksum_than_the_familys_are_saved) {
    const std::string six = "  - {name: t, vni: 7, local: \"2001:db8::1\", remote: \"2001:db8::2\"";
    for (const bool v6 : {false, true})
        for (const bool checksum : {false, true}) {
            const auto read = load_text(
                with_tunnels((v6 ? six : usual_tunnel.substr(0, usual_tunnel.size() - 2)) +
                             ", checksum: " + (checksum ? "true" : "false") + "}\n"),
                "f.yaml");
            ASSERT_TRUE(read) << read.error().message();
            const std::string text = to_yaml(*read);
            const auto again = load_text(text, "again");
            ASSERT_TRUE(again) << again.error().message() << text;
            EXPECT_EQ(again->tunnels.at("t").checksum, checksum) << text;
            EXPECT_EQ(text.find("checksum") != std::string::npos, v6 != checksum) << text;
        }
}

TEST(tunnels, are_read_and_written) {
    const auto read = load_text(
        with_tunnels(
            usual_tunnel +
            "  - {name: six, vni: 16777215, local: \"2001:db8::1\", remote: \"2001:db8:7::1\"}\n"
            "  - {name: all, vni: 9, local: 10.0.9.1, remote: 10.0.9.2, mtu: 8950, ttl: 254, dscp: "
            "inherit, "
            "dont_fragment: false, checksum: true, ignore_reserved: true, udp_port: 8472}\n"),
        "f.yaml");
    ASSERT_TRUE(read) << read.error().message();
    const state::tunnel &t = read->tunnels.at("t"), &six = read->tunnels.at("six"),
                        &every = read->tunnels.at("all");
    EXPECT_TRUE(t.vni == 7 && t.mtu == 1450 && t.ttl == 64 && t.dscp == 0 && t.dont_fragment &&
                !t.checksum && t.udp_port == 4789);
    EXPECT_TRUE(six.vni == 0xffffff && six.mtu == 1430 && six.checksum);
    EXPECT_TRUE(every.mtu == 8950 && every.ttl == 254 && !every.dscp && !every.dont_fragment &&
                every.checksum && every.ignore_reserved && every.udp_port == 8472);
    EXPECT_EQ(read->interfaces.at("t").bridge, "lan");
    EXPECT_EQ(read->interfaces.at("six").bridge, "");
    EXPECT_EQ(read->mtu_of(read->interfaces.at("t")), 1450);
    const auto again = load_text(to_yaml(*read), "again");
    ASSERT_TRUE(again) << again.error().message() << to_yaml(*read);
    EXPECT_TRUE(again->tunnels == read->tunnels) << to_yaml(*again);
    EXPECT_TRUE(again->interfaces == read->interfaces) << to_yaml(*again);
    EXPECT_TRUE(again->bridges == read->bridges) << to_yaml(*again);
}

TEST(tunnels, to_groups_are_read_and_written) {
    const auto read = load_text(
        tunnel_ports +
            "tunnels:\n"
            "  - {name: t, vni: 7, local: 10.0.9.1, remote: 10.0.9.2}\n"
            "  - {name: g, vni: 7, local: 10.0.9.1, remote: 239.1.1.1, interface: up}\n"
            "  - {name: h, vni: 8, local: 10.0.9.1, remote: 239.1.1.1, interface: up}\n"
            "  - {name: i, vni: 7, local: 10.0.9.1, remote: 239.1.1.1, interface: up, udp_port: "
            "8472}\n"
            "  - {name: six, vni: 7, local: \"2001:db8::1\", remote: \"ff1e::9\", interface: up}\n"
            "bridges: [{name: lan, members: [{port: a}, {port: t}, {port: g}]}]\n",
        "f.yaml");
    ASSERT_TRUE(read) << read.error().message();
    const state::tunnel &t = read->tunnels.at("t"), &g = read->tunnels.at("g");
    EXPECT_TRUE(g.to_group() && g.interface == "up" && !t.to_group() && t.interface.empty());
    EXPECT_TRUE(t.is_behind(g) && !g.is_behind(t) && !g.is_behind(g));
    EXPECT_TRUE(!t.is_behind(read->tunnels.at("h")) && !t.is_behind(read->tunnels.at("i")));
    const auto again = load_text(to_yaml(*read), "again");
    ASSERT_TRUE(again) << again.error().message() << to_yaml(*read);
    EXPECT_TRUE(again->tunnels == read->tunnels) << to_yaml(*again);
}

class refused_tunnel : public ::testing::TestWithParam<complaint_row> {};
TEST_P(refused_tunnel, says_where_and_why) { expect_complaint(GetParam()); }

std::string one_tunnel(const std::string& says) {
    return with_tunnels("  - {name: t, " + says + "}\n");
}

std::string to_group_of(const std::string& group, const std::string& by = "up") {
    const bool v6 = group.find(':') != std::string::npos;
    return one_tunnel(std::string("vni: 7, local: \"") + (v6 ? "2001:db8::1" : "10.0.9.1") +
                      "\", remote: \"" + group + "\", interface: " + by);
}
/// Beside one to 239.1.1.1.
std::string two_groups(const std::string& other) {
    return "ports:\n  - {name: up, device: d0, addresses: [10.0.9.1/24]}\n"
           "  - {name: b, device: d1, addresses: [10.0.8.1/24]}\ntunnels:\n"
           "  - {name: t, vni: 7, local: 10.0.9.1, remote: 239.1.1.1, interface: up}\n"
           "  - {name: u, " +
           other + "}\n";
}

INSTANTIATE_TEST_SUITE_P(
    all, refused_tunnel,
    ::testing::Values(
        complaint_row{"no vni", one_tunnel("local: 10.0.9.1, remote: 10.0.9.2"),
                      "f.yaml:5: tunnels[0] lacks the key 'vni'"},
        complaint_row{"a vni too great",
                      one_tunnel("vni: 16777216, local: 10.0.9.1, remote: 10.0.9.2"),
                      "f.yaml:5: tunnels[0].vni"},
        complaint_row{
            "two families", one_tunnel("vni: 7, local: 10.0.9.1, remote: \"2001:db8::2\""),
            "f.yaml:5: tunnel 't' is from 10.0.9.1 to 2001:db8::2: both should be of one family"},
        complaint_row{"an end of somebody's",
                      one_tunnel("vni: 7, local: 10.0.9.7, remote: 10.0.9.2"),
                      "f.yaml:5: tunnel 't' ends at 10.0.9.7, which is not an address of ours"},
        complaint_row{"to ourselves", one_tunnel("vni: 7, local: 10.0.9.1, remote: 10.0.9.1"),
                      "f.yaml:5: tunnel 't' leads to 10.0.9.1, which is our own address on 'up'"},
        complaint_row{
            "an endpoint that hears itself",
            with_tunnels(usual_tunnel + "  - {name: g, vni: 7, local: 10.0.9.1, remote: "
                                        "239.1.1.1, interface: up}\n",
                         "{port: a}, {port: t, isolation: 3}, {port: g}"),
            "f.yaml:7: bridge 'lan': 't' is of another isolation group than 'g', the tunnel "
            "to its group: it would receive its own frames"},
        complaint_row{"to a group by nothing",
                      one_tunnel("vni: 7, local: 10.0.9.1, remote: 239.1.1.1"),
                      "f.yaml:5: tunnels[0].remote is the group 239.1.1.1, which needs the key "
                      "'interface': the port, VLAN or bridge that it is reached by"},
        complaint_row{"to a host by an interface",
                      one_tunnel("vni: 7, local: 10.0.9.1, remote: 10.0.9.2, interface: up"),
                      "f.yaml:5: tunnels[0].interface is how a group is reached; 'remote' is "
                      "10.0.9.2, one host, whose packets go by the routes"},
        complaint_row{"to a group of the link", to_group_of("224.0.0.9"),
                      "f.yaml:5: tunnels[0].remote is the group 224.0.0.9; should be none of "
                      "224.0.0.0/24"},
        complaint_row{"to a group of one source", to_group_of("232.0.0.9"),
                      "f.yaml:5: tunnels[0].remote is the group 232.0.0.9, one of 232.0.0.0/8"},
        complaint_row{"to a group of the link over ipv6", to_group_of("ff02::9"),
                      "f.yaml:5: tunnels[0].remote is the group ff02::9; its scope should be from "
                      "ff03::/16 to ff0e::/16"},
        complaint_row{"to a group of one source over ipv6", to_group_of("ff35::9"),
                      "f.yaml:5: tunnels[0].remote is the group ff35::9, one of ff3x::/32"},
        complaint_row{"to a group of another family",
                      one_tunnel("vni: 7, local: 10.0.9.1, remote: \"ff05::9\", interface: up"),
                      "f.yaml:5: tunnel 't' is from 10.0.9.1 to ff05::9: both should be of one "
                      "family"},
        complaint_row{"to a group by nobody's interface", to_group_of("239.1.1.1", "east"),
                      "f.yaml:5: tunnel 't' reaches the group 239.1.1.1 by 'east', which is no "
                      "interface: should be a port, a VLAN or a bridge"},
        complaint_row{"to a group by a bridge's member", to_group_of("239.1.1.1", "a"),
                      "f.yaml:5: tunnel 't' reaches the group 239.1.1.1 by 'a', which has no "
                      "addresses of its own"},
        complaint_row{"to a group by an interface without its family",
                      "ports:\n  - {name: a, device: d0, addresses: [\"2001:db8:5::1/64\"]}\n"
                      "  - {name: up, device: d1, addresses: [10.0.9.1/24]}\ntunnels:\n"
                      "  - {name: t, vni: 7, local: 10.0.9.1, remote: 239.1.1.1, interface: a}\n",
                      "f.yaml:5: tunnel 't' reaches the group 239.1.1.1 by 'a', which has no IPv4 "
                      "address to join it from"},
        complaint_row{"to a group by another vrf's interface",
                      "vrfs: [{name: red}]\n"
                      "ports:\n  - {name: a, device: d0, vrf: red, addresses: [10.0.8.1/24]}\n"
                      "  - {name: up, device: d1, addresses: [10.0.9.1/24]}\ntunnels:\n"
                      "  - {name: t, vni: 7, local: 10.0.9.1, remote: 239.1.1.1, interface: a}\n",
                      "f.yaml:6: tunnel 't' reaches the group 239.1.1.1 by 'a', which is in VRF "
                      "'red'"},
        complaint_row{"a group by two interfaces",
                      two_groups("vni: 8, local: 10.0.8.1, remote: 239.1.1.1, interface: b"),
                      "f.yaml:6: tunnel 'u' reaches the group 239.1.1.1 by 'b', and another by "
                      "'up': should be one"},
        complaint_row{"a group twice",
                      two_groups("vni: 7, local: 10.0.8.1, remote: 239.1.1.1, interface: up"),
                      "f.yaml:6: tunnel 'u' has the group 239.1.1.1, the port and the VNI of "
                      "tunnel 't'"},
        complaint_row{"two groups for one",
                      two_groups("vni: 7, local: 10.0.9.1, remote: 239.1.1.2, interface: up"),
                      "f.yaml:6: tunnel 'u' leads from 10.0.9.1 to a group, with the port and the "
                      "VNI of tunnel 't' to a group: frames would be flooded twice"},
        complaint_row{"to a link-local address",
                      one_tunnel("vni: 7, local: 10.0.9.1, remote: \"fe80::1\""),
                      "f.yaml:5: tunnels[0].remote is fe80::1; should be one host's"},
        complaint_row{"no vrf", one_tunnel("vni: 7, local: 10.0.9.1, remote: 10.0.9.2, vrf: red"),
                      "f.yaml:5: tunnel 't' is in 'red', which is not a VRF"},
        complaint_row{
            "fragments of ipv6",
            one_tunnel(
                "vni: 7, local: \"2001:db8::1\", remote: \"2001:db8::2\", dont_fragment: true"),
            "f.yaml:5: tunnels[0].dont_fragment has no meaning over IPv6"},
        complaint_row{"a name of a port",
                      with_tunnels(usual_tunnel +
                                   "  - {name: up, vni: 8, local: 10.0.9.1, remote: 10.0.9.2}\n"),
                      "f.yaml:6: tunnels[1].name is 'up', which something else is called already"},
        complaint_row{
            "a bridge of its name",
            tunnel_ports + "tunnels:\n" + usual_tunnel +
                "bridges: [{name: t, members: [{port: a}]}]\n",
            "f.yaml:6: bridges[0].name is 't', which a bridge, a port, a tunnel or a VLAN's"},
        complaint_row{"one twice",
                      with_tunnels(usual_tunnel +
                                   "  - {name: u, vni: 7, local: 10.0.9.1, remote: 10.0.9.2}\n"),
                      "f.yaml:6: tunnel 'u' has the ends, the port and the VNI of tunnel 't'"},
        complaint_row{"a port that is spared",
                      with_tunnels(usual_tunnel, "{port: a, neigh_suppress: true}, {port: t}"),
                      "f.yaml:6: bridge 'lan': 'a' has neigh_suppress and is not a tunnel"},
        complaint_row{"no port",
                      one_tunnel("vni: 7, local: 10.0.9.1, remote: 10.0.9.2, udp_port: 0"),
                      "f.yaml:5: tunnels[0].udp_port"},
        complaint_row{"in a patch",
                      tunnel_ports + "tunnels:\n" + usual_tunnel + "xconnects: [[a, t]]\n",
                      "f.yaml:6: xconnects[0][1] names 't', which is not a port"}),
    test_name);

TEST(tunnel_edits, one_by_one) {
    auto loaded = load_text(with_tunnels(usual_tunnel), "f.yaml");
    ASSERT_TRUE(loaded) << loaded.error().message();
    const auto change = [&](const char* what) {
        const auto done = edit(*loaded, std::string("[") + what + "]");
        return done ? std::string("done") : done.error().message();
    };
    EXPECT_EQ(
        change(
            R"({"add": {"tunnel": {"name": "u", "vni": "8", "local": "10.0.9.1", "remote": "10.0.9.3"}}})"),
        "done");
    EXPECT_NE(
        change(
            R"({"add": {"tunnel": {"name": "u", "vni": 8, "local": "10.0.9.1", "remote": "10.0.9.3"}}})")
            .find("tunnel 'u' is there already; replace changes it"),
        std::string::npos);
    EXPECT_EQ(change(R"({"add": {"member": {"bridge": "lan", "port": "u"}}})"), "done");
    EXPECT_EQ(
        change(
            R"({"replace": {"tunnel": {"name": "u", "vni": 9, "local": "10.0.9.1", "remote": "10.0.9.3", "mtu": 900}}})"),
        "done");
    EXPECT_TRUE(loaded->tunnels.at("u").vni == 9 && loaded->tunnels.at("u").mtu == 900);
    EXPECT_EQ(loaded->interfaces.at("u").bridge, "lan");
    EXPECT_EQ(change(R"({"add": {"acl": {"name": "l", "rules": []}}},
            {"replace": {"tunnel": {"name": "u", "vni": 9, "local": "10.0.9.1", "remote": "10.0.9.3", "acl": {"in": "l"}}}})"),
              "done");
    EXPECT_EQ(loaded->interfaces.at("u").acl_in, "l");
    EXPECT_EQ(loaded->interfaces.at("u").where.text, loaded->tunnels.at("u").where.text);
    EXPECT_EQ(
        change(
            R"({"replace": {"tunnel": {"name": "u", "vni": 9, "local": "10.0.9.1", "remote": "10.0.9.3"}}})"),
        "done");
    EXPECT_EQ(loaded->interfaces.at("u").acl_in, "") << "the keys of `replace` are complete";
    EXPECT_EQ(loaded->interfaces.at("u").bridge, "lan");
    EXPECT_NE(change(R"({"del": {"tunnel": {"name": "u"}}})")
                  .find("is a member of bridge 'lan'; del that first"),
              std::string::npos);
    EXPECT_EQ(change(R"({"del": {"member": {"bridge": "lan", "port": "u"}}})"), "done");
    EXPECT_EQ(change(R"({"del": {"tunnel": {"name": "u"}}})"), "done");
    EXPECT_EQ(loaded->interfaces.find("u"), nullptr);
    EXPECT_NE(change(R"({"del": {"tunnel": {"name": "u"}}})").find("tunnel 'u' is not there"),
              std::string::npos);
    EXPECT_NE(change(R"({"add": {"address": {"port": "t", "address": "10.7.0.1/24"}}})")
                  .find("tunnel 't' has addresses"),
              std::string::npos);
}

/// The defaults change with the address family; other values stay.
TEST(tunnel_edits, of_the_family_change_its_defaults) {
    const auto loaded = load_text(with_tunnels(usual_tunnel), "f.yaml");
    ASSERT_TRUE(loaded) << loaded.error().message();
    const auto after = [&](std::initializer_list<const char*> sets) {
        auto edited = *loaded;
        std::string list;
        for (const char* keys : sets)
            list += (list.empty() ? "" : ", ") +
                    (R"({"set": {"tunnel": {"name": "t", )" + std::string(keys) + "}}}");
        const auto done = edit(edited, "[" + list + "]");
        EXPECT_TRUE(done) << done.error().message();
        const state::tunnel& t = edited.tunnels.at("t");
        return std::pair(t.mtu, t.checksum);
    };
    const char *const six = R"("local": "2001:db8::1", "remote": "2001:db8::2")",
                      *const four = R"("local": "10.0.9.1", "remote": "10.0.9.2")";
    EXPECT_EQ(after({six}), std::pair(uint16_t{1430}, true));
    EXPECT_EQ(after({six, four}), std::pair(uint16_t{1450}, false));
    EXPECT_EQ(after({R"("mtu": 1400, "checksum": true)", six}), std::pair(uint16_t{1400}, true));
    EXPECT_EQ(after({R"("mtu": 1450, "checksum": false, "local": "2001:db8::1",
                        "remote": "2001:db8::2")"}),
              std::pair(uint16_t{1450}, false));
}

}  // namespace
}  // namespace turnpike::sources
