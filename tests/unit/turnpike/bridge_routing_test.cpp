// SPDX-License-Identifier: BSD-3-Clause
// Routing interfaces of bridges, ACLs of bridges and of these interfaces, and bridges that change
// under traffic.
#include <ethdev_driver.h>

#include "bridge_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using datapath::drop_reason;
using lab = bridge_lab;

// Routers beside bridges: a bridge with an address, a VLAN of a port, a port.
const std::string routers =
    ports(2) + "  - {name: p2, device: d2, addresses: [10.0.2.254/24]}\n" +
    "  - {name: p3, device: d3}\n" +
    "interfaces: [{port: p3, vlan: 100, addresses: [10.0.3.254/24]}]\n" +
    bridge("{port: p0}, {port: p1}",
           "    addresses: [10.0.1.254/24]\n    mac: \"02:00:00:00:ff:01\"\n"
           "    extra_macs: [\"00:00:5e:00:01:07\"]\n") +
    "neighbours:\n  static:\n"
    "    - {address: 10.0.1.1, mac: \"02:00:00:01:00:01\"}\n"
    "    - {address: 10.0.2.2, mac: \"02:00:00:01:00:02\"}\n"
    "    - {address: 10.0.3.3, mac: \"02:00:00:01:00:03\"}\n";
const byte_vector bridge_mac{2, 0, 0, 0, 0xff, 1}, p2_mac{2, 0, 0, 0, 0, 0x0d},
    p3_mac{2, 0, 0, 0, 0, 0x0e};
constexpr uint32_t host1 = 0x0a000101, host2 = 0x0a000202, host3 = 0x0a000303;

byte_vector ip(uint32_t from, uint32_t to, uint8_t ttl = 64) {
    return ipv4({.ttl = ttl, .source = from, .destination = to}, udp(counted(20)));
}

TEST(routing, between_bridge_vlan_and_port) {
    lab l(routers);
    // p2 -> bridge: its host is not known yet, then it is.
    const byte_vector in = ethernet(type4, ip(host2, host1), p2_mac, fdb_entry(2));
    const byte_vector out = ethernet(type4, ip(host2, host1, 63), fdb_entry(1), bridge_mac);
    EXPECT_EQ(l.egress_ports(2, in, &out), "0 1");
    l.send(1, frame(fdb_entry(77), fdb_entry(1)));
    EXPECT_EQ(l.egress_ports(2, in, &out), "1");
    // bridge -> p2
    const byte_vector up = ethernet(type4, ip(host1, host2), bridge_mac, fdb_entry(1));
    const byte_vector down = ethernet(type4, ip(host1, host2, 63), fdb_entry(2), p2_mac);
    EXPECT_EQ(l.egress_ports(1, up, &down), "2");
    // The same to a router's virtual address.
    const byte_vector virtual_mac{0, 0, 0x5e, 0, 1, 7};
    EXPECT_EQ(
        l.egress_ports(1, ethernet(type4, ip(host1, host2), virtual_mac, fdb_entry(1)), &down),
        "2");
    // bridge -> VLAN 100 of p3, and back; a plain frame is not for the VLAN's interface
    const byte_vector to3 = ethernet(type4, ip(host1, host3), bridge_mac, fdb_entry(1));
    const byte_vector at3 =
        tagged(ethernet(type4, ip(host1, host3, 63), fdb_entry(3), p3_mac), 100);
    EXPECT_EQ(l.egress_ports(1, to3, &at3), "3");
    const byte_vector from3 = ethernet(type4, ip(host3, host1), p3_mac, fdb_entry(3));
    const byte_vector back = ethernet(type4, ip(host3, host1, 63), fdb_entry(1), bridge_mac);
    EXPECT_EQ(l.egress_ports(3, tagged(from3, 0xe064), &back), "1");
    EXPECT_EQ(l.egress_ports(3, from3), "");
    EXPECT_EQ(l.egress_ports(3, tagged(from3, 101)), "");
    EXPECT_EQ(l.dropped(drop_reason::no_interface), 2U);
    // both at once, in one burst
    ASSERT_TRUE(l.offer(1, up));
    ASSERT_TRUE(l.offer(1, frame(everybody, fdb_entry(1), 5)));
    ASSERT_TRUE(l.offer(1, to3));
    ASSERT_TRUE(l.offer(1, frame(fdb_entry(66), fdb_entry(1), 6)));
    l.settle();
    EXPECT_EQ(l.sent(2), one(down));
    EXPECT_EQ(l.sent(3), one(at3));
    EXPECT_EQ(l.sent(0), (std::vector{frame(everybody, fdb_entry(1), 5),
                                      frame(fdb_entry(66), fdb_entry(1), 6)}));
}

/// Padding is cut on the way into a bridge, and does not count for its MTU.
TEST(routing, padding_is_not_too_long_for_a_bridge) {
    std::string narrow = routers;
    for (const char* port : {"name: p0,", "name: p1,"})
        narrow.replace(narrow.find(port), 9, std::string(port) + " mtu: 600,");
    lab l(narrow);
    l.send(1, frame(fdb_entry(77), fdb_entry(1)));
    byte_vector in = ethernet(type4, ip(host2, host1), p2_mac, fdb_entry(2));
    const byte_vector out = ethernet(type4, ip(host2, host1, 63), fdb_entry(1), bridge_mac);
    in.resize(1000);
    EXPECT_EQ(l.egress_ports(2, in, &out), "1");
    EXPECT_EQ(l.dropped(drop_reason::bridge_too_big), 0U);
}

/// ARP by a bridge: the request is flooded, the reply is ours, and pending packets go to the port
/// of the host.
TEST(routing, asks_through_the_bridge) {
    lab l(routers);
    const byte_vector in = ethernet(type4, ip(host2, 0x0a000109), p2_mac, fdb_entry(2));
    const auto asked = l.send(2, in);
    ASSERT_EQ(asked[0].size(), 1U);
    EXPECT_EQ(asked[0], asked[1]);
    const byte_vector& question = asked[0][0];
    EXPECT_EQ(byte_vector(question.begin(), question.begin() + 12), everybody + bridge_mac);
    const byte_vector answer =
        ethernet(0x0806,
                 byte_vector{0, 1, 8, 0, 6, 4, 0, 2} + fdb_entry(9) + byte_vector{10, 0, 1, 9} +
                     bridge_mac + byte_vector{10, 0, 1, 254},
                 bridge_mac, fdb_entry(9));
    const auto then = l.send(1, answer);
    EXPECT_TRUE(then[0].empty());
    EXPECT_EQ(then[1], one(ethernet(type4, ip(host2, 0x0a000109, 63), fdb_entry(9), bridge_mac)));
    // A request for our address is answered, and also flooded to other hosts.
    const byte_vector who =
        ethernet(0x0806,
                 byte_vector{0, 1, 8, 0, 6, 4, 0, 1} + fdb_entry(1) + byte_vector{10, 0, 1, 1} +
                     zeros(6) + byte_vector{10, 0, 1, 254},
                 everybody, fdb_entry(1));
    const auto sent_frames = l.send(0, who);
    EXPECT_EQ(sent_frames[1], one(who));
    ASSERT_EQ(sent_frames[0].size(), 1U);
    EXPECT_EQ(byte_vector(sent_frames[0][0].begin(), sent_frames[0][0].begin() + 12),
              fdb_entry(1) + bridge_mac);
}

/// Requests to the router's MAC address pass isolation and storm control.
TEST(routing, arp_of_one_member_starves_no_other_member) {
    lab l(routers + "punt_rate: {neighbours: 100}\n");
    const auto who = [](uint8_t host) {
        return ethernet(0x0806,
                        byte_vector{0, 1, 8, 0, 6, 4, 0, 1} + fdb_entry(host) +
                            byte_vector{10, 0, 1, host} + zeros(6) + byte_vector{10, 0, 1, 254},
                        bridge_mac, fdb_entry(host));
    };
    for (int n = 0; n < 100; ++n) {
        ASSERT_TRUE(l.offer(0, who(4)));
        l.worker().poll();
    }
    EXPECT_GT(l.dropped(drop_reason::punt_rate), 50U);
    ASSERT_TRUE(l.offer(1, who(5)));
    for (int n = 0; n < 32; ++n) l.settle();
    const auto sent_frames = l.sent(1);
    EXPECT_TRUE(std::ranges::any_of(
        sent_frames, [](const byte_vector& f) { return f[5] == 5 && f[13] == 6 && f[21] == 2; }));
    l.sent(0);
}

TEST(routing, our_own_address_is_nobody_elses) {
    lab l(routers);
    EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(1), bridge_mac)), "");
    EXPECT_EQ(l.dropped(drop_reason::bridge_source_own), 1U);
}

/// The master of a virtual router sends from the virtual address: its advertisements reach the router, which is a backup, and the
/// other hosts.
TEST(routing, a_virtual_routers_address_may_be_anothers) {
    lab l(routers);
    const byte_vector virtual_mac{0, 0, 0x5e, 0, 1, 7}, vrrp{1, 0, 0x5e, 0, 0, 18};
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(l.egress_ports(0, frame(vrrp, virtual_mac)), "1");
        EXPECT_EQ(l.egress_ports(1, frame(fdb_entry(77), virtual_mac)), "0");
    }
    EXPECT_EQ(l.dropped(drop_reason::bridge_source_own), 0U);
    const byte_vector up = ethernet(type4, ip(host1, host2), virtual_mac, fdb_entry(1));
    const byte_vector down = ethernet(type4, ip(host1, host2, 63), fdb_entry(2), p2_mac);
    EXPECT_EQ(l.egress_ports(1, up, &down), "2");
}

/// Several addresses have the same CRC (two addresses whose XOR has a CRC of 0): only the exact
/// address is the router's.
TEST(routing, our_own_address_is_nobody_elses_behind_one_of_the_same_crc) {
    lab l(routers);
    byte_vector same_crc = bridge_mac;
    constexpr uint8_t difference[] = {0xe2, 0xed, 0xd8, 0x0b, 0x02, 0x00};
    for (size_t i = 0; i < same_crc.size(); ++i) same_crc[i] ^= difference[i];
    for (int i = 0; i < 3; ++i) EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(9), same_crc)), "1");
    EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(9), bridge_mac)), "");
    EXPECT_EQ(l.dropped(drop_reason::bridge_source_own), 1U);
}

TEST(routing, between_vlans_of_one_bridge) {
    lab l(ports(2) +
          bridge("{port: p0, mode: access, vlan: 10}, {port: p1, mode: trunk, trunks: [10, 20]}",
                 "    mac: \"02:00:00:00:ff:01\"\n"
                 "    interfaces: [{vlan: 10, addresses: [10.0.1.254/24]}, "
                 "{vlan: 20, addresses: [10.0.2.254/24]}]\n") +
          "neighbours: {static: [{address: 10.0.1.1, mac: \"02:00:00:01:00:01\"}, "
          "{address: 10.0.2.2, mac: \"02:00:00:01:00:02\"}]}\n");
    const byte_vector up = ethernet(type4, ip(host1, host2), bridge_mac, fdb_entry(1));
    const byte_vector down =
        tagged(ethernet(type4, ip(host1, host2, 63), fdb_entry(2), bridge_mac), 20);
    EXPECT_EQ(l.egress_ports(0, up, &down), "1");
    const byte_vector from =
        tagged(ethernet(type4, ip(host2, host1), bridge_mac, fdb_entry(2)), 20);
    const byte_vector back = ethernet(type4, ip(host2, host1, 63), fdb_entry(1), bridge_mac);
    EXPECT_EQ(l.egress_ports(1, from, &back), "0");
}

/// IEEE 802.1Q section 9.6: identifier 0 is no VLAN.
TEST(routing, a_priority_tag_is_taken_off) {
    lab l(routers);
    const byte_vector in = ethernet(type4, ip(host2, host1), p2_mac, fdb_entry(2));
    const byte_vector out = ethernet(type4, ip(host2, host1, 63), fdb_entry(1), bridge_mac);
    EXPECT_EQ(l.egress_ports(2, tagged(in, 0xe000), &out), "0 1");
    EXPECT_EQ(l.egress_ports(2, tagged(in, 5)), "");
    EXPECT_EQ(l.dropped(drop_reason::vlan_on_routed_port), 1U);
}

TEST(lists, judge_members_and_routing_interfaces) {
    const std::string deny =
        "acl:\n"
        "  - {name: no-udp, default: permit, rules: [{action: deny, protocol: udp}]}\n"
        "  - {name: no-ten, default: permit, rules: [{action: deny, vlan: 10}]}\n";
    const byte_vector f = ethernet(type4, ip(host1, host2), everybody, fdb_entry(1));
    {
        lab l(deny +
              "ports:\n  - {name: p0, device: d0}\n"
              "  - {name: p1, device: d1, acl: {out: no-udp}}\n  - {name: p2, device: d2}\n" +
              bridge("{port: p0}, {port: p1}, {port: p2}"));
        EXPECT_EQ(l.egress_ports(0, f), "2");
        EXPECT_EQ(l.dropped(drop_reason::acl_deny_out), 1U);
        l.egress_ports(1, frame(fdb_entry(77), fdb_entry(2)));
        EXPECT_EQ(l.egress_ports(0, ethernet(type4, ip(host1, host2), fdb_entry(2), fdb_entry(1))),
                  "");
        EXPECT_EQ(l.dropped(drop_reason::acl_deny_out), 2U);
    }
    {
        lab l(
            deny +
            "ports:\n  - {name: p0, device: d0, acl: {in: no-ten}}\n  - {name: p1, device: d1}\n" +
            bridge("{port: p0, mode: trunk}, {port: p1, mode: trunk}"));
        EXPECT_EQ(l.egress_ports(0, tagged(f, 10)), "");
        EXPECT_EQ(l.dropped(drop_reason::acl_deny), 1U);
        EXPECT_EQ(l.egress_ports(0, tagged(f, 11)), "1");
    }
    {
        lab l(deny +
              "ports:\n  - {name: p0, device: d0, acl: {out: no-udp}}\n"
              "  - {name: p1, device: d1}\n"
              "  - {name: p2, device: d2, addresses: [10.0.2.254/24]}\n" +
              bridge("{port: p0}, {port: p1}", "    addresses: [10.0.1.254/24]\n") +
              "neighbours: {static: [{address: 10.0.1.1, mac: \"02:00:00:01:00:01\"}]}\n");
        const byte_vector in = ethernet(type4, ip(host2, host1), p2_mac, fdb_entry(2));
        const byte_vector out =
            ethernet(type4, ip(host2, host1, 63), fdb_entry(1), {2, 0, 0, 0, 0, 0x0b});
        EXPECT_EQ(l.egress_ports(2, in, &out), "1") << "flooded, and p0's list denies it";
        EXPECT_EQ(l.dropped(drop_reason::acl_deny_out), 1U);
    }
}

TEST(changes, keep_the_stations_that_still_are_where_they_were) {
    lab l(three);
    l.egress_ports(0, frame(fdb_entry(9), fdb_entry(1)));
    l.egress_ports(1, frame(fdb_entry(9), fdb_entry(2)));
    ASSERT_TRUE(l.apply(three + "    ageing_s: 20\n").has_value());
    EXPECT_EQ(l.learnt(), "p0 01, p1 02");
    ASSERT_TRUE(l.apply(ports(3) + bridge("{port: p0}, {port: p2}") +
                        "  - {name: other, members: [{port: p1}]}\n")
                    .has_value());
    EXPECT_EQ(l.learnt(), "p0 01");
    EXPECT_EQ(l.egress_ports(2, frame(fdb_entry(2), fdb_entry(3))), "0");
    EXPECT_EQ(l.egress_ports(1, frame(fdb_entry(1), fdb_entry(2))), "") << "a bridge of its own";
    ASSERT_TRUE(l.apply(ports(3) + "xconnects: [[p0, p1]]\n" + bridge("{port: p2}")).has_value());
    EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(2), fdb_entry(1))), "1");
    ASSERT_TRUE(l.apply(three).has_value());
    EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(2), fdb_entry(1))), "1 2");
}

/// A new bridge may have the number of one that goes in the same change, and its ports.
TEST(changes, a_new_bridge_has_none_of_the_stations_of_one_that_goes) {
    const auto named = [](const std::string& name, const std::string& members,
                          const std::string& other) {
        return ports(3) + "bridges:\n  - {name: " + name + ", members: [" + members + "]}\n" +
               (other.empty() ? "" : "  - {name: rest, members: [" + other + "]}\n");
    };
    lab l(named("lan", "{port: p0}, {port: p1}, {port: p2}", ""));
    const auto numbers = [&](const std::string& name) {
        return l.controller().bridges().numbers_of(name);
    };
    for (const uint8_t n : std::initializer_list<uint8_t>{1, 2})
        l.egress_ports(0, frame(fdb_entry(9), fdb_entry(n)));
    EXPECT_EQ(numbers("lan").learnt, 2U);
    ASSERT_TRUE(l.apply(named("office", "{port: p0}, {port: p1}, {port: p2}", "")));
    EXPECT_EQ(l.learnt(), "") << "the same ports";
    EXPECT_EQ(numbers("office").learnt, 0U);
    l.seconds(1);
    l.egress_ports(0, frame(fdb_entry(9), fdb_entry(1)));
    EXPECT_EQ(l.learnt(), "p0 01");
    EXPECT_EQ(numbers("office").learnt, 1U);
    ASSERT_TRUE(l.apply(named("lab", "{port: p1}, {port: p2}", "{port: p0}")));
    EXPECT_EQ(l.learnt(), "") << "other ports";
    EXPECT_EQ(numbers("lab").learnt, 0U);
    EXPECT_EQ(numbers("rest").learnt, 0U);
    l.seconds(1);
    EXPECT_EQ(l.egress_ports(1, frame(fdb_entry(9), fdb_entry(3))), "2");
    EXPECT_EQ(l.learnt(), "p1 03") << "it learns";
    EXPECT_EQ(numbers("lab").learnt, 1U);
}

std::string bridge_of(const std::string& members, const std::string& more = "") {
    return ports(3) +
           bridge(members, "    addresses: [10.0.1.254/24, \"2001:db8:1::fe/64\"]\n" + more);
}

mac_address mac_of_bridge(lab& l) {
    return l.snapshot().interfaces[l.controller().interfaces().indexes().at("lan")].mac;
}

/// Hosts have the MAC address in their caches: it does not follow the first port.
TEST(routing, interface_keeps_its_mac_address) {
    lab l(bridge_of("{port: p0}, {port: p1}, {port: p2}"));
    const mac_address first{{2, 0, 0, 0, 0, 0x0b}}, given{{2, 0, 0, 0, 0xff, 7}};
    EXPECT_EQ(mac_of_bridge(l), first);
    std::string less = bridge_of("{port: p1}, {port: p2}");
    less.replace(less.find("device: d0"), 10, "device: d0, addresses: [10.0.9.1/24]");
    ASSERT_TRUE(l.apply(less));
    EXPECT_EQ(mac_of_bridge(l), first) << "its port has left";
    ASSERT_TRUE(l.apply(bridge_of("{port: p2}, {port: p1}, {port: p0}")));
    EXPECT_EQ(mac_of_bridge(l), first) << "in another order";
    l.settle();
    for (uint16_t p = 0; p < 3; ++p) l.sent(p);
    ASSERT_TRUE(l.apply(
        bridge_of("{port: p2}, {port: p1}, {port: p0}", "    mac: \"02:00:00:00:ff:07\"\n")));
    EXPECT_EQ(mac_of_bridge(l), given) << "the operator's choice";
    l.settle();
    unsigned announced = 0;
    for (const byte_vector& f : l.sent(1))
        announced += f[12] == 0x08 && f[13] == 0x06 &&
                     byte_vector(f.begin() + 6, f.begin() + 12) == byte_vector{2, 0, 0, 0, 0xff, 7};
    EXPECT_EQ(announced, 1U) << "RFC 5227 section 3: gratuitous ARP";
}

/// The next hops of its neighbours have it as their source address.
TEST(routing, next_hops_follow_a_changed_mac_address) {
    const auto config = [](const std::string& more) {
        return ports(2) + "  - {name: p2, device: d2, addresses: [10.0.2.254/24]}\n" +
               bridge("{port: p0}, {port: p1}", "    addresses: [10.0.1.254/24]\n" + more) +
               "neighbours: {static: [{address: 10.0.1.1, mac: \"02:00:00:01:00:01\"}]}\n"
               "routes: [{to: 10.3.0.0/16, via: 10.0.1.2}]\n";
    };
    lab l(config(""));
    constexpr uint32_t behind = 0x0a030001;  // behind 10.0.1.2
    const byte_vector to_host = ethernet(type4, ip(host2, host1), p2_mac, fdb_entry(3)),
                      to_gateway = ethernet(type4, ip(host2, behind), p2_mac, fdb_entry(3));
    const auto expect_source = [&](const byte_vector& mac) {
        l.settle();
        for (uint16_t p = 0; p < 3; ++p) l.sent(p);  // announcements
        const byte_vector host = ethernet(type4, ip(host2, host1, 63), fdb_entry(1), mac);
        EXPECT_EQ(l.egress_ports(2, to_host, &host), "0 1");
        l.send(2, to_gateway);
        l.send(0, ethernet(0x0806,
                           byte_vector{0, 1, 8, 0, 6, 4, 0, 2} + fdb_entry(2) +
                               byte_vector{10, 0, 1, 2} + mac + byte_vector{10, 0, 1, 254},
                           mac, fdb_entry(2)));
        const byte_vector on = ethernet(type4, ip(host2, behind, 63), fdb_entry(2), mac);
        EXPECT_EQ(l.egress_ports(2, to_gateway, &on), "0");
    };
    expect_source({2, 0, 0, 0, 0, 0x0b});
    ASSERT_TRUE(l.apply(config("    mac: \"02:00:00:00:ff:07\"\n")));
    expect_source({2, 0, 0, 0, 0xff, 7});
    ASSERT_TRUE(l.apply(config("")));
    expect_source({2, 0, 0, 0, 0, 0x0b});
}

constexpr size_t arp_reply_operation = 21;  // its low byte, in a frame

/// An ARP request of host 10.0.1.1 for the bridge's address.
byte_vector request_for_bridge() {
    return ethernet(0x0806,
                    byte_vector{0, 1, 8, 0, 6, 4, 0, 1} + fdb_entry(1) +
                        byte_vector{10, 0, 1, 1, 0, 0, 0, 0, 0, 0, 10, 0, 1, 254},
                    everybody, fdb_entry(1));
}
/// Whether the bridge's address answers behind a port.
bool has_arp_reply(const std::vector<byte_vector>& frames) {
    return std::any_of(frames.begin(), frames.end(), [](const byte_vector& f) {
        return f[12] == 0x08 && f[13] == 0x06 && f[arp_reply_operation] == 2;
    });
}
bool answers_at(lab& l, uint16_t port) {
    return has_arp_reply(l.send(port, request_for_bridge())[port]);
}
size_t announcements_at(lab& l, uint16_t port) {
    size_t n = 0;
    for (const byte_vector& f : l.sent(port))
        n += (f[12] == 0x08 && f[13] == 0x06) || (f[12] == 0x86 && f[20] == 58);
    return n;
}

/// The members may change, and their order: neighbours stay, and no address is probed for again.
TEST(routing, interface_stays_when_its_members_change) {
    const std::string apart = "  - {name: other, members: [{port: p0}]}\n";
    lab l(bridge_of("{port: p0}, {port: p1}, {port: p2}"));
    const auto index = [&] { return l.controller().interfaces().indexes().at("lan"); };
    const auto neighbours = [&] { return l.controller().routing().neighbours().size(); };
    const uint16_t first = index();
    EXPECT_TRUE(answers_at(l, 1));
    EXPECT_EQ(neighbours(), 1U);
    for (const std::string& changed :
         {bridge_of("{port: p2}, {port: p1}, {port: p0}"),
          bridge_of("{port: p1}, {port: p2}") + apart, bridge_of("{port: p2}, {port: p1}") + apart,
          bridge_of("{port: p0}, {port: p1}, {port: p2}")}) {
        SCOPED_TRACE(changed);
        ASSERT_TRUE(l.apply(changed));
        l.settle();
        EXPECT_EQ(index(), first);
        EXPECT_EQ(neighbours(), 1U);
        EXPECT_EQ(announcements_at(l, 1), 0U);
        EXPECT_TRUE(answers_at(l, 1));
    }
    // Without the port that it counted on.
    std::string fewer = bridge_of("{port: p1}, {port: p2}");
    fewer.erase(fewer.find("  - {name: p0"), ports(1).size() - ports(0).size());
    ASSERT_TRUE(l.apply(fewer));
    EXPECT_TRUE(answers_at(l, 1));
}

/// A member whose device is gone takes no other member with it.
TEST(routing, answers_without_the_device_of_the_first_member) {
    lab l(bridge_of("{port: p0}, {port: p1}, {port: p2}"));
    ASSERT_TRUE(answers_at(l, 1));
    l.worker().pause();
    rte_eth_dev_callback_process(&rte_eth_devices[l.snapshot().port[0].ethdev_id],
                                 RTE_ETH_EVENT_INTR_RMV, nullptr);
    l.control();
    l.worker().resume();
    EXPECT_TRUE(answers_at(l, 1));
    EXPECT_EQ(l.dropped(drop_reason::inject_ring_full), 0U);
}

/// A bridge's link may come and go with its members.
TEST(routing, a_change_that_makes_or_takes_the_link_is_noticed) {
    const std::string without = bridge_of("{port: p0}, {port: p2}") +
                                "  - {name: other, members: [{port: p1}]}\n",
                      with = bridge_of("{port: p0}, {port: p1}, {port: p2}");
    lab l(without);
    for (const uint16_t p : std::initializer_list<uint16_t>{0, 2})
        ASSERT_EQ(rte_eth_dev_set_link_down(l.snapshot().port[p].ethdev_id), 0);
    l.controller().poll_links(100'000);
    l.settle();
    EXPECT_EQ(announcements_at(l, 1), 0U);
    ASSERT_TRUE(l.apply(with));
    l.settle();
    EXPECT_GT(announcements_at(l, 1), 3U) << "ARP, and two addresses' detection and announcements";
    EXPECT_TRUE(answers_at(l, 1));
    const auto neighbours = [&] { return l.controller().routing().neighbours().size(); };
    EXPECT_EQ(neighbours(), 1U);
    ASSERT_TRUE(l.apply(without));
    l.settle();
    EXPECT_EQ(neighbours(), 0U);
    for (const uint16_t p : std::initializer_list<uint16_t>{0, 2})
        ASSERT_EQ(rte_eth_dev_set_link_up(l.snapshot().port[p].ethdev_id), 0);
    l.controller().poll_links(100'000);
}

/// The link of a port that is opened by the change is read afterwards.
TEST(routing, neighbours_stay_when_the_only_port_with_a_link_is_exchanged) {
    const std::string before =
        bridge_of("{port: p1}") + "  - {name: other, members: [{port: p0}, {port: p2}]}\n";
    lab l(before);
    EXPECT_TRUE(answers_at(l, 1));
    const auto neighbours = [&] { return l.controller().routing().neighbours().size(); };
    EXPECT_EQ(neighbours(), 1U);
    std::string after =
        "ports:\n  - {name: p3, device: d3}\n" + before.substr(before.find('\n') + 1);
    after.replace(after.find("{port: p1}"), 10, "{port: p3}");
    after += "  - {name: rest, members: [{port: p1}]}\n";
    ASSERT_TRUE(l.apply(after));
    EXPECT_EQ(neighbours(), 1U);
    l.controller().poll_links(100'000);
    l.settle();
    EXPECT_EQ(neighbours(), 1U);
    l.sent(3);
    EXPECT_TRUE(l.offer(3, request_for_bridge()));
    l.settle();
    EXPECT_TRUE(has_arp_reply(l.sent(3)));
}

/// RFC 4862 section 5.4: a member is not the interface.
TEST(routing, a_member_that_flaps_restarts_no_duplicate_address_detection) {
    lab l(bridge_of("{port: p0}, {port: p1}, {port: p2}"));
    const auto announcements = [&](uint16_t port) { return announcements_at(l, port); };
    l.settle();
    for (const uint16_t p : std::initializer_list<uint16_t>{0, 1, 2}) announcements(p);
    const uint16_t id = l.snapshot().port[1].ethdev_id, other = l.snapshot().port[0].ethdev_id,
                   third = l.snapshot().port[2].ethdev_id;
    const auto set = [&](uint16_t ethdev, bool up) {
        ASSERT_EQ((up ? rte_eth_dev_set_link_up : rte_eth_dev_set_link_down)(ethdev), 0);
        l.controller().poll_links(100'000);
        l.settle();
    };
    for (const bool up : {false, true}) set(id, up);
    EXPECT_EQ(announcements(0) + announcements(1), 0U);
    // All members go, and one comes back: then the interface does.
    set(id, false);
    set(other, false);
    set(third, false);
    set(id, true);
    EXPECT_GT(announcements(1), 0U);
    set(other, true);
    set(third, true);
}

}  // namespace
}  // namespace turnpike
