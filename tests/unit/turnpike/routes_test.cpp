// SPDX-License-Identifier: BSD-3-Clause
// The router's part of the configuration: addresses, routes, limits, and what each wrong one is
// told.
#include <gtest/gtest.h>

#include "complaints.hpp"

namespace turnpike::sources {
namespace {

constexpr const char* whole = R"(ports:
  - {name: west, device: net_ring0, mtu: 1500, addresses: [10.0.1.1/24, "2001:db8:1::1/64"]}
  - {name: east, device: net_ring1, addresses: [10.0.2.1/24, 10.0.3.1/30, "2001:db8:2::1/64"]}
routes:
  - {to: 10.9.0.0/16, via: 10.0.2.2}
  - {to: "::/0", via: "fe80::2", port: east}
  - {to: 192.0.2.0/24, type: blackhole}
  - {to: "2001:db8:bad::/48", type: unreachable}
icmp: {rate: 7}
neighbours: {limit: 100, held: 3, reachable_ms: 1000, retransmit_ms: 50, attempts: 2, failed_ms: 200,
             forget_ms: 5000}
)";

std::string with(const std::string& before, const std::string& after) {
    return replaced(whole, before, after);
}

TEST(routes, a_whole_file) {
    const auto m = load_text(whole, "f.yaml");
    ASSERT_TRUE(m) << m.error().message();
    ASSERT_EQ(m->ports.size(), 2U);
    EXPECT_EQ(m->interfaces.at("west").kind, state::interface_kind::routed);
    EXPECT_EQ(m->interfaces.at("west").addresses[1].text(), "2001:db8:1::1/64");
    EXPECT_EQ(m->interfaces.at("east").addresses.size(), 3U);
    ASSERT_EQ(m->routes.size(), 4U);
    const auto target = [&](const char* to) { return *m->routes.find(*parse_prefix(to)); };
    EXPECT_EQ(target("10.9.0.0/16"), (state::route_target{state::route_type::unicast,
                                                          *parse_address("10.0.2.2"), "east"}));
    EXPECT_EQ(target("::/0"),
              (state::route_target{state::route_type::unicast, *parse_address("fe80::2"), "east"}));
    EXPECT_EQ(target("192.0.2.0/24").type, state::route_type::blackhole);
    EXPECT_EQ(target("2001:db8:bad::/48").type, state::route_type::unreachable);
    EXPECT_EQ(m->messages.rate, 7U);
    EXPECT_EQ(m->limits.limit, 100U);
    EXPECT_EQ(m->limits.held, 3U);
    EXPECT_EQ(m->limits.reachable_ms, 1000U);
    EXPECT_EQ(m->limits.retransmit_ms, 50U);
    EXPECT_EQ(m->limits.attempts, 2U);
    EXPECT_EQ(m->limits.failed_ms, 200U);
    EXPECT_EQ(m->limits.forget_ms, 5000U);
}

using row = complaint_row;

std::string address(const std::string& a) { return with("10.0.1.1/24", a); }
std::string via(const std::string& rest) { return with("via: 10.0.2.2", rest); }
std::string to(const std::string& prefix) { return with("10.9.0.0/16", prefix); }

/// One port more than in `whole`, on line 4, with this in its address list.
std::string third_port(const std::string& addresses) {
    return with("routes:",
                "  - {name: third, device: net_ring2, addresses: [" + addresses + "]}\nroutes:");
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
        row{"length 129", with("2001:db8:1::1/64", "2001:db8:1::1/129"),
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
        row{"one network on two ports", third_port("10.0.1.9/24"),
            "f.yaml:4: port 'third' has 10.0.1.9/24, which overlaps 10.0.1.1/24 of port 'west'"},
        row{"network inside another's", third_port("10.0.1.129/25"),
            "f.yaml:4: port 'third' has 10.0.1.129/25, which overlaps 10.0.1.1/24 of port 'west'"},
        row{"network around another's", third_port("10.7.0.1/8"),
            "f.yaml:4: port 'third' has 10.7.0.1/8, which overlaps 10.0.1.1/24 of port 'west'"},
        row{"IPv6 network inside another's", third_port("\"2001:db8:2::9/96\""),
            "f.yaml:4: port 'third' has 2001:db8:2::9/96, which overlaps 2001:db8:2::1/64"},
        row{"empty list", third_port(""), "f.yaml:4: ports[2].addresses is empty"},
        row{"not a list", with("[10.0.1.1/24, \"2001:db8:1::1/64\"]", "10.0.1.1/24"),
            "f.yaml:2: ports[0].addresses should be a list of addresses, not '10.0.1.1/24'"},
        row{"mtu too small for IPv6", with("mtu: 1500", "mtu: 1279"),
            "f.yaml:2: port 'west' has an mtu of 1279; with IPv6 it should be at least 1280"},
        row{"mtu just enough for IPv6", with("mtu: 1500", "mtu: 1280"), "none"},
        row{"a small mtu without IPv6",
            with("routes:",
                 "  - {name: third, device: net_ring2, mtu: 68, addresses: "
                 "[10.0.4.1/24]}\nroutes:"),
            "none"},
        row{"routed and patched",
            with("routes:",
                 "  - {name: third, device: net_ring2}\npatches: [[west, "
                 "third]]\nroutes:"),
            "f.yaml:2: port 'west' has addresses and is in a patch: it can route or be patched"},
        row{"neither routed nor patched",
            with("routes:", "  - {name: third, device: net_ring2}\nroutes:"),
            "f.yaml:4: port 'third' has no addresses and is in no patch"}),
    test_name);

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
        row{"to our own IPv6 address", with("::/0", "2001:db8:1::1/128"),
            "f.yaml:6: routes: 2001:db8:1::1/128 is our own address on port 'west'"},
        row{"to a neighbour alone", to("10.0.2.7/32"), "none"},
        row{"via the other IP version", via("via: \"2001:db8:2::2\""),
            "f.yaml:5: routes[0].via is 2001:db8:2::2, not of the same IP version as 10.9.0.0/16"},
        row{"via a prefix", via("via: 10.0.2.2/32"),
            "f.yaml:5: routes[0].via should be an IPv4 or IPv6 address, not '10.0.2.2/32'"},
        row{"via nothing", via("port: east"), "f.yaml:5: routes[0] lacks the key 'via'"},
        row{"via link-local, no port", with(", port: east", ""),
            "f.yaml:6: routes[1].via is fe80::2, a link-local address: say on which port"},
        row{"via link-local, unknown port", with("port: east", "port: esat"),
            "f.yaml:6: routes[1].port names 'esat', which is not a port"},
        row{"via link-local, port not routed",
            "ports:\n  - {name: a, device: net_ring0}\n  - {name: b, device: net_ring1}\n"
            "  - {name: c, device: net_ring2, addresses: [10.0.1.1/24]}\npatches: [[a, b]]\n"
            "routes: [{to: \"::/0\", via: \"fe80::2\", port: a}]\n",
            "f.yaml:6: routes[0].port names 'a', which has no addresses"},
        row{"host bits", to("10.9.8.7/16"),
            "f.yaml:5: routes[0].to is 10.9.8.7/16, which has host bits set: it should be "
            "10.9.0.0/16"},
        row{"IPv6 host bits", with("2001:db8:bad::/48", "2001:db8:bad::1/48"),
            "f.yaml:8: routes[3].to is 2001:db8:bad::1/48, which has host bits set: it should be "
            "2001:db8:bad::/48"},
        row{"host bits of a default route", to("1.0.0.0/0"),
            "f.yaml:5: routes[0].to is 1.0.0.0/0, which has host bits set: it should be 0.0.0.0/0"},
        row{"length 33", to("10.9.0.0/33"),
            "f.yaml:5: routes[0].to should have a length from 0 to "
            "32 after the '/', not '33'"},
        row{"no length", to("10.9.0.0"), "f.yaml:5: routes[0].to should have a length"},
        row{"a multicast route", to("224.0.0.0/4"),
            "f.yaml:5: routes[0].to is 224.0.0.0/4; multicast is not routed"},
        row{"a default route", to("0.0.0.0/0"), "none"},
        row{"a host route", to("1.2.3.4/32"), "none"},
        row{"twice", with("192.0.2.0/24", "10.9.0.0/16"),
            "f.yaml:7: routes: 10.9.0.0/16 is there twice"},
        row{"a port's own network", to("10.0.1.0/24"),
            "f.yaml:5: routes: 10.0.1.0/24 is there twice; a prefix has one route (port 'west' is "
            "on"},
        row{"inside a port's network", to("10.0.1.128/25"), "none"},
        row{"unknown type", with("blackhole", "prohibit"),
            "f.yaml:7: routes[2].type should be unicast or blackhole or unreachable, not "
            "'prohibit'"},
        row{"blackhole via", with("type: blackhole", "type: blackhole, via: 10.0.2.2"),
            "f.yaml:7: routes[2].via says where packets go"},
        row{"unreachable port", with("type: unreachable", "type: unreachable, port: east"),
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
        row{"icmp rate negative", with("rate: 7", "rate: -7"),
            "f.yaml:9: icmp.rate should be a whole number from 0 to 10000000, not '-7'"},
        row{"icmp rate 0 is silence", with("rate: 7", "rate: 0"), "none"},
        row{"icmp unknown key", with("rate: 7", "burst: 7"), "f.yaml:9: icmp has no key 'burst'"},
        row{"held over 64", with("held: 3", "held: 65"),
            "f.yaml:10: neighbours.held should be a whole number from 0 to 64, not '65'"},
        row{"nothing held", with("held: 3", "held: 0"), "none"},
        row{"limit too small", with("limit: 100", "limit: 7"),
            "f.yaml:10: neighbours.limit should be a whole number from 8 to 1048576, not '7'"},
        row{"no attempt", with("attempts: 2", "attempts: 0"),
            "f.yaml:10: neighbours.attempts should be a whole number from 1"},
        row{"unknown key", with("forget_ms", "forget_s"),
            "f.yaml:11: neighbours has no key 'forget_s'; it takes limit"}),
    test_name);

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

}  // namespace
}  // namespace turnpike::sources
