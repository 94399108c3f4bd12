// SPDX-License-Identifier: BSD-3-Clause
// Edits of single objects, the errors of invalid ones, and that a state written as YAML parses
// to the same state.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "complaints.hpp"
#include "route_targets.hpp"
#include "sources/edits.hpp"
#include "sources/yaml_writer.hpp"
#include "state/changes.hpp"

namespace turnpike::sources {
namespace {

constexpr const char* whole_file = R"(
eal: {args: "-l 0-1 --no-pci '--vdev=net_ring0,x=a b'", hugepages: optional}
workers: [1]
mempool: {buffers: 16384, buffer_size: 2200, ops: stack}
control: {socket: /run/x.sock, group: "0", owner: nobody}
tx: {drain_us: 7}
acl:
  - name: in-list
    rules:
      - {action: count, name: all}
      - {action: permit, name: "null", protocol: tcp, source: 10.0.0.0/8, destination_ports: 80-81}
      - {action: permit, protocol: tcp, tcp_flags: "+ack -syn"}
      - {action: deny, protocol: udp, source_ports: 0-65535}
      - {action: permit, protocol: tcp, tcp_flags: " "}
      - {action: permit, protocol: icmp, icmp_type: 3, icmp_code: 4}
      - {action: deny, source: "2001:db8::/32", dscp: 46, vlan: 7}
      - {action: permit, protocol: udp, fragments: true, vlan: untagged}
      - {action: permit, fragments: false, family: ipv4, protocol: 200}
      - action: deny
        lines: |
          # ports of any protocol, flags, an ICMP code
          @192.0.2.0/24	0.0.0.0/0	0 : 65535	7 : 9	0x00/0x00	0x0000/0x0000
          @192.0.2.0/24	0.0.0.0/0	0 : 65535	0 : 65535	0x06/0xFF	0x0200/0x1200

          @192.0.2.1/32	0.0.0.0/0	0 : 65535	0 : 65535	0x01/0xFF	0x0303/0xffff
          @192.0.2.1/32	0.0.0.0/0	0 : 65535	0 : 65535	0x04/0xFE	0x0000/0x0000
  - {name: bare, default: permit, memory_mb: 3, rules: []}
ports:
  - name: west
    device: "net_ring0,nodeaction=a:0:b"
    mtu: 1400
    rx_queues: 2
    descriptors: 512
    pcie: {profile: generic, link: gen3x8, mps: 256, mrrs: 512}
    addresses: [10.0.1.1/24, "2001:db8:1::1/64"]
    acl: {in: in-list, out: bare}
  - {name: east, device: net_ring1, addresses: [10.0.2.1/24, 10.0.3.1/30]}
  - {name: one, device: net_ring2}
  - {name: other, device: net_ring3, rx_workers: [1], udp_checksums: device, acl: {out: bare}}
xconnects: [[other, one]]
routes:
  - {to: 10.9.0.0/16, via: 10.0.2.2}
  - {to: "2001:db8:9::/48", via: "fe80::2", port: east}
  - {to: 192.0.2.0/24, type: blackhole}
  - lines: |
      unreachable 2001:db8:bad::/48
      10.8.0.0/16 via 10.0.3.2 dev east
icmp: {rate: 7}
neighbours:
  max_entries: 100
  attempts: 2
  static:
    - {address: 10.0.2.9, mac: "02:00:00:00:00:01"}
    - {address: "fe80::9", port: west, mac: "02:00:00:00:00:02"}
idle: {sleep_us: 7}
)";

state::configuration loaded(const std::string& text) {
    auto d = load_text(text, "f.yaml");
    EXPECT_TRUE(d) << d.error().message();
    return d ? std::move(*d) : state::configuration{};
}

void expect_same(const state::configuration& a, const state::configuration& b) {
    EXPECT_EQ(a.pcie_profiles.file, b.pcie_profiles.file);
    EXPECT_EQ(a.fixed.eal_options.args, b.fixed.eal_options.args);
    EXPECT_TRUE(a.fixed == b.fixed);
    const auto differ = state::diff(a, b);
    ASSERT_TRUE(differ) << differ.error().message();
    EXPECT_TRUE(differ->empty()) << differ->text();
}

/// A configuration with all options, so that any error of the writer makes a difference.
TEST(yaml_writer, what_is_written_is_read_as_the_same) {
    const state::configuration d = loaded(whole_file);
    const std::string text = to_yaml(d);
    const auto again = load_text(text, "saved.yaml");
    ASSERT_TRUE(again) << again.error().message() << "\n" << text;
    expect_same(d, *again);
    EXPECT_EQ(d.acls.at("in-list")->rules, again->acls.at("in-list")->rules);
    EXPECT_EQ(d.acls.at("in-list")->categories, again->acls.at("in-list")->categories);
    EXPECT_EQ(text, to_yaml(*again));
    EXPECT_EQ(again->interfaces.at("one").peer, "other");
}

/// Options of routing interfaces of a port, a VLAN and a bridge survive writing and reading.
TEST(yaml_writer, what_routing_is_asked_for_comes_back) {
    const state::configuration d = loaded(R"(drop_bogons: true
resolve_via_default: true
control_plane: {netlink: true}
ports:
  - {name: west, device: net_ring0, urpf: strict, send_redirects: true, accept_source_route: true, host_interface: true, router_alert: true,
     extra_macs: ["00:00:5e:00:01:0a", "00:00:5e:00:02:0a"], addresses: [10.0.1.1/24]}
  - {name: east, device: net_ring1, urpf: "off", addresses: [10.0.2.1/24]}
  - {name: a, device: net_ring2}
interfaces: [{port: east, vlan: 5, urpf: loose, addresses: [10.0.3.1/24]}]
bridges: [{name: lan, members: [{port: a}], urpf: strict, addresses: [10.0.4.1/24]}]
)");
    const state::configuration again = loaded(to_yaml(d));
    expect_same(d, again);
    EXPECT_EQ(again.interfaces.at("west").urpf, state::reverse_path::strict);
    EXPECT_TRUE(again.drops_special && again.default_resolves);
    EXPECT_TRUE(again.interfaces.at("west").send_redirects &&
                again.interfaces.at("west").accept_source_route);
    EXPECT_FALSE(again.interfaces.at("lan").send_redirects ||
                 again.interfaces.at("lan").accept_source_route);
    EXPECT_TRUE(again.interfaces.at("west").router_alert);
    EXPECT_FALSE(again.interfaces.at("lan").router_alert);
    EXPECT_EQ(again.interfaces.at("west").extra_macs.size(), 2U);
    EXPECT_EQ(again.interfaces.at("west").extra_macs[1].text(), "00:00:5e:00:02:0a");
    EXPECT_EQ(again.interfaces.at("east").urpf, state::reverse_path::off);
    EXPECT_EQ(again.interfaces.at("east.5").urpf, state::reverse_path::loose);
    EXPECT_EQ(again.interfaces.at("lan").urpf, state::reverse_path::strict);
}

TEST(yaml_writer, vrfs_come_back) {
    const state::configuration d = loaded(R"(vrfs: [{name: red, table: 10}, {name: blue}]
ports:
  - {name: west, device: net_ring0, vrf: red, addresses: [10.0.1.1/24]}
  - {name: east, device: net_ring1, addresses: [10.0.1.1/24]}
interfaces: [{port: east, vlan: 5, vrf: blue, addresses: [10.0.1.1/24]}]
routes:
  - {to: 10.9.0.0/16, via: 10.0.1.2}
  - {to: 10.9.0.0/16, via: 10.0.1.2, vrf: red}
  - {to: 10.9.0.0/16, type: blackhole, vrf: blue}
)");
    const state::configuration again = loaded(to_yaml(d));
    expect_same(d, again);
    EXPECT_EQ(again.vrfs.at("red").table, 10U);
    EXPECT_EQ(again.vrfs.at("blue").table, 1U);
    EXPECT_EQ(again.vrfs.at("red").routes.size(), 1U);
    EXPECT_EQ(again.interfaces.at("east.5").vrf, "blue");
}

/// A file gives its tables first, in any order of its VRFs.
TEST(vrf_tables, free_ones_follow_the_given_ones) {
    state::configuration d =
        loaded(R"(vrfs: [{name: a}, {name: b, table: 1}, {name: c}, {name: d, table: 3}]
ports: [{name: west, device: net_ring0, addresses: [10.0.1.1/24]}]
)");
    const auto table_of = [&](const char* name) { return d.vrfs.at(name).table; };
    EXPECT_EQ(table_of("a"), 2U);
    EXPECT_EQ(table_of("b"), 1U);
    EXPECT_EQ(table_of("c"), 4U);
    EXPECT_EQ(table_of("d"), 3U);
    ASSERT_TRUE(edit(d, R"([{"add": {"vrf": {"name": "e"}}}, {"replace": {"vrf": {"name": "c"}}},
        {"add": {"vrf": {"name": "f", "table": 7}}}])"));
    EXPECT_EQ(table_of("e"), 5U);
    EXPECT_EQ(table_of("c"), 4U) << "a VRF keeps its table";
    EXPECT_EQ(table_of("f"), 7U);
}

TEST(yaml_writer, shared_routes_come_back) {
    const state::configuration d = loaded(R"(ports:
  - {name: west, device: net_ring0, addresses: [10.0.1.1/24, "2001:db8:1::1/64"]}
  - {name: east, device: net_ring1, addresses: [10.0.2.1/24]}
routes:
  - lines: |
      10.11.0.0/16 nexthop via 10.0.2.2 weight 7 nexthop via 10.0.1.2
      10.13.0.0/16 nexthop via 10.9.9.9 dev west weight 2 onlink nexthop via 10.0.2.2 onlink
      10.14.0.0/16 via 10.9.9.9 dev east onlink
      10.15.0.0/16 dev east scope link
      10.16.0.0/16 via 192.0.2.1 recursive
      10.17.0.0/16 via 10.0.2.2 recursive
      10.18.0.0/16 nexthop via 192.0.2.2 weight 3 nexthop via 192.0.2.1 recursive
      10.19.0.0/16 via 10.0.2.2
      10.20.0.0/16 via 10.0.2.2 mtu 1400
      10.21.0.0/16 nexthop via 10.0.2.2 nexthop via 10.0.1.2 mtu lock 1300
      10.22.0.0/16 via 192.0.2.1 recursive mtu 1200
      prohibit 10.12.0.0/16
      default via inet6 fe80::2 dev west
ecmp: {hash: inner, seed: 5, vxlan_ports: [8472, 4789], use_neigh: both}
)");
    const state::configuration again = loaded(to_yaml(d));
    expect_same(d, again);
    const auto members = again.routes.find(*parse_prefix("10.13.0.0/16"))->members;
    EXPECT_FALSE(members[0].onlink) << "its network says the link";
    EXPECT_TRUE(members[1].onlink);
    EXPECT_TRUE(again.routes.find(*parse_prefix("10.14.0.0/16"))->members.front().onlink);
    EXPECT_EQ(*again.routes.find(*parse_prefix("10.15.0.0/16")), state::target_on_link("east"));
    EXPECT_EQ(*again.routes.find(*parse_prefix("10.16.0.0/16")),
              state::target_beyond(*parse_address("192.0.2.1")));
    EXPECT_EQ(*again.routes.find(*parse_prefix("10.17.0.0/16")),
              state::target_beyond(*parse_address("10.0.2.2")))
        << "not what the same gateway is on its link";
    EXPECT_EQ(again.routes.find(*parse_prefix("10.18.0.0/16"))->members[1].weight, 3U);
    EXPECT_TRUE(again.routes.find(*parse_prefix("10.18.0.0/16"))->recursive);
    EXPECT_EQ(*again.routes.find(*parse_prefix("10.19.0.0/16")),
              state::target_via(*parse_address("10.0.2.2"), "east"));
    EXPECT_EQ(again.routes.find(*parse_prefix("10.20.0.0/16"))->mtu, 1400);
    EXPECT_EQ(again.routes.find(*parse_prefix("10.21.0.0/16"))->mtu, 1300);
    EXPECT_EQ(again.routes.find(*parse_prefix("10.22.0.0/16"))->mtu, 1200);
    EXPECT_EQ(again.sharing.hash, packet::flow_fields::inner);
    EXPECT_EQ(again.sharing.seed, 5U);
    EXPECT_EQ(again.sharing.use_neigh, state::use_neigh::both);
    EXPECT_EQ(again.sharing.vxlan_ports, (std::vector<uint16_t>{8472, 4789}));
    EXPECT_EQ(again.routes.find(*parse_prefix("0.0.0.0/0"))->members.front().via,
              *parse_address("fe80::2"));
}

/// The written text includes the contents of other files.
TEST(yaml_writer, other_files_are_in_it) {
    const auto folder = std::filesystem::temp_directory_path() / "turnpike-writer-test";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "routes") << "10.9.0.0/16 via 10.0.1.2\nblackhole 10.10.0.0/16\n";
    std::ofstream(folder / "rules")
        << "@10.0.0.0/8 10.0.0.0/8 0 : 65535 80 : 80 0x06/0xFF 0x0000/0x0200\n";
    std::ofstream(folder / "mine.yaml") << "profiles: []\n";
    std::ofstream(folder / "c.yaml")
        << "ports: [{name: a, device: net_ring0, addresses: [10.0.1.1/24]}]\n"
           "pcie_profiles: mine.yaml\n"
           "acl: [{name: l, rules: [{action: deny, file: rules}]}]\nroutes: {file: routes}\n";
    const auto d = load(folder / "c.yaml");
    ASSERT_TRUE(d) << d.error().message();
    const std::string text = to_yaml(*d);
    EXPECT_EQ(text.find("file:"), std::string::npos) << text;
    expect_same(*d, loaded(text));
    std::filesystem::remove_all(folder);
}

TEST(yaml_writer, any_text_is_quoted) {
    state::configuration d =
        loaded("ports: [{name: a, device: net_ring0, addresses: [10.0.1.1/24]}]");
    d.fixed.eal_options.args = {
        "plain",       "",          "two words", "it's",       "say \"so\"", "both ' and \"",
        "back\\slash", "tab\there", "ä: {}",     "#no comment"};
    d.ports.find("a")->device = "net_x,arg=\"a\" \\ # {: \x7f";
    expect_same(d, loaded(to_yaml(d)));
}

struct edit_row {
    std::string name, edits;
    std::string as_if_before, as_if_after;  ///< the result of the edits, as text of the file
};

class edited : public ::testing::TestWithParam<edit_row> {};

TEST_P(edited, is_as_if_the_file_said_so) {
    const edit_row& r = GetParam();
    state::configuration d = loaded(whole_file);
    const auto done = edit(d, r.edits);
    ASSERT_TRUE(done) << done.error().message();
    const std::string text = replaced(whole_file, r.as_if_before, r.as_if_after);
    expect_same(d, loaded(text));
    expect_same(d, loaded(to_yaml(d)));
}

const std::string new_route = R"({"route": {"to": "10.7.0.0/16", "via": "10.0.2.3"}})";

INSTANTIATE_TEST_SUITE_P(
    all, edited,
    ::testing::Values(
        edit_row{"add a route", R"([{"add": )" + new_route + "}]", "  - lines: |\n",
                 "  - lines: |\n      10.7.0.0/16 via 10.0.2.3\n"},
        edit_row{"replace what is not there", R"([{"replace": )" + new_route + "}]",
                 "  - lines: |\n", "  - lines: |\n      10.7.0.0/16 via 10.0.2.3\n"},
        edit_row{"replace a route",
                 R"([{"replace": {"route": {"to": "10.9.0.0/16", "type": "unreachable"}}}])",
                 "{to: 10.9.0.0/16, via: 10.0.2.2}", "{to: 10.9.0.0/16, type: unreachable}"},
        edit_row{"del a route", R"([{"del": {"route": {"to": "192.0.2.0/24"}}}])",
                 "  - {to: 192.0.2.0/24, type: blackhole}\n", ""},
        edit_row{"one after the other",
                 R"([{"del": {"route": {"to": "192.0.2.0/24"}}},
                     {"add": {"route": {"to": "192.0.2.0/24", "via": "10.0.2.2"}}}])",
                 "{to: 192.0.2.0/24, type: blackhole}", "{to: 192.0.2.0/24, via: 10.0.2.2}"},
        edit_row{"add a neighbour",
                 R"([{"add": {"neighbour": {"address": "10.0.1.7", "mac": "02:00:00:00:00:07"}}}])",
                 "  static:\n",
                 "  static:\n    - {address: 10.0.1.7, mac: \"02:00:00:00:00:07\"}\n"},
        edit_row{
            "replace a neighbour",
            R"([{"replace": {"neighbour": {"address": "10.0.2.9", "mac": "02:00:00:00:00:07"}}}])",
            "02:00:00:00:00:01", "02:00:00:00:00:07"},
        edit_row{"del a neighbour",
                 R"([{"del": {"neighbour": {"address": "fe80::9", "port": "west"}}}])",
                 "    - {address: \"fe80::9\", port: west, mac: \"02:00:00:00:00:02\"}\n", ""},
        edit_row{"add an address",
                 R"([{"add": {"address": {"port": "west", "address": "10.0.4.1/24"}}}])",
                 "\"2001:db8:1::1/64\"]", "\"2001:db8:1::1/64\", 10.0.4.1/24]"},
        edit_row{"del an address",
                 R"([{"del": {"address": {"port": "west", "address": "10.0.1.1/24"}}}])",
                 "[10.0.1.1/24, ", "["},
        edit_row{"replace all addresses",
                 R"([{"replace": {"address": {"port": "west", "addresses": ["10.0.1.7/24"]}}},
                     {"del": {"neighbour": {"address": "fe80::9", "port": "west"}}},
                     {"add": {"neighbour": {"address": "fe80::9", "port": "west", "mac": "02:00:00:00:00:02"}}}])",
                 "[10.0.1.1/24, \"2001:db8:1::1/64\"]", "[10.0.1.7/24]"},
        edit_row{"a port's mtu stays apart from the rest",
                 R"([{"replace": {"port": {"name": "west", "mtu": 1300}}}])", "mtu: 1400",
                 "mtu: 1300"},
        edit_row{
            "a port's lists",
            R"([{"replace": {"port": {"name": "west", "acl": {"in": null, "out": "in-list"}}}}])",
            "{in: in-list, out: bare}", "{out: in-list}"},
        edit_row{
            "add a port",
            R"([{"add": {"port": {"name": "new", "device": "net_ring7", "addresses": ["10.0.5.1/24"]}}}])",
            "xconnects:",
            "  - {name: new, device: net_ring7, addresses: [10.0.5.1/24]}\nxconnects:"},
        edit_row{
            "del a port and what leads there",
            R"([{"del": {"route": {"to": "10.9.0.0/16"}}}, {"del": {"route": {"to": "10.8.0.0/16"}}},
                     {"del": {"route": {"to": "2001:db8:9::/48"}}},
                     {"del": {"neighbour": {"address": "10.0.2.9"}}},
                     {"add": {"route": {"to": "10.9.0.0/16", "via": "10.0.1.2"}}},
                     {"add": {"route": {"to": "10.8.0.0/16", "via": "10.0.1.2"}}},
                     {"del": {"port": {"name": "east"}}}])",
            whole_file,
            [] {
                std::string s = replaced(
                    whole_file,
                    "  - {name: east, device: net_ring1, addresses: [10.0.2.1/24, 10.0.3.1/30]}\n",
                    "");
                s = replaced(s, "via: 10.0.2.2", "via: 10.0.1.2");
                s = replaced(s, "  - {to: \"2001:db8:9::/48\", via: \"fe80::2\", port: east}\n",
                             "");
                s = replaced(s, "via 10.0.3.2 dev east", "via 10.0.1.2");
                return replaced(s, "    - {address: 10.0.2.9, mac: \"02:00:00:00:00:01\"}\n", "");
            }()},
        edit_row{"a patch becomes two routed ports",
                 R"([{"del": {"patch": ["one", "other"]}},
                     {"add": {"address": {"port": "one", "address": "10.1.1.1/24"}}},
                     {"add": {"address": {"port": "other", "address": "10.1.2.1/24"}}}])",
                 whole_file,
                 [] {
                     std::string s = replaced(whole_file, "xconnects: [[other, one]]\n", "");
                     s = replaced(s, "device: net_ring2}",
                                  "device: net_ring2, addresses: [10.1.1.1/24]}");
                     return replaced(s, "device: net_ring3, ",
                                     "device: net_ring3, addresses: [10.1.2.1/24], ");
                 }()},
        edit_row{"a list's default",
                 R"([{"replace": {"acl": {"name": "in-list", "default": "permit"}}}])",
                 "  - name: in-list\n", "  - name: in-list\n    default: permit\n"},
        edit_row{
            "a list's rules",
            R"([{"replace": {"acl": {"name": "bare", "rules": [{"action": "deny", "name": "x"}]}}}])",
            "memory_mb: 3, rules: []", "memory_mb: 3, rules: [{action: deny, name: x}]"},
        edit_row{"add a list",
                 R"([{"add": {"acl": {"name": "third", "rules": [{"action": "permit"}]}}}])",
                 "  - {name: bare",
                 "  - {name: third, rules: [{action: permit}]}\n  - {name: bare"},
        edit_row{
            "a rule at the end",
            R"([{"add": {"rule": {"list": "in-list", "rule": {"action": "count", "name": "more"}}}}])",
            "  - {name: bare", "      - {action: count, name: more}\n  - {name: bare"},
        edit_row{
            "a rule in its place",
            R"([{"add": {"rule": {"list": "in-list", "at": 2, "rule": {"action": "deny", "dscp": 3}}}}])",
            "      - {action: permit, name: \"null\"",
            "      - {action: deny, dscp: 3}\n      - {action: permit, name: \"null\""},
        edit_row{
            "another rule of that name",
            R"([{"replace": {"rule": {"list": "in-list", "name": "all", "rule": {"action": "count", "name": "all", "dscp": 3}}}}])",
            "{action: count, name: all}", "{action: count, name: all, dscp: 3}"},
        edit_row{"del a rule by place", R"([{"del": {"rule": {"list": "in-list", "at": 1}}}])",
                 "      - {action: count, name: all}\n", ""},
        edit_row{"del a rule by name", R"([{"del": {"rule": {"list": "in-list", "name": "all"}}}])",
                 "      - {action: count, name: all}\n", ""},
        edit_row{
            "settings",
            R"([{"set": {"tx": {"drain_us": 9}}}, {"set": {"idle": {"sleep_us": 9}}}, {"set": {"icmp": {"rate": 8}}},
                     {"set": {"neighbours": {"max_entries": 200}}}])",
            whole_file,
            replaced(replaced(replaced(replaced(whole_file, "drain_us: 7", "drain_us: 9"),
                                       "sleep_us: 7", "sleep_us: 9"),
                              "rate: 7", "rate: 8"),
                     "max_entries: 100", "max_entries: 200")},
        edit_row{"a host, a default and a zone",
                 R"([{"add": {"route": {"to": "10.6.1.1", "via": "10.0.2.2"}}},
                     {"add": {"route": {"to": "default", "via": "10.0.2.2"}}},
                     {"add": {"route": {"to": "default", "via": ["fe80::2%east", "fe80::3%west"]}}}])",
                 "  - lines: |\n",
                 "  - {to: 10.6.1.1/32, via: 10.0.2.2}\n  - {to: 0.0.0.0/0, via: 10.0.2.2}\n"
                 "  - {to: \"::/0\", via: [{via: \"fe80::2\", port: east}, {via: \"fe80::3\", "
                 "port: west}]}\n"
                 "  - lines: |\n"},
        edit_row{"a key of a port", R"([{"set": {"port": {"name": "west", "mtu": "9000"}}}])",
                 "mtu: 1400", "mtu: 9000"},
        edit_row{
            "keys in a map of a port",
            R"([{"set": {"port": {"name": "west", "pcie": {"mps": 512}, "acl": {"in": null}}}}])",
            whole_file,
            replaced(replaced(whole_file, "mps: 256", "mps: 512"), "{in: in-list, out: bare}",
                     "{out: bare}")},
        edit_row{
            "keys of a port's interface",
            R"([{"set": {"interface": {"name": "east", "urpf": "strict", "extra_macs": ["02:00:00:00:00:01"]}}}])",
            "east, device: net_ring1,",
            "east, device: net_ring1, urpf: strict, extra_macs: [\"02:00:00:00:00:01\"],"},
        edit_row{
            "defaults",
            R"([{"unset": {"port": {"name": "west", "keys": ["mtu", "pcie.mps", "acl.in"]}}}])",
            whole_file,
            replaced(replaced(replaced(whole_file, "mtu: 1400", "mtu: 1500"), "mps: 256, ", ""),
                     "{in: in-list, out: bare}", "{out: bare}")},
        edit_row{"a default of an interface",
                 R"([{"unset": {"interface": {"name": "other", "keys": ["acl.out"]}}}])",
                 "device, acl: {out: bare}}", "device}"},
        edit_row{"settings outside of maps", R"([{"set": {"drop_bogons": "true"}}])",
                 "icmp: {rate: 7}", "icmp: {rate: 7}\ndrop_bogons: true"},
        edit_row{
            "defaults of settings",
            R"([{"unset": {"settings": {"keys": ["icmp.rate", "neighbours.attempts"]}}}])",
            whole_file,
            replaced(replaced(whole_file, "icmp: {rate: 7}\n", ""), "attempts: 2", "attempts: 3")},
        edit_row{"nothing", "[]", "rate: 7", "rate: 7"}),
    test_name_of<edit_row>);

/// A VLAN or the routing interface of a bridge without addresses could be written, but not read.
TEST(edits, an_interface_keeps_an_address) {
    const state::configuration before = loaded(R"(ports:
  - {name: a, device: net_ring0}
  - {name: b, device: net_ring1}
interfaces: [{port: b, vlan: 5, addresses: [10.0.3.1/24]}]
bridges: [{name: lan, members: [{port: a}], addresses: [10.0.4.1/24]}]
)");
    for (const std::string name : {"b.5", "lan"}) {
        const std::string address = name == "lan" ? "10.0.4.1/24" : "10.0.3.1/24";
        for (const std::string& request :
             {R"([{"unset": {"interface": {"name": ")" + name + R"(", "keys": ["addresses"]}}}])",
              R"([{"del": {"address": {"port": ")" + name + R"(", "address": ")" + address +
                  R"("}}}])"}) {
            state::configuration d = before;
            const auto done = edit(d, request);
            ASSERT_FALSE(done) << request << to_yaml(d);
            EXPECT_NE(done.error().text.find("port '" + name + "' has no addresses"),
                      std::string::npos)
                << done.error().message();
        }
    }
}

constexpr const char* bridged_file = R"(ports:
  - {name: a, device: net_ring0}
  - {name: b, device: net_ring1}
bridges:
  - name: lan
    members: [{port: a, mode: native-untagged, vlan: 10, trunks: [20-29]}, {port: b, mode: trunk}]
)";

/// As in a file: the native VLAN of before is no trunk.
TEST(edits, a_native_vlan_leaves_no_trunk_behind) {
    state::configuration d = loaded(bridged_file);
    ASSERT_TRUE(edit(d, R"([{"set": {"member": {"bridge": "lan", "port": "a", "vlan": 11}}}])"));
    expect_same(d, loaded(replaced(bridged_file, "vlan: 10", "vlan: 11")));
    const state::vlan_set tagged = d.bridges.find("lan")->member("a")->tagged_vlans();
    EXPECT_FALSE(tagged.test(10));
    EXPECT_TRUE(tagged.test(11) && tagged.test(20));
    EXPECT_NE(to_yaml(d).find("trunks: [20-29]"), std::string::npos) << to_yaml(d);
}

/// A bridge is routed, and is not, one key at a time.
TEST(edits, a_bridge_gets_addresses_later) {
    const char* const file =
        "ports:\n  - {name: a, device: net_ring0}\nbridges:\n  - name: lan\n    members: [a]\n";
    state::configuration d = loaded(file);
    ASSERT_TRUE(edit(d, R"([{"set": {"bridge": {"name": "lan", "addresses": ["10.0.3.1/24"]}}}])"));
    expect_same(d, loaded(std::string(file) + "    addresses: [10.0.3.1/24]\n"));
    ASSERT_TRUE(edit(d, R"([{"unset": {"bridge": {"name": "lan", "keys": ["addresses"]}}}])"));
    expect_same(d, loaded(file));
    const auto alone = edit(d, R"([{"set": {"bridge": {"name": "lan", "urpf": "strict"}}}])");
    ASSERT_FALSE(alone);
    EXPECT_EQ(alone.error().message(),
              "socket:1: do[0].set.bridge.urpf needs addresses of the bridge");
}

/// Other keys of its routed interface are not lost between two edits: an access list above all.
TEST(edits, a_bridge_is_renumbered_with_its_list) {
    const std::string file =
        "acl:\n  - {name: l, rules: [{action: permit}]}\n"
        "ports:\n  - {name: a, device: net_ring0}\nbridges:\n  - name: lan\n    members: [a]\n"
        "    addresses: [10.0.3.1/24]\n    acl: {in: l}\n    urpf: strict\n";
    const char* const set = R"({"set": {"bridge": {"name": "lan", "addresses": ["10.0.4.1/24"]}}})";
    const char* const unset = R"({"unset": {"bridge": {"name": "lan", "keys": ["addresses"]}}})";
    state::configuration d = loaded(file);
    ASSERT_TRUE(edit(d, "[" + std::string(unset) + "," + set + "]"));
    expect_same(d, loaded(replaced(file, "10.0.3.1", "10.0.4.1")));
    d = loaded(file);
    const auto alone = edit(d, "[" + std::string(unset) + "]");
    ASSERT_FALSE(alone) << "the list would be lost";
    EXPECT_NE(alone.error().text.find("has no addresses"), std::string::npos) << alone.error().text;
    // An edit in between that says nothing of addresses.
    const std::string plain =
        replaced(replaced(file, "    acl: {in: l}\n", ""), "    urpf: strict\n", "");
    d = loaded(plain);
    ASSERT_TRUE(edit(d, R"([{"del": {"address": {"port": "lan", "address": "10.0.3.1/24"}}},
        {"set": {"bridge": {"name": "lan", "ageing_s": 600}}},
        {"add": {"address": {"port": "lan", "address": "10.0.4.1/24"}}}])"));
    expect_same(d, loaded(replaced(plain, "10.0.3.1", "10.0.4.1") + "    ageing_s: 600\n"));
}

TEST(edits, a_vlan_of_a_bridge_gets_an_interface_later) {
    state::configuration d = loaded(bridged_file);
    const std::string add =
        R"([{"add": {"interface": {"port": "lan", "vlan": 20, "addresses": ["10.0.4.1/24"]}}}])";
    ASSERT_TRUE(edit(d, add));
    expect_same(d, loaded(std::string(bridged_file) +
                          "    interfaces: [{vlan: 20, addresses: [10.0.4.1/24]}]\n"));
    EXPECT_EQ(edit(d, add).error().code, EEXIST);
    ASSERT_TRUE(loaded(bridged_file).interfaces.find("lan.20") == nullptr);
    d = loaded(std::string(bridged_file) +
               "    interfaces: [{vlan: 20, addresses: [10.0.4.1/24]}]\n");
    ASSERT_TRUE(edit(d, R"([{"del": {"interface": {"port": "lan", "vlan": 20}}}])"));
    expect_same(d, loaded(bridged_file));
}

struct refusal_row {
    std::string name, edits, message_begins;
    int code = EINVAL;
};

class edits_refused : public ::testing::TestWithParam<refusal_row> {};

TEST_P(edits_refused, where_and_why) {
    state::configuration d = loaded(whole_file);
    const auto done = edit(d, GetParam().edits);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, GetParam().code) << done.error().message();
    EXPECT_EQ(done.error().message().substr(0, GetParam().message_begins.size()),
              GetParam().message_begins);
}

INSTANTIATE_TEST_SUITE_P(
    all, edits_refused,
    ::testing::Values(
        refusal_row{"no list", "{}", "socket:1: do should be a list of changes"},
        refusal_row{"no map", "[1]", "socket:1: do[0] should be a map"},
        refusal_row{"no verb", "[{}]",
                    "socket:1: do[0] should have one of add, replace, del, set and unset"},
        refusal_row{"two verbs", R"([{"add": {}, "del": {}}])",
                    "socket:1: do[0] should have one of"},
        refusal_row{"unknown verb", R"([{"make": {}}])", "socket:1: do[0] has no key 'make'"},
        refusal_row{"unknown object", R"([{"add": {"rout": {}}}])",
                    "socket:1: do[0].add has no key 'rout'; it takes route, neighbour"},
        refusal_row{"two objects", R"([{"add": {"route": {}, "port": {}}}])",
                    "socket:1: do[0].add should have one object"},
        refusal_row{"an object that is no map", R"([{"add": {"route": 7}}])",
                    "socket:1: do[0].add.route should be a map"},
        refusal_row{"a mistyped key", R"([{"set": {"port": {"name": "west", "mut": 1}}}])",
                    "socket:1: do[0].set.port has no key 'mut'; it takes name, device"},
        refusal_row{"a value of a key", R"([{"set": {"port": {"name": "west", "mtu": 67}}}])",
                    "socket:1: do[0].set.port.mtu should be a whole number from 68 to 65517"},
        refusal_row{"a mistyped name", R"([{"set": {"port": {"name": "wset", "mtu": 1}}}])",
                    "socket:1: do[0].set.port.name names 'wset', which is not a port; did you mean "
                    "'west'?"},
        refusal_row{"a port's key of an interface",
                    R"([{"set": {"interface": {"name": "west", "mtu": 1}}}])",
                    "socket:1: do[0].set.interface.mtu is a key of the port"},
        refusal_row{"no interface",
                    R"([{"set": {"interface": {"name": "west.7", "urpf": "off"}}}])",
                    "socket:1: do[0].set.interface.name names 'west.7', which is not an interface"},
        refusal_row{"two objects to set",
                    R"([{"set": {"port": {"name": "west", "mtu": 1400}, "tx": {"drain_us": 1}}}])",
                    "socket:1: do[0].set should have one object"},
        refusal_row{"no default", R"([{"unset": {"port": {"name": "west", "keys": ["device"]}}}])",
                    "socket:1: do[0].unset.port.keys[0] names 'device', which has no default"},
        refusal_row{"a mistyped key to unset",
                    R"([{"unset": {"interface": {"name": "west", "keys": ["acl.inn"]}}}])",
                    "socket:1: do[0].unset.interface.keys[0] is 'acl.inn', which is no key of "
                    "'west'; keys are addresses, vrf"},
        refusal_row{"addresses that routes need",
                    R"([{"unset": {"interface": {"name": "east", "keys": ["addresses"]}}}])",
                    "socket:1: port 'east' has no addresses and is in no patch"},
        refusal_row{"a setting to unset by its map",
                    R"([{"unset": {"tx": {"keys": ["drain_us"]}}}])",
                    "socket:1: do[0].unset has no key 'tx'; it takes port, interface, bridge, "
                    "member, tunnel, mirror, vrf, neighbour, settings"},
        refusal_row{"no setting", R"([{"unset": {"settings": {"keys": ["tx.drain"]}}}])",
                    "socket:1: do[0].unset.settings.keys[0] is 'tx.drain', which is no key of the "
                    "settings; keys are eal.args, eal.hugepages, workers"},
        refusal_row{"a route that is there",
                    R"([{"add": {"route": {"to": "10.9.0.0/16", "via": "10.0.2.2"}}}])",
                    "socket:1: the route to 10.9.0.0/16 is there already", EEXIST},
        refusal_row{"a route that is not", R"([{"del": {"route": {"to": "10.99.0.0/16"}}}])",
                    "socket:1: the route to 10.99.0.0/16 is not configured (a learned one is "
                    "deleted at its origin)",
                    ENOENT},
        refusal_row{"a route's via",
                    R"([{"add": {"route": {"to": "10.7.0.0/16", "via": "10.99.0.1"}}}])",
                    "socket:1: do[0].add.route.via is 10.99.0.1, which is on no port's network"},
        refusal_row{"the second of two",
                    R"([{"add": )" + new_route + R"(}, {"add": )" + new_route + "}]",
                    "socket:1: the route to 10.7.0.0/16 is there already", EEXIST},
        refusal_row{"an address that a route needs",
                    R"([{"del": {"address": {"port": "east", "address": "10.0.3.1/30"}}}])",
                    "f.yaml: routes: 10.8.0.0/16 cannot be: its via is 10.0.3.2, which is on no "
                    "port's network"},
        refusal_row{
            "an address that a static neighbour needs",
            R"([{"replace": {"address": {"port": "east", "addresses": ["10.0.2.1/29", "10.0.3.1/30"]}}}])",
            "f.yaml:53: neighbours.static: the address is 10.0.2.9, which is on no port's network"},
        refusal_row{"an address that a route is to",
                    R"([{"add": {"address": {"port": "west", "address": "10.9.0.1/16"}}}])",
                    "f.yaml: routes: 10.9.0.0/16 is there twice"},
        refusal_row{"an address of a patched port",
                    R"([{"add": {"address": {"port": "one", "address": "10.1.1.1/24"}}}])",
                    "socket:1: port 'one' has addresses and is in a patch"},
        refusal_row{"the last address",
                    R"([{"del": {"address": {"port": "west", "address": "10.0.1.1/24"}}},
                     {"del": {"address": {"port": "west", "address": "2001:db8:1::1/64"}}}])",
                    "socket:2: port 'west' has no addresses and is in no patch"},
        refusal_row{"an address that is there twice",
                    R"([{"add": {"address": {"port": "west", "address": "10.0.2.1/24"}}}])",
                    "f.yaml:37: port 'east' has 10.0.2.1, which port 'west' has already"},
        refusal_row{"an address that is not there",
                    R"([{"del": {"address": {"port": "west", "address": "10.0.1.2/24"}}}])",
                    "socket:1: the address 10.0.1.2/24 of port 'west' is not there", ENOENT},
        refusal_row{"a port that is not there",
                    R"([{"replace": {"port": {"name": "nort", "mtu": 1500}}}])",
                    "socket:1: do[0].replace.port.name names 'nort', which is not a port"},
        refusal_row{"a port that is",
                    R"([{"add": {"port": {"name": "west", "device": "net_ring9"}}}])",
                    "socket:1: port 'west' is there already", EEXIST},
        refusal_row{"a port with nothing to do",
                    R"([{"add": {"port": {"name": "new", "device": "net_ring9"}}}])",
                    "socket:1: port 'new' has no addresses and is in no patch"},
        refusal_row{
            "a device that is another port's",
            R"([{"add": {"port": {"name": "new", "device": "net_ring1", "addresses": ["10.0.5.1/24"]}}}])",
            "socket:1: port 'new' has the device 'net_ring1', which port 'east' has already"},
        refusal_row{"a port in a patch", R"([{"del": {"port": {"name": "one"}}}])",
                    "socket:1: port 'one' is in a patch with 'other'; del that first", EBUSY},
        refusal_row{"a port that routes need", R"([{"del": {"neighbour": {"address": "10.0.2.9"}}},
                     {"del": {"port": {"name": "east"}}}])",
                    "f.yaml: routes: 10.8.0.0/16 cannot be: its via is 10.0.3.2"},
        refusal_row{
            "an mtu that IPv6 forbids", R"([{"replace": {"port": {"name": "west", "mtu": 1000}}}])",
            "socket:1: port 'west' has an mtu of 1000; with IPv6 it should be at least 1280"},
        refusal_row{"an mtu that its patch forbids",
                    R"([{"replace": {"port": {"name": "one", "mtu": 1000}}}])",
                    "socket:1: the patch of 'one' (mtu 1000) and 'other' (mtu 1500)"},
        refusal_row{"a patch that is not", R"([{"del": {"patch": ["west", "east"]}}])",
                    "socket:1: the patch of 'west' and 'east' is not there", ENOENT},
        refusal_row{"a patch of one", R"([{"add": {"patch": ["west"]}}])",
                    "socket:1: do[0].add.patch should name two ports"},
        refusal_row{"a list that is bound", R"([{"del": {"acl": {"name": "bare"}}}])",
                    "socket:1: access list 'bare' is bound to port 'west'", EBUSY},
        refusal_row{"a list that is there", R"([{"add": {"acl": {"name": "bare", "rules": []}}}])",
                    "socket:1: access list 'bare' is there already", EEXIST},
        refusal_row{"a rule's place",
                    R"([{"add": {"rule": {"list": "bare", "at": 2, "rule": {"action": "deny"}}}}])",
                    "socket:1: do[0].add.rule.at should be a whole number from 1 to 1, not '2'"},
        refusal_row{
            "a rule's name again",
            R"([{"add": {"rule": {"list": "in-list", "rule": {"action": "deny", "name": "all"}}}}])",
            "socket:1: do[0].add.rule.rule.name is 'all' again"},
        refusal_row{"a rule of no such name",
                    R"([{"del": {"rule": {"list": "in-list", "name": "nil"}}}])",
                    "socket:1: do[0].del.rule.name names 'nil', which is not a rule"},
        refusal_row{"a rule without place and name", R"([{"del": {"rule": {"list": "in-list"}}}])",
                    "socket:1: do[0].del.rule should have \"at\", from 1, or the rule's"},
        refusal_row{"a list of the name of a word",
                    R"([{"add": {"acl": {"name": "none", "rules": []}}}])",
                    "socket:1: do[0].add.acl.name is 'none', a word of commands"},
        refusal_row{"a port of the name of a word",
                    R"([{"add": {"port": {"name": "any", "device": "d9"}}}])",
                    "socket:1: do[0].add.port.name is 'any', a word of commands"},
        refusal_row{"a rule of a list without any",
                    R"([{"del": {"rule": {"list": "bare", "at": 1}}}])",
                    "socket:1: do[0].del.rule.at names a rule of a list that has none"},
        refusal_row{"a sleep too long", R"([{"set": {"idle": {"sleep_us": 10001}}}])",
                    "socket:1: do[0].set.idle.sleep_us should be a whole number from 0 to 10000, "
                    "not '10001'"},
        refusal_row{"VXLAN's ports, too many",
                    R"([{"set": {"ecmp": {"vxlan_ports": [1, 2, 3, 4, 5]}}}])",
                    "socket:1: do[0].set.ecmp.vxlan_ports names 5 UDP ports; at most 4 are "
                    "possible"},
        refusal_row{
            "VXLAN's ports, none", R"([{"set": {"ecmp": {"vxlan_ports": []}}}])",
            "socket:1: do[0].set.ecmp.vxlan_ports is empty; without the key, UDP port 4789"},
        refusal_row{"VXLAN's port, twice", R"([{"set": {"ecmp": {"vxlan_ports": [7, 7]}}}])",
                    "socket:1: do[0].set.ecmp.vxlan_ports[1] names 7 twice"},
        refusal_row{
            "VXLAN's port, none", R"([{"set": {"ecmp": {"vxlan_ports": [0]}}}])",
            "socket:1: do[0].set.ecmp.vxlan_ports[0] should be a whole number from 1 to 65535"},
        refusal_row{"a setting's bounds", R"([{"set": {"tx": {"drain_us": -1}}}])",
                    "socket:1: do[0].set.tx.drain_us should be a whole number"},
        refusal_row{"static neighbours as a setting",
                    R"([{"set": {"neighbours": {"static": []}}}])",
                    "socket:1: do[0].set.neighbours.static is not a setting"},
        refusal_row{"an unknown setting", R"([{"set": {"aal": {}}}])",
                    "socket:1: do[0].set has no key 'aal'"},
        refusal_row{"no JSON and no YAML", "[", "socket:1: "}),
    test_name_of<refusal_row>);

}  // namespace
}  // namespace turnpike::sources
