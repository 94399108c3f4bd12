// SPDX-License-Identifier: BSD-3-Clause
// The router's part of the configuration: addresses, routes, limits, and the error of each invalid
// one.
#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "complaints.hpp"
#include "route_targets.hpp"
#include "sources/route_file.hpp"

namespace turnpike::sources {
namespace {

constexpr const char* whole_router = R"(ports:
  - {name: west, device: net_ring0, mtu: 1500, addresses: [10.0.1.1/24, "2001:db8:1::1/64"]}
  - {name: east, device: net_ring1, addresses: [10.0.2.1/24, 10.0.3.1/30, "2001:db8:2::1/64"]}
routes:
  - {to: 10.9.0.0/16, via: 10.0.2.2}
  - {to: "::/0", via: "fe80::2", port: east}
  - {to: 192.0.2.0/24, type: blackhole}
  - {to: "2001:db8:bad::/48", type: unreachable}
icmp: {rate: 7}
neighbours: {max_entries: 100, queue_len: 3, reachable_ms: 1000, retransmit_ms: 50, attempts: 2, negative_ms: 200,
             gc_stale_ms: 5000}
)";

std::string router_with(const std::string& before, const std::string& after) {
    return replaced(whole_router, before, after);
}

TEST(routes, a_whole_file) {
    const auto m = load_text(whole_router, "f.yaml");
    ASSERT_TRUE(m) << m.error().message();
    ASSERT_EQ(m->ports.size(), 2U);
    EXPECT_EQ(m->interfaces.at("west").kind, state::interface_kind::routed);
    EXPECT_EQ(m->interfaces.at("west").addresses[1].text(), "2001:db8:1::1/64");
    EXPECT_EQ(m->interfaces.at("east").addresses.size(), 3U);
    ASSERT_EQ(m->routes.size(), 4U);
    const auto target = [&](const char* to) { return *m->routes.find(*parse_prefix(to)); };
    EXPECT_EQ(target("10.9.0.0/16"), state::target_via(*parse_address("10.0.2.2"), "east"));
    EXPECT_EQ(target("::/0"), state::target_via(*parse_address("fe80::2"), "east"));
    EXPECT_EQ(target("192.0.2.0/24").type, state::route_type::blackhole);
    EXPECT_EQ(target("2001:db8:bad::/48").type, state::route_type::unreachable);
    EXPECT_EQ(m->messages.rate, 7U);
    EXPECT_EQ(m->limits.limit, 100U);
    EXPECT_EQ(m->limits.queue_len, 3U);
    EXPECT_EQ(m->limits.reachable_ms, 1000U);
    EXPECT_EQ(m->limits.retransmit_ms, 50U);
    EXPECT_EQ(m->limits.attempts, 2U);
    EXPECT_EQ(m->limits.negative_ms, 200U);
    EXPECT_EQ(m->limits.gc_stale_ms, 5000U);
}

TEST(routes, lines_as_ip_route_prints_them) {
    const auto m = load_text(replaced(whole_router, "icmp: {rate: 7}",
                                      "  - lines: |\n"
                                      "      10.31.0.0/16 proto static metric 20 \n"
                                      "      \tnexthop via 10.0.2.2 dev east weight 1 \n"
                                      "      \tnexthop via 10.0.2.3 dev east weight 2 \n"
                                      "      10.32.0.0/16 via 10.0.2.2 dev east\n"
                                      "      default proto bgp\n"
                                      "      \tnexthop via 10.0.2.2 dev east weight 1\n"
                                      "      \tnexthop via 10.0.2.3 dev east weight 1\n"),
                             "f.yaml");
    ASSERT_TRUE(m) << m.error().message();
    EXPECT_EQ(m->routes.find(*parse_prefix("10.31.0.0/16"))->members.size(), 2U);
    EXPECT_EQ(m->routes.find(*parse_prefix("10.31.0.0/16"))->members[1].weight, 2U);
    EXPECT_EQ(m->routes.find(*parse_prefix("10.32.0.0/16"))->members.size(), 1U);
    EXPECT_EQ(m->routes.find(*parse_prefix("0.0.0.0/0"))->members.size(), 2U);
}

/// The output of `ip route`, with connected networks; of `ip -d route`; of `ip -o route` and `ip -6 -o route`.
TEST(routes, the_output_of_ip_is_read_as_it_is) {
    const auto m = load_text(replaced(whole_router, "icmp: {rate: 7}", R"(  - lines: |
      10.0.2.0/24 dev east proto kernel scope link src 10.0.2.1
      10.0.77.0/24 dev docker0 proto kernel scope link src 10.0.77.1 linkdown rt_offload_failed
      default via 10.0.2.2 dev east proto static metric 20
      unicast 10.31.0.0/16 nhid 9 via 10.0.2.2 dev east proto static scope global
      	nh_info id 9 group 7 scope global proto unspec
      unicast 10.32.0.0/16 proto boot scope global
      	nexthop via 10.0.2.2 dev east weight 2 linkdown
      	nexthop via 10.0.2.3 dev east weight 1
      10.33.0.0/16 \	nexthop via 10.0.2.2 dev east weight 2 linkdown \	nexthop via 10.0.2.3 dev east weight 1
      2001:db8:9::/48 metric 1024 pref medium\	nexthop via fe80::2 dev east weight 1 \	nexthop via fe80::3 dev east weight 3
      fe80::/64 dev east proto kernel metric 256 pref medium
      unreachable 2001:db8:77::/48 dev lo metric 1024 error 4294967183 pref medium
icmp: {rate: 7})"),
                             "f.yaml");
    ASSERT_TRUE(m) << m.error().message();
    EXPECT_FALSE(m->routes.find(*parse_prefix("10.0.2.0/24")));
    const auto members = [&](const char* to) {
        return m->routes.find(*parse_prefix(to))->members.size();
    };
    EXPECT_EQ(members("0.0.0.0/0"), 1U);
    EXPECT_EQ(members("10.31.0.0/16"), 1U);
    for (const char* to : {"10.32.0.0/16", "10.33.0.0/16", "2001:db8:9::/48"})
        EXPECT_EQ(members(to), 2U) << to;
    EXPECT_EQ(m->routes.find(*parse_prefix("2001:db8:77::/48"))->type,
              state::route_type::unreachable);
}

/// `ip -6 route` prints defaults without a gateway like `ip route`, but with a preference.
TEST(routes, a_default_of_ipv6_is_not_one_of_ipv4) {
    for (const char* line : {"unreachable default dev lo metric 4278198272 error -101 pref medium",
                             "blackhole default dev lo metric 1024 pref medium"}) {
        const auto route = parse_route_line(line);
        ASSERT_TRUE(route) << route.error().text;
        EXPECT_EQ(route->to.text(), "::/0") << line;
    }
    const auto four = parse_route_line("blackhole default");
    ASSERT_TRUE(four);
    EXPECT_EQ(four->to.text(), "0.0.0.0/0");
    EXPECT_EQ(parse_route_line("default via inet6 fe80::2 dev east metric 5")->to.text(),
              "0.0.0.0/0");
    EXPECT_EQ(parse_route_line("default via fe80::2 dev east pref medium")->to.text(), "::/0");
    EXPECT_EQ(parse_route_line("unreachable default dev lo metric 4278198272")->to.text(), "::/0");
    EXPECT_EQ(parse_route_line("-6 blackhole default")->to.text(), "::/0");
    EXPECT_EQ(parse_route_line("-4 default dev east")->to.text(), "0.0.0.0/0");
    EXPECT_EQ(parse_destination("-6 default")->text(), "::/0");
    EXPECT_EQ(parse_route_line("-6 10.9.0.0/16 dev east").error().text,
              "the route's prefix is of the other family than -6");
}

TEST(routes, a_word_of_a_line_has_its_value) {
    for (const char* word : {"dev", "proto", "metric", "src", "expires", "metric lock"}) {
        const std::string name(word, std::string_view(word).find(' ') == std::string_view::npos
                                         ? std::string_view(word).size()
                                         : std::string_view(word).find(' '));
        const auto route = parse_route_line("10.9.0.0/16 via 10.0.2.2 " + std::string(word));
        ASSERT_FALSE(route) << word;
        EXPECT_EQ(route.error().text, name + " has no value");
    }
}

using row = complaint_row;

std::string address(const std::string& a) { return router_with("10.0.1.1/24", a); }
std::string via(const std::string& rest) { return router_with("via: 10.0.2.2", rest); }
std::string to(const std::string& prefix) { return router_with("10.9.0.0/16", prefix); }

/// One port more than in `whole`, on line 4, with this in its address list.
std::string third_port(const std::string& addresses) {
    return router_with(
        "routes:", "  - {name: third, device: net_ring2, addresses: [" + addresses + "]}\nroutes:");
}

class routes_said : public ::testing::TestWithParam<row> {};

TEST_P(routes_said, where_and_why) { expect_complaint(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    addresses, routes_said,
    ::testing::Values(
        row{"no length", address("10.0.1.1"),
            "f.yaml:2: ports[0].addresses[0] should have a length"},
        row{"length 33", address("10.0.1.1/33"),
            "f.yaml:2: ports[0].addresses[0] should have a length from 0 to 32 after the '/', not "
            "'33'"},
        row{"length 129", router_with("2001:db8:1::1/64", "2001:db8:1::1/129"),
            "f.yaml:2: ports[0].addresses[1] should have a length from 0 to 128"},
        row{"length negative", address("10.0.1.1/-1"),
            "f.yaml:2: ports[0].addresses[0] should have a length"},
        row{"length empty", address("10.0.1.1/"),
            "f.yaml:2: ports[0].addresses[0] should have a length"},
        row{"length with a tail", address("10.0.1.1/24x"),
            "f.yaml:2: ports[0].addresses[0] should have a length"},
        row{"length 0", address("10.0.1.1/0"),
            "f.yaml:2: ports[0].addresses[0] is 10.0.1.1/0: a network of length 0"},
        row{"with a NUL", address("\"10.0.1.1\\0x/24\""),
            "f.yaml:2: ports[0].addresses[0] should be an IPv4 or IPv6 address, not '10.0.1.1"},
        row{"three numbers", address("10.0.1/24"),
            "f.yaml:2: ports[0].addresses[0] should be an IPv4 or IPv6 address, not '10.0.1'"},
        row{"256", address("10.0.1.256/24"), "f.yaml:2: ports[0].addresses[0] should be an IPv4"},
        row{"a name", address("host/24"), "f.yaml:2: ports[0].addresses[0] should be an IPv4"},
        row{"multicast", address("224.0.0.5/24"),
            "f.yaml:2: ports[0].addresses[0] is 224.0.0.5, which cannot be a host's address"},
        row{"loopback", address("127.0.0.1/8"),
            "f.yaml:2: ports[0].addresses[0] is 127.0.0.1, which cannot be"},
        row{"zero", address("0.0.0.0/8"), "f.yaml:2: ports[0].addresses[0] is 0.0.0.0, which"},
        row{"IPv6 multicast", address("\"ff02::1/64\""),
            "f.yaml:2: ports[0].addresses[0] is ff02::1, which cannot be"},
        row{"IPv6 loopback", address("\"::1/128\""),
            "f.yaml:2: ports[0].addresses[0] is ::1, which"},
        row{"IPv4-mapped", address("\"::ffff:192.0.2.1/128\""),
            "f.yaml:2: ports[0].addresses[0] is ::ffff:192.0.2.1, which cannot be"},
        row{"reserved", address("240.0.0.1/24"),
            "f.yaml:2: ports[0].addresses[0] is 240.0.0.1, which cannot be"},
        row{"subnet-router anycast", address("\"2001:db8:9::/64\""),
            "f.yaml:2: ports[0].addresses[0] is 2001:db8:9::/64, the subnet-router anycast"},
        row{"IPv6 zero", address("\"::/64\""), "f.yaml:2: ports[0].addresses[0] is ::, which"},
        row{"link-local", address("\"fe80::1/64\""),
            "f.yaml:2: ports[0].addresses[0] is fe80::1/64; a port makes its link-local address"},
        row{"the network's own address", address("10.0.1.0/24"),
            "f.yaml:2: ports[0].addresses[0] is 10.0.1.0/24, the network's own or broadcast"},
        row{"the broadcast address", address("10.0.1.255/24"),
            "f.yaml:2: ports[0].addresses[0] is 10.0.1.255/24, the network's own or broadcast"},
        row{"31 bits have no broadcast address", third_port("10.0.4.0/31"), "none"},
        row{"32 bits", third_port("10.0.4.1/32"), "none"},
        row{"128 bits", third_port("\"2001:db8:3::1/128\""), "none"},
        row{"two on one network", third_port("10.0.4.1/24, 10.0.4.2/24"), "none"},
        row{"twice on a port", third_port("10.0.4.1/24, 10.0.4.1/24"),
            "f.yaml:4: port 'third' has 10.0.4.1, which port 'third' has already"},
        row{"twice with other lengths", third_port("10.0.4.1/24, 10.0.4.1/25"),
            "f.yaml:4: port 'third' has 10.0.4.1, which port 'third' has already"},
        row{"on two ports", third_port("10.0.1.1/24"),
            "f.yaml:4: port 'third' has 10.0.1.1, which port 'west' has already"},
        row{"an address that is borrowed", third_port("10.0.1.1/32"), "none"},
        row{"one network on two ports", third_port("10.0.1.9/24"),
            "f.yaml:4: port 'third' has 10.0.1.9/24, which overlaps 10.0.1.1/24 of port 'west'"},
        row{"network inside another's", third_port("10.0.1.129/25"),
            "f.yaml:4: port 'third' has 10.0.1.129/25, which overlaps 10.0.1.1/24 of port 'west'"},
        row{"network around another's", third_port("10.7.0.1/8"),
            "f.yaml:4: port 'third' has 10.7.0.1/8, which overlaps 10.0.1.1/24 of port 'west'"},
        row{"IPv6 network inside another's", third_port("\"2001:db8:2::9/96\""),
            "f.yaml:4: port 'third' has 2001:db8:2::9/96, which overlaps 2001:db8:2::1/64"},
        row{"empty list", third_port(""), "f.yaml:4: ports[2].addresses is empty"},
        row{"not a list", router_with("[10.0.1.1/24, \"2001:db8:1::1/64\"]", "10.0.1.1/24"),
            "f.yaml:2: ports[0].addresses should be a list of addresses, not '10.0.1.1/24'"},
        row{"mtu too small for IPv6", router_with("mtu: 1500", "mtu: 1279"),
            "f.yaml:2: port 'west' has an mtu of 1279; with IPv6 it should be at least 1280"},
        row{"mtu just enough for IPv6", router_with("mtu: 1500", "mtu: 1280"), "none"},
        row{"a small mtu without IPv6",
            router_with("routes:",
                        "  - {name: third, device: net_ring2, mtu: 68, addresses: "
                        "[10.0.4.1/24]}\nroutes:"),
            "none"},
        row{"routed and patched",
            router_with("routes:",
                        "  - {name: third, device: net_ring2}\nxconnects: [[west, "
                        "third]]\nroutes:"),
            "f.yaml:2: port 'west' has addresses and is in a patch: it can route or be patched"},
        row{"neither routed nor patched",
            router_with("routes:", "  - {name: third, device: net_ring2}\nroutes:"),
            "f.yaml:4: port 'third' has no addresses and is in no patch"}),
    test_name);

/// A route beside a port that only carries a VLAN.
std::string of_carrier(const std::string& route) {
    return "ports:\n  - {name: a, device: net_ring0}\n"
           "  - {name: c, device: net_ring2, addresses: [10.0.1.1/24]}\n"
           "interfaces: [{port: a, vlan: 100, addresses: [10.0.5.1/24]}]\nroutes: [" +
           route + "]\n";
}

INSTANTIATE_TEST_SUITE_P(
    routes, routes_said,
    ::testing::Values(
        row{"via no connected network", via("via: 10.0.9.2"),
            "f.yaml:5: routes[0].via is 10.0.9.2, which is on no port's network"},
        row{"via another port's network", via("via: 10.0.2.2, port: west"),
            "f.yaml:5: routes[0].via is 10.0.2.2, on the network of 'east', not of 'west'"},
        row{"via its port named", via("via: 10.0.2.2, port: east"), "none"},
        row{"via a port's second network", via("via: 10.0.3.2"), "none"},
        row{"via our own address", via("via: 10.0.2.1"),
            "f.yaml:5: routes[0].via is 10.0.2.1, our own address"},
        row{"via a broadcast address", via("via: 10.0.2.255"),
            "f.yaml:5: routes[0].via is 10.0.2.255, the network's own or broadcast address of "
            "10.0.2.1/24"},
        row{"via a network's own address", via("via: 10.0.2.0"),
            "f.yaml:5: routes[0].via is 10.0.2.0, the network's own or broadcast address"},
        row{"to our own address", to("10.0.2.1/32"),
            "f.yaml:5: routes: 10.0.2.1/32 is our own address on port 'east'"},
        row{"to our own IPv6 address", router_with("::/0", "2001:db8:1::1/128"),
            "f.yaml:6: routes: 2001:db8:1::1/128 is our own address on port 'west'"},
        row{"to a neighbour alone", to("10.0.2.7/32"), "none"},
        row{"IPv4 via IPv6", via("via: \"2001:db8:2::2\""), "none"},
        row{"IPv6 via IPv4", to("\"2001:db8:9::/48\""),
            "f.yaml:5: routes[0].via is 10.0.2.2, of IPv4, and 2001:db8:9::/48 is of IPv6"},
        row{"via several", via("via: [10.0.2.2, {via: 10.0.3.2, port: east, weight: 256}]"),
            "none"},
        row{"via none of several", via("via: []"), "f.yaml:5: routes[0].via names no next hop"},
        row{"via one twice", via("via: [10.0.2.2, {via: 10.0.2.2, weight: 2}]"),
            "f.yaml:5: routes[0].via has the next hop 10.0.2.2 on 'east' twice; give it a weight"},
        row{"via several, one not ours", via("via: [10.0.2.2, 10.0.9.2]"),
            "f.yaml:5: routes[0].via[1] is 10.0.9.2, which is on no port's network"},
        row{"via several, with one port", via("via: [10.0.2.2, 10.0.3.2], port: east"),
            "f.yaml:5: routes[0].port is one port of several next hops; say it in each"},
        row{"via a gateway beyond its networks", via("via: 10.0.9.2, port: east, onlink: true"),
            "none"},
        row{"onlink, on no port", via("via: 10.0.9.2, onlink: true"),
            "f.yaml:5: routes[0].via is 10.0.9.2, which is to be on a link: say on which port's"},
        row{"onlink, our own address", via("via: 10.0.1.1, port: east, onlink: true"),
            "f.yaml:5: routes[0].via is 10.0.1.1, our own address"},
        row{"onlink for several", via("via: [10.0.2.2, 10.0.3.2], onlink: true"),
            "f.yaml:5: routes[0].onlink is for one of several next hops; say it in each"},
        row{"a weight of nothing", via("via: [{via: 10.0.2.2, weight: 0}]"),
            "f.yaml:5: routes[0].via[0].weight should be a whole number from 1 to 256, not '0'"},
        row{"a key of another thing", via("via: [{via: 10.0.2.2, mac: x}]"),
            "f.yaml:5: routes[0].via[0] has no key 'mac'"},
        row{"via a prefix", via("via: 10.0.2.2/32"),
            "f.yaml:5: routes[0].via should be an IPv4 or IPv6 address, not '10.0.2.2/32'"},
        row{"via nothing", via("vrf: main"), "f.yaml:5: routes[0] lacks the key 'via'"},
        row{"to a link", via("port: east"), "none"},
        row{"to a link, unknown port", via("port: esat"),
            "f.yaml:5: routes[0].port names 'esat', which is not a port"},
        row{"to a link, onlink", via("port: east, onlink: true"),
            "f.yaml:5: routes[0].onlink says where a gateway is, and there is none: no via"},
        row{"to a link, of IPv6", router_with("via: \"fe80::2\", port: east", "port: east"),
            "none"},
        row{"mtu", via("via: 10.0.2.2, mtu: 1400"), "none"},
        row{"mtu, too small", via("via: 10.0.2.2, mtu: 67"),
            "f.yaml:5: routes[0].mtu is 67; links of this family have at least 68 bytes"},
        row{"mtu, of an on-link route", via("port: east, mtu: 1400"),
            "f.yaml:5: routes[0].mtu needs a gateway: no via"},
        row{"mtu, of a type that sends none", via("type: prohibit, mtu: 1400"),
            "f.yaml:5: routes[0].mtu says where packets go, but a route of this type"},
        row{"recursive", via("via: 10.0.9.2, recursive: true"), "none"},
        row{"recursive, several",
            via("via: [192.0.2.1, {via: 192.0.2.2, weight: 3}], recursive: true"), "none"},
        row{"recursive, not so", via("via: 10.0.9.2, recursive: false"),
            "f.yaml:5: routes[0].via is 10.0.9.2, which is on no port's network"},
        row{"recursive, no gateway", via("port: east, recursive: true"),
            "f.yaml:5: routes[0] lacks the key 'via'"},
        row{"recursive, on a port", via("via: 10.0.9.2, port: east, recursive: true"),
            "f.yaml:5: routes[0].port says on which link the gateway is, and recursive that other "
            "routes do: one of them"},
        row{"recursive, one of several on a port",
            via("via: [192.0.2.1, {via: 10.0.2.2, port: east}], recursive: true"),
            "f.yaml:5: routes[0].via[1].port says on which link the gateway is"},
        row{"recursive, onlink", via("via: 10.0.9.2, onlink: true, recursive: true"),
            "f.yaml:5: routes[0].onlink says on which link the gateway is"},
        row{"recursive, link-local", via("via: \"fe80::2\", recursive: true"),
            "f.yaml:5: routes[0].via is fe80::2, a link-local address, which cannot be recursive"},
        row{"recursive, by a group", via("via: 224.0.0.5, recursive: true"),
            "f.yaml:5: routes[0].via is 224.0.0.5, which cannot be a host's address"},
        row{"recursive, loopback", via("via: \"::1\", recursive: true"),
            "f.yaml:5: routes[0].via is ::1, which cannot be a host's address"},
        row{"recursive, twice", via("via: [192.0.2.1, 192.0.2.1], recursive: true"),
            "f.yaml:5: routes[0].via has the next hop 192.0.2.1 twice; give it a weight instead"},
        row{"recursive, of a type that sends none", via("type: prohibit, recursive: true"),
            "f.yaml:5: routes[0].recursive says where packets go, but a route of this type"},
        row{"recursive, of another family",
            router_with("via: \"fe80::2\", port: east", "via: 192.0.2.1, recursive: true"),
            "f.yaml:6: routes[1].via is 192.0.2.1, of IPv4, and"},
        row{"via link-local, no port", router_with(", port: east", ""),
            "f.yaml:6: routes[1].via is fe80::2, a link-local address: say on which port"},
        row{"via link-local, unknown port", router_with("port: east", "port: esat"),
            "f.yaml:6: routes[1].port names 'esat', which is not a port"},
        row{"via link-local, port not routed",
            "ports:\n  - {name: a, device: net_ring0}\n  - {name: b, device: net_ring1}\n"
            "  - {name: c, device: net_ring2, addresses: [10.0.1.1/24]}\nxconnects: [[a, b]]\n"
            "routes: [{to: \"::/0\", via: \"fe80::2\", port: a}]\n",
            "f.yaml:6: routes[0].port names 'a', which has no addresses"},
        row{"via link-local, port of VLANs alone",
            of_carrier("{to: \"::/0\", via: \"fe80::2\", port: a}"),
            "f.yaml:5: routes[0].port names 'a', which has no addresses"},
        row{"via zone, port of VLANs alone", of_carrier("{to: \"::/0\", via: \"fe80::2%a\"}"),
            "f.yaml:5: routes[0].via names 'a', which has no addresses"},
        row{"on a link, port of VLANs alone",
            of_carrier("{to: 10.9.0.0/16, via: 10.255.0.2, port: a, onlink: true}"),
            "f.yaml:5: routes[0].port names 'a', which has no addresses"},
        row{"in lines, port of VLANs alone", of_carrier("{lines: default via fe80::2 dev a}"),
            "f.yaml:6: via is fe80::2, on 'a', which has no addresses"},
        row{"static neighbour, port of VLANs alone",
            of_carrier("") + "neighbours: {static: [{address: \"fe80::5\", port: a, mac: "
                             "\"02:00:00:00:00:05\"}]}\n",
            "f.yaml:6: neighbours.static[0].port names 'a', which has no addresses"},
        row{"host bits", to("10.9.8.7/16"),
            "f.yaml:5: routes[0].to is 10.9.8.7/16, which has host bits set: it should be "
            "10.9.0.0/16"},
        row{"IPv6 host bits", router_with("2001:db8:bad::/48", "2001:db8:bad::1/48"),
            "f.yaml:8: routes[3].to is 2001:db8:bad::1/48, which has host bits set: it should be "
            "2001:db8:bad::/48"},
        row{"host bits of a default route", to("1.0.0.0/0"),
            "f.yaml:5: routes[0].to is 1.0.0.0/0, which has host bits set: it should be 0.0.0.0/0"},
        row{"length 33", to("10.9.0.0/33"),
            "f.yaml:5: routes[0].to should have a length from 0 to "
            "32 after the '/', not '33'"},
        row{"a host", to("10.9.0.0"), "none"},
        row{"an empty length", to("10.9.0.0/"), "f.yaml:5: routes[0].to should have a length"},
        row{"a multicast route", to("224.0.0.0/4"),
            "f.yaml:5: routes[0].to is 224.0.0.0/4; multicast is not routed"},
        row{"a default route", to("0.0.0.0/0"), "none"},
        row{"a host route", to("1.2.3.4/32"), "none"},
        row{"twice", router_with("192.0.2.0/24", "10.9.0.0/16"),
            "f.yaml:7: routes: 10.9.0.0/16 is there twice"},
        row{"a port's own network", to("10.0.1.0/24"),
            "f.yaml:5: routes: 10.0.1.0/24 is there twice; a prefix has one route (port 'west' is "
            "on"},
        row{"inside a port's network", to("10.0.1.128/25"), "none"},
        row{"prohibited", router_with("blackhole", "prohibit"), "none"},
        row{"unknown type", router_with("blackhole", "throw"),
            "f.yaml:7: routes[2].type should be unicast or blackhole or unreachable or prohibit, "
            "not 'throw'"},
        row{"blackhole via", router_with("type: blackhole", "type: blackhole, via: 10.0.2.2"),
            "f.yaml:7: routes[2].via says where packets go"},
        row{"unreachable port", router_with("type: unreachable", "type: unreachable, port: east"),
            "f.yaml:8: routes[3].port says where packets go"},
        row{"type unicast", via("via: 10.0.2.2, type: unicast"), "none"},
        row{"unknown key", via("vai: 10.0.2.2"), "f.yaml:5: routes[0] has no key 'vai'; it takes"},
        row{"not a list",
            "ports: [{name: a, device: net_ring0, addresses: [10.0.1.1/24]}]\n"
            "routes: 10.0.0.0/8",
            "f.yaml:2: routes should be a list of routes, not '10.0.0.0/8'"},
        row{"no routes at all", "ports: [{name: a, device: net_ring0, addresses: [10.0.1.1/24]}]",
            "none"}),
    test_name);

INSTANTIATE_TEST_SUITE_P(
    limits, routes_said,
    ::testing::Values(
        row{"icmp rate negative", router_with("rate: 7", "rate: -7"),
            "f.yaml:9: icmp.rate should be a whole number from 0 to 10000000, not '-7'"},
        row{"icmp rate 0 is silence", router_with("rate: 7", "rate: 0"), "none"},
        row{"icmp unknown key", router_with("rate: 7", "burst: 7"),
            "f.yaml:9: icmp has no key 'burst'"},
        row{"queue_len over 64", router_with("queue_len: 3", "queue_len: 65"),
            "f.yaml:10: neighbours.queue_len should be a whole number from 0 to 64, not '65'"},
        row{"no queue", router_with("queue_len: 3", "queue_len: 0"), "none"},
        row{"max_entries too small", router_with("max_entries: 100", "max_entries: 7"),
            "f.yaml:10: neighbours.max_entries should be a whole number from 8 to 1048576, not "
            "'7'"},
        row{"no attempt", router_with("attempts: 2", "attempts: 0"),
            "f.yaml:10: neighbours.attempts should be a whole number from 1"},
        row{"unknown key", router_with("gc_stale_ms", "gc_stale_s"),
            "f.yaml:11: neighbours has no key 'gc_stale_s'; it takes max_entries"}),
    test_name);

std::string vrfs(const std::string& list, const std::string& routes = "") {
    return "vrfs: " + list + "\n" +
           "ports:\n  - {name: a, device: net_ring0, vrf: red, addresses: [10.0.1.1/24]}\n"
           "  - {name: b, device: net_ring1, addresses: [10.0.1.1/24, 10.0.2.1/24]}\n"
           "routes:\n  - {to: 10.9.0.0/16, via: 10.0.1.2}\n" +
           routes;
}

INSTANTIATE_TEST_SUITE_P(
    vrfs, routes_said,
    ::testing::Values(
        row{"overlap in two", vrfs("[{name: red}]"), "none"},
        row{"a route of one",
            vrfs("[{name: red}]", "  - {to: 10.9.0.0/16, via: 10.0.1.2, vrf: red}"), "none"},
        row{"lines of one",
            vrfs("[{name: red}]",
                 "  - lines: |\n      10.9.0.0/16 via 10.0.1.2\n"
                 "    vrf: red"),
            "none"},
        row{"a leak",
            vrfs("[{name: red}]", "  - {to: 10.8.0.0/16, via: 10.0.2.2, port: b, vrf: red}"),
            "none"},
        row{"a separate link", vrfs("[{name: red}]", "  - {to: 10.8.0.0/16, port: a, vrf: red}"),
            "none"},
        row{"a link of another", vrfs("[{name: red}]", "  - {to: 10.8.0.0/16, port: b, vrf: red}"),
            "f.yaml:7: routes[1].port names 'b', which is in another VRF: the way there is by a "
            "gateway"},
        row{"a neighbour of another",
            vrfs("[{name: red}]", "  - {to: 10.8.0.0/16, via: 10.0.2.2, vrf: red}"),
            "f.yaml:7: routes[1].via is 10.0.2.2, which is on no port's network in VRF 'red'"},
        row{"twice in one",
            vrfs("[{name: red}]",
                 "  - {to: 10.8.0.0/16, via: 10.0.1.2, vrf: red}\n"
                 "  - {to: 10.8.0.0/16, type: blackhole, vrf: red}"),
            "f.yaml:8: routes of VRF 'red': 10.8.0.0/16 is there twice"},
        row{"our own network in one",
            vrfs("[{name: red}]", "  - {to: 10.0.1.0/24, type: blackhole, vrf: red}"),
            "f.yaml:7: routes of VRF 'red': 10.0.1.0/24 is there twice; a prefix has one route "
            "(port "
            "'a' is"},
        row{"routes of none",
            vrfs("[{name: red}]", "  - {to: 10.8.0.0/16, type: blackhole, vrf: rde}"),
            "f.yaml:7: routes[1].vrf names 'rde', which is not a VRF"},
        row{"main by name",
            vrfs("[{name: red}]", "  - {to: 10.8.0.0/16, via: 10.0.2.2, vrf: main}"), "none"},
        row{"an interface of none", vrfs("[{name: blue}]"),
            "f.yaml:3: port 'a' is in 'red', which is not a VRF"},
        row{"one name twice", vrfs("[{name: red}, {name: red}]"),
            "f.yaml:1: vrfs[1].name is 'red' again; VRF names are unique"},
        row{"one number twice", vrfs("[{name: red, table: 5}, {name: blue, table: 5}]"),
            "f.yaml:1: VRF 'blue' has the table 5, which VRF 'red' has already"},
        row{"a number of Linux's", vrfs("[{name: red, table: 254}]"),
            "f.yaml:1: vrfs[0].table is 254; 253 to 255 are Linux's own tables"},
        row{"called main", vrfs("[{name: red}, {name: main}]"),
            "f.yaml:1: vrfs[1].name is 'main', which is where routes of no VRF are"}),
    test_name);

std::string line(const std::string& text) {
    return router_with("  - {to: 10.9.0.0/16, via: 10.0.2.2}\n",
                       "  - lines: |\n      # a route a line\n      " + text + "\n");
}

INSTANTIATE_TEST_SUITE_P(
    lines, routes_said,
    ::testing::Values(
        row{"several",
            line("10.9.0.0/16 proto bgp nexthop via 10.0.2.2 dev east weight 2 nexthop "
                 "via 10.0.3.2"),
            "none"},
        row{"inet6", line("10.9.0.0/16 via inet6 fe80::2 dev east"), "none"},
        row{"a default of the other family", line("default via inet6 fe80::2 dev east"), "none"},
        row{"several, none said", line("10.9.0.0/16 nexthop dev east"),
            "f.yaml:7: nexthop says no via"},
        row{"several, the last not said", line("10.9.0.0/16 nexthop via 10.0.2.2 nexthop"),
            "f.yaml:7: nexthop says no via"},
        row{"via before nexthop", line("10.9.0.0/16 via 10.0.2.2 nexthop via 10.0.3.2"),
            "f.yaml:7: via stands before nexthop"},
        row{"via twice", line("10.9.0.0/16 via 10.0.2.2 via 10.0.3.2"),
            "f.yaml:7: via is there twice; say nexthop before each of several"},
        row{"a weight of one alone", line("10.9.0.0/16 via 10.0.2.2 weight 2"),
            "f.yaml:7: 'weight' is not known; a route is PREFIX via ADDRESS"},
        row{"a weight too large", line("10.9.0.0/16 nexthop via 10.0.2.2 weight 257"),
            "f.yaml:7: weight should be a number from 1 to 256, not '257'"},
        row{"one of several of another family",
            line("2001:db8:7::/48 nexthop via fe80::2 dev east nexthop via 10.0.3.2"),
            "f.yaml:7: via is 10.0.3.2, of IPv4, and 2001:db8:7::/48 is of IPv6"},
        row{"one of several on no network",
            line("10.9.0.0/16 nexthop via 10.0.2.2 nexthop via "
                 "10.0.9.2"),
            "f.yaml:7: via is 10.0.9.2, which is on no port's network"},
        row{"one of several twice", line("10.9.0.0/16 nexthop via 10.0.2.2 nexthop via 10.0.2.2"),
            "f.yaml:7: has the next hop 10.0.2.2 on 'east' twice"},
        row{"words of FRR's routes",
            line("10.9.0.0/16 nhid 160 via 10.0.2.2 dev east proto bgp metric 20 expires 1796sec "
                 "advmss lock 1300 hoplimit 64 offload rt_trap"),
            "none"},
        row{"of main", line("10.9.0.0/16 via 10.0.2.2 dev east table main"), "none"},
        row{"of another table", line("10.9.0.0/16 via 10.0.2.2 dev east table 100"),
            "f.yaml:7: table 100 is not this list's: list the routes of one table, as `ip route "
            "show "},
        row{"of the kernel's own table", line("10.0.2.254 dev east table local proto kernel"),
            "f.yaml:7: table local is not this list's"},
        row{"a type of Linux's", line("throw 10.9.0.0/16"),
            "f.yaml:7: is of type throw; the types are unicast, blackhole, unreachable and "},
        row{"another type of Linux's", line("local 192.0.2.0/24 dev lo scope host"),
            "f.yaml:7: is of type local; the types are unicast, blackhole, unreachable and "},
        row{"an encapsulation", line("10.9.0.0/16  encap ip id 9 dst 192.0.2.1 via 10.0.2.2"),
            "f.yaml:7: 'encap' is not known"},
        row{"a source", line("10.9.0.0/16 from 10.0.0.0/8 via 10.0.2.2"),
            "f.yaml:7: 'from' is not known"},
        row{"mtu", line("10.9.0.0/16 via 10.0.2.2 mtu lock 1400"), "none"},
        row{"mtu, no number", line("10.9.0.0/16 via 10.0.2.2 mtu lock"),
            "f.yaml:7: mtu should be a number from 1 to 65535, not ''"},
        row{"mtu, to a link", line("10.9.0.0/16 dev east proto dhcp scope link mtu 1500"), "none"},
        row{"mtu of IPv6", line("2001:db8:9::/48 via fe80::2 dev east mtu 1279"),
            "f.yaml:7: mtu is 1279; links of this family have at least 1280 bytes"},
        row{"recursive", line("10.9.0.0/16 via 192.0.2.1 recursive"), "none"},
        row{"recursive, several",
            line("10.9.0.0/16 nexthop via 192.0.2.1 weight 2 nexthop via 2001:db8::1 recursive"),
            "none"},
        row{"recursive, on a port", line("10.9.0.0/16 via 10.0.2.2 dev east recursive"),
            "f.yaml:7: dev says on which link the gateway is, and recursive that other routes do"},
        row{"recursive, to a link", line("10.9.0.0/16 dev east recursive"),
            "f.yaml:7: recursive says where a gateway is, and there is none: no via"},
        row{"recursive, link-local", line("10.9.0.0/16 via inet6 fe80::2 recursive"),
            "f.yaml:7: via is fe80::2, a link-local address"},
        row{"recursive blackhole", line("blackhole 10.9.0.0/16 recursive"),
            "f.yaml:7: recursive says where packets go, but a route of this type sends none"}),
    test_name);

/// Equal next hops of several lines make one target, in any order.
TEST(routes, next_hops_of_a_line_have_a_limit) {
    std::string text = "10.9.0.0/16 proto static\n";
    for (int i = 0; i < 10'000; ++i) text += "\tnexthop via 10.0.2.2\n";
    const auto m = load_text(whole_router, "f.yaml");
    ASSERT_TRUE(m) << m.error().message();
    state::neighbour_finder find(*m, "");
    state::route_set set;
    const auto none = [](const ip_prefix&, uint32_t, uint32_t) {};
    const auto read = read_route_lines(text, 7, "r", find, set, none);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message(), "r:7: is longer than 65536 bytes");
}

TEST(routes, of_several_next_hops) {
    const auto m = load_text(line("10.9.0.0/16 nexthop via 10.0.3.2 weight 3 nexthop via 10.0.2.2\n"
                                  "      10.10.0.0/16 nexthop via 10.0.2.2 dev east weight 1 "
                                  "nexthop via 10.0.3.2 weight 3\n"
                                  "      default via inet6 fe80::2 dev east\n"
                                  "      prohibit 10.11.0.0/16"),
                             "f.yaml");
    ASSERT_TRUE(m) << m.error().message();
    const auto at = [&](const char* to) { return m->routes.at(*parse_prefix(to)); };
    EXPECT_EQ(at("10.9.0.0/16"), at("10.10.0.0/16"));
    const state::route_target wanted{.members = {{*parse_address("10.0.2.2"), "east", 1},
                                                 {*parse_address("10.0.3.2"), "east", 3}}};
    EXPECT_EQ(m->routes.targets()[*at("10.9.0.0/16")], wanted);
    EXPECT_EQ(*m->routes.find(*parse_prefix("0.0.0.0/0")),
              state::target_via(*parse_address("fe80::2"), "east"));
    EXPECT_EQ(m->routes.find(*parse_prefix("10.11.0.0/16"))->type, state::route_type::prohibit);
}

TEST(address, texts_come_back) {
    for (const char* text : {"0.0.0.0", "10.0.1.1", "255.255.255.255", "::", "::1", "2001:db8::1",
                             "fe80::1", "ff02::1", "1:2:3:4:5:6:7:8"}) {
        const auto a = parse_address(text);
        ASSERT_TRUE(a) << text;
        EXPECT_EQ(a->text(), text);
    }
    EXPECT_EQ(parse_address("10.0.1.2")->v4(), 0x0a000102U);
    EXPECT_EQ(ip_address::from_v4(0x0a000102), *parse_address("10.0.1.2"));
    EXPECT_EQ(ip_address::from_v6(parse_address("2001:db8::1")->bytes.data()),
              *parse_address("2001:db8::1"));
}

TEST(address, what_is_none) {
    for (const char* text :
         {"", " ", "10", "10.0.1", "10.0.1.1.1", "10.0.1.256", "010.0.1.1x", " 10.0.1.1",
          "10.0.1.1 ", ":", ":::", "1::2::3", "12345::", "fe80::1%eth0", "[::1]", "1:2:3:4:5:6:7",
          "1:2:3:4:5:6:7:8:9", "0x0a000101"}) {
        const auto a = parse_address(text);
        EXPECT_FALSE(a) << text;
        if (a) continue;
        EXPECT_EQ(a.error().code, EINVAL);
    }
    EXPECT_FALSE(parse_address(std::string_view("10.0.1.1\0x", 10)));
    EXPECT_LT(parse_address(std::string(100'000, '1')).error().text.size(), 200U);
}

TEST(address, kinds) {
    EXPECT_TRUE(parse_address("fe80::")->is_link_local());
    EXPECT_TRUE(parse_address("febf::1")->is_link_local());
    EXPECT_FALSE(parse_address("fec0::1")->is_link_local());
    EXPECT_FALSE(parse_address("254.128.0.1")->is_link_local());
    EXPECT_TRUE(parse_address("ff02::1")->is_multicast());
    EXPECT_TRUE(parse_address("239.255.255.255")->is_multicast());
    EXPECT_FALSE(parse_address("240.0.0.1")->is_multicast());
    EXPECT_FALSE(parse_address("223.255.255.255")->is_multicast());
    // ::10.0.0.1 begins with the same bytes as nothing of IPv4.
    EXPECT_NE(*parse_address("::"), *parse_address("0.0.0.0"));
}

TEST(prefix, network_clears_the_host_bits) {
    const std::pair<const char*, const char*> rows[] = {
        {"10.1.2.3/0", "0.0.0.0/0"},
        {"255.1.2.3/1", "128.0.0.0/1"},
        {"10.1.2.3/8", "10.0.0.0/8"},
        {"10.1.255.3/23", "10.1.254.0/23"},
        {"10.1.2.3/31", "10.1.2.2/31"},
        {"10.1.2.3/32", "10.1.2.3/32"},
        {"ffff::1/0", "::/0"},
        {"2001:db8::1/64", "2001:db8::/64"},
        {"ffff::/9", "ff80::/9"},
        {"2001:db8::7/127", "2001:db8::6/127"},
        {"2001:db8::7/128", "2001:db8::7/128"},
    };
    for (const auto& [text, network] : rows) {
        const auto p = parse_prefix(text);
        ASSERT_TRUE(p) << text;
        EXPECT_EQ(p->text(), text);
        EXPECT_EQ(p->network().text(), network);
        EXPECT_TRUE(p->contains(p->address)) << text;
    }
}

// Every length of both families: contains() is the equality of so many leading bits.
TEST(prefix, contains_counts_bits) {
    for (const char* text : {"170.85.204.51", "aaaa:5555:cccc:3333:aaaa:5555:cccc:3333"}) {
        const ip_address a = *parse_address(text);
        for (unsigned length = 0; length <= a.bits(); ++length)
            for (unsigned bit = 0; bit < a.bits(); ++bit) {
                ip_address b = a;
                b.bytes[bit / 8] = static_cast<uint8_t>(b.bytes[bit / 8] ^ (0x80 >> bit % 8));
                const ip_prefix p{a, static_cast<uint8_t>(length)};
                EXPECT_EQ(p.contains(b), bit >= length) << p.text() << " " << b.text();
            }
    }
    EXPECT_FALSE(parse_prefix("0.0.0.0/0")->contains(*parse_address("::")));
    EXPECT_FALSE(parse_prefix("::/0")->contains(*parse_address("0.0.0.0")));
}

/// Any text of digits and dots parses as inet_pton parses it.
TEST(addresses, of_ipv4_are_read_as_inet_pton_reads_them) {
    std::mt19937 random(5);
    size_t good = 0;
    const auto compare = [&](const std::string& text) {
        in_addr wanted{};
        const bool is = inet_pton(AF_INET, text.c_str(), &wanted) == 1;
        const auto got = parse_address(text);
        ASSERT_EQ(got.has_value() && !got->v6, is) << text;
        if (is) {
            ASSERT_EQ(std::memcmp(got->bytes.data(), &wanted, 4), 0) << text;
        }
        good += is;
    };
    for (int i = 0; i < 20'000; ++i) {
        std::string text;
        for (int part = 0; part < 4; ++part)
            text += (part == 0 ? "" : ".") + std::to_string(random() % (part == 2 ? 300 : 256));
        compare(text);
        // The same with one character replaced, removed or inserted.
        const size_t at = random() % text.size();
        const char other = "0123456789.x /:"[random() % 15];
        if (random() % 3 == 0)
            text[at] = other;
        else if (random() % 2 == 0)
            text.erase(at, 1);
        else
            text.insert(at, 1, other);
        compare(text);
        if (HasFatalFailure()) return;
    }
    EXPECT_GT(good, 10'000U);
    for (const char* text : {"", ".", "1.2.3", "1.2.3.", ".1.2.3", "1.2.3.4.", "1.2.3.4.5",
                             "00.0.0.0", "0.0.0.0", "1.2.3.0004", "255.255.255.255", "1.2.3.256"})
        compare(text);
}

}  // namespace
}  // namespace turnpike::sources
