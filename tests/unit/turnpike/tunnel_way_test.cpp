// SPDX-License-Identifier: BSD-3-Clause
// Tunnels beside VLANs, routers and other bridges, where packets go through the stages several times; and that they
// change while it runs.
#include <fmt/format.h>

#include "tunnel_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using datapath::drop_reason;
using lab = tunnel_lab;

/// A VLAN-aware bridge: a network is a VLAN of the bridge.
TEST(tunnel, is_a_vlan_of_its_bridge) {
    lab l(underlay() + "tunnels:\n" + one_tunnel("t2", "10.0.9.2") + one_tunnel("t3", "10.0.9.3") +
          bridge("{port: p0, mode: trunk}, {port: p1, mode: access, vlan: 10}, {port: t2, mode: "
                 "access, vlan: 10}, "
                 "{port: t3, mode: trunk, trunks: [20]}"));
    const byte_vector f = frame(everybody, fdb_entry(1)), tagged10 = tagged(f, 10),
                      tagged20 = tagged(f, 20);
    const auto out = l.send(0, tagged10);
    EXPECT_EQ(out[1], one(f));
    ASSERT_EQ(out[2].size(), 1U);
    EXPECT_EQ(out[2][0], sent_to(f, two4, two_mac, out[2][0]));
    const auto by_trunk = l.send(0, tagged20)[2];
    ASSERT_EQ(by_trunk.size(), 1U);
    EXPECT_EQ(by_trunk[0], sent_to(tagged20, three4, three_mac, by_trunk[0]));
    const byte_vector back = frame(everybody, fdb_entry(9)), back20 = tagged(back, 20);
    EXPECT_EQ(l.send(2, in_ipv4(vxlan(back))),
              (lab::outputs{one(tagged(back, 10)), one(back), {}}));
    EXPECT_EQ(l.send(2, in_ipv4(vxlan(back20), {.source = three4})),
              (lab::outputs{one(back20), {}, {}}));
    EXPECT_EQ(l.send(2, in_ipv4(vxlan(back20))), (lab::outputs{{}, {}, {}}));
    EXPECT_EQ(l.dropped(drop_reason::bridge_vlan), 1U);
}

/// Out of one tunnel, routed, and into another; the bridges' own addresses answer through tunnels, too.
TEST(tunnel, routes_between_networks) {
    lab l(underlay() + "tunnels:\n" + one_tunnel("t2", "10.0.9.2") +
          "  - {name: t3, vni: 200, local: 10.0.9.1, remote: 10.0.9.3}\n" +
          "bridges:\n"
          "  - {name: one, members: [{port: p0}, {port: p1}, {port: t2}], addresses: "
          "[10.1.0.254/24], mac: "
          "\"02:00:00:00:ff:01\"}\n"
          "  - {name: two, members: [{port: t3}], addresses: [10.2.0.254/24], mac: "
          "\"02:00:00:00:ff:02\"}\n");
    const byte_vector one_mac{2, 0, 0, 0, 0xff, 1}, two_mac_of_bridge{2, 0, 0, 0, 0xff, 2};
    constexpr uint32_t here = 0x0a010005, there = 0x0a020006;
    const auto ip = [](uint32_t from, uint32_t to, uint8_t ttl) {
        return ipv4({.ttl = ttl, .source = from, .destination = to}, udp(counted(20)));
    };
    // The solicitation for the neighbour behind t3 leaves through t3.
    const byte_vector in =
        in_ipv4(vxlan(ethernet(type4, ip(here, there, 64), one_mac, fdb_entry(5))));
    const auto asked = l.send(2, in)[2];
    ASSERT_EQ(asked.size(), 1U);
    EXPECT_EQ(load_be<uint32_t>(&asked[0].at(30)), three4);
    EXPECT_EQ(load_be<uint32_t>(&asked[0].at(46)), 200U << 8);
    const byte_vector answer = ethernet(0x0806,
                                        arp({.operation = 2,
                                             .sender_mac = fdb_entry(6),
                                             .sender_ip = there,
                                             .target_mac = two_mac_of_bridge,
                                             .target_ip = 0x0a0200fe}),
                                        two_mac_of_bridge, fdb_entry(6));
    const auto released =
        l.send(2, in_ipv4(vxlan(answer, {.network = 200 << 8}), {.source = three4}))[2];
    const byte_vector expected =
        ethernet(type4, ip(here, there, 63), fdb_entry(6), two_mac_of_bridge);
    ASSERT_EQ(released.size(), 1U);
    EXPECT_EQ(released[0],
              sent_to(expected, three4, three_mac, released[0], {.network = 200 << 8}));
    const auto next = l.send(2, in)[2];
    ASSERT_EQ(next.size(), 1U);
    EXPECT_EQ(next[0], released[0]);
    EXPECT_EQ(l.dropped(drop_reason::too_many_passes), 0U);
    // The smallest MTU of its members is 1450: the sender gets an ICMP error, by its tunnel, once
    // it is resolved.
    const byte_vector big = ethernet(
        type4, ipv4({.fragment = 0x4000, .source = here, .destination = there}, udp(counted(1430))),
        one_mac, fdb_entry(5));
    EXPECT_EQ(l.send(2, in_ipv4(vxlan(big)))[2].size(), 1U) << "who is it?";
    EXPECT_EQ(l.dropped(drop_reason::ipv4_too_big), 1U);
    const auto replies = l.send(2, in_ipv4(vxlan(ethernet(0x0806,
                                                          arp({.operation = 2,
                                                               .sender_mac = fdb_entry(5),
                                                               .sender_ip = here,
                                                               .target_mac = one_mac,
                                                               .target_ip = 0x0a0100fe}),
                                                          one_mac, fdb_entry(5)))))[2];
    ASSERT_EQ(replies.size(), 1U);
    EXPECT_EQ(load_be<uint32_t>(&replies[0].at(50 + 34)) >> 16, 0x0304U);
    EXPECT_EQ(load_be<uint32_t>(&replies[0].at(50 + 38)), 1450U);
}

/// As many passes as such a router needs: from the underlay's bridge, out of the tunnel with its list, from the first
/// bridge, into the second tunnel.
TEST(tunnel, routes_between_networks_over_a_bridge_with_lists) {
    for (const char* list : {"", ", acl: {in: all}"}) {
        lab l(ports(3) +
              "neighbours:\n  static:\n"
              "    - {address: 10.0.9.2, mac: \"02:00:00:00:09:02\"}\n"
              "    - {address: 10.0.9.3, mac: \"02:00:00:00:09:03\"}\n"
              "    - {address: 10.2.0.6, mac: \"02:00:00:01:00:06\"}\n"
              "acl:\n  - {name: all, default: permit, rules: [{action: permit}]}\n"
              "tunnels:\n" +
              one_tunnel("t2", "10.0.9.2", list) +
              "  - {name: t3, vni: 200, local: 10.0.9.1, remote: 10.0.9.3, mtu: 1500}\n"
              "bridges:\n"
              "  - {name: under, members: [{port: p2}], addresses: [10.0.9.1/24], mac: "
              "\"02:00:00:00:00:0d\"}\n"
              "  - {name: one, members: [{port: p0}, {port: t2}], addresses: [10.1.0.254/24], mac: "
              "\"02:00:00:00:ff:01\"}\n"
              "  - {name: two, members: [{port: p1}, {port: t3}], addresses: [10.2.0.254/24], mac: "
              "\"02:00:00:00:ff:02\"}\n");
        l.send(2, in_ipv4(vxlan(frame(everybody, fdb_entry(6)), {.network = 200 << 8}),
                          {.source = three4}, up_mac, three_mac));
        const auto out = l.send(
            2, in_ipv4(vxlan(ethernet(
                   type4, ipv4({.source = 0x0a010005, .destination = 0x0a020006}, udp(counted(20))),
                   {2, 0, 0, 0, 0xff, 1}, fdb_entry(5)))))[2];
        EXPECT_EQ(l.dropped(drop_reason::too_many_passes), 0U) << list;
        ASSERT_EQ(out.size(), 1U) << list;
        EXPECT_EQ(load_be<uint32_t>(&out[0].at(46)), 200U << 8);
    }
}

/// The underlay is a bridge that floods, and the tunnel's own frames were flooded before: copies of copies.
TEST(tunnel, goes_by_a_bridge_that_floods) {
    lab l(ports(4) +
          "neighbours:\n  static: [{address: 10.0.9.2, mac: \"02:00:00:00:09:02\"}]\n"
          "tunnels:\n" +
          one_tunnel("t2", "10.0.9.2", ", dont_fragment: false") +
          "bridges:\n  - {name: lan, members: [{port: p0}, {port: p1}, {port: t2}]}\n"
          "  - {name: under, members: [{port: p2}, {port: p3}], addresses: [10.0.9.1/24]}\n");
    const byte_vector f = frame(everybody, fdb_entry(1));
    auto out = l.send(0, f);
    EXPECT_EQ(out[1], one(f));
    for (const size_t p : {2U, 3U}) {
        ASSERT_EQ(out[p].size(), 1U);
        EXPECT_EQ(byte_vector(out[p][0].begin() + 50, out[p][0].end()), f);
    }
    // As fragments, which are flooded likewise.
    out = l.send(0, ethernet(type_test, counted(1500), everybody, fdb_entry(1)));
    EXPECT_EQ(out[1].size(), 1U);
    for (const size_t p : {2U, 3U}) EXPECT_EQ(out[p].size(), 2U);
}

/// Copies of copies: four tunnels inside each other need four bursts for copies, which are all there are. The innermost
/// bridge has one port to flood to, which needs none.
TEST(tunnel, innermost_of_four_floods_to_one_port) {
    const auto level = [](const char* n, const std::string& member, const char* port) {
        return fmt::format(
            "  - {{name: lan{0}, members: [{1}{{port: p{2}}}], addresses: [10.0.{0}.1/24]}}\n", n,
            member, port);
    };
    std::string tunnels, neighbours;
    for (const char* n : {"1", "2", "3", "4"}) {
        tunnels += fmt::format(
            "  - {{name: t{0}, vni: {0}, local: 10.0.{0}.1, remote: 10.0.{0}.2, dont_fragment: "
            "false}}\n",
            n);
        neighbours +=
            fmt::format("    - {{address: 10.0.{0}.2, mac: \"02:00:00:00:{0}0:02\"}}\n", n);
    }
    lab l(ports(6) + "neighbours:\n  static:\n" + neighbours + "tunnels:\n" + tunnels +
          "bridges:\n" + "  - {name: lan0, members: [{port: t1}, {port: p0}, {port: p1}]}\n" +
          level("1", "{port: t2}, ", "2") + level("2", "{port: t3}, ", "3") +
          level("3", "{port: t4}, ", "4") + level("4", "", "5"));
    const byte_vector f = frame(everybody, fdb_entry(1));
    const auto out = l.send(0, f);
    EXPECT_EQ(out[1], one(f));
    for (const size_t p : {2U, 3U, 4U, 5U}) EXPECT_EQ(out[p].size(), 1U) << p;
    EXPECT_EQ(l.dropped(drop_reason::clone_depth), 0U);
}

/// A packet of a tunnel whose underlay is the bridge that it is a member of is dropped after a
/// bounded number of passes.
TEST(tunnel, in_itself_ends) {
    lab l(
        ports(1) + "tunnels:\n" + one_tunnel("t2", "10.0.9.2") +
        "neighbours:\n  static: [{address: 10.0.9.2, mac: \"02:00:00:00:09:02\"}]\n"
        "bridges:\n  - {name: lan, members: [{port: p0}, {port: t2}], addresses: [10.0.9.1/24]}\n");
    l.send(0, frame(everybody, fdb_entry(1)));
    l.send(0, frame(fdb_entry(9), fdb_entry(1)));
    EXPECT_GE(l.dropped(drop_reason::too_many_passes) + l.dropped(drop_reason::tunnel_too_big) +
                  l.dropped(drop_reason::tunnel_no_headroom) + l.dropped(drop_reason::clone_depth),
              2U);
}

TEST(tunnel, without_a_way_is_dropped_and_nobody_is_told) {
    lab l(underlay() + "tunnels:\n" +
          "  - {name: t2, vni: 100, local: 10.0.9.1, remote: 10.77.0.2}\n" +
          one_tunnel("t4", "10.0.9.4") + bridge("{port: p0}, {port: p1}, {port: t2}, {port: t4}"));
    const byte_vector f = frame(everybody, fdb_entry(1));
    const auto out = l.send(0, f);
    EXPECT_EQ(out[1], one(f));
    EXPECT_EQ(l.dropped(drop_reason::no_route), 1U);
    // The other one waits for its neighbour.
    ASSERT_EQ(out[2].size(), 1U);
    EXPECT_EQ(load_be<uint16_t>(&out[2][0].at(12)), 0x0806);
    const byte_vector mac{2, 0, 0, 0, 9, 4};
    const auto released = l.send(2, ethernet(0x0806,
                                             arp({.operation = 2,
                                                  .sender_mac = mac,
                                                  .sender_ip = 0x0a000904,
                                                  .target_mac = up_mac,
                                                  .target_ip = us4}),
                                             up_mac, mac))[2];
    ASSERT_EQ(released.size(), 1U);
    EXPECT_EQ(released[0], sent_to(f, 0x0a000904, mac, released[0]));
}

/// Outer packets that exceed the MTU of the route to their endpoint are dropped.
TEST(tunnel, outer_packets_fit_their_routes_mtu) {
    lab l(underlay() +
          "routes: [{to: 10.77.0.0/16, via: 10.0.9.2, mtu: 400}]\ntunnels:\n"
          "  - {name: t2, vni: 100, local: 10.0.9.1, remote: 10.77.0.2, mtu: 1500}\n" +
          bridge("{port: p0}, {port: p1}, {port: t2}"));
    const auto sent = [&](size_t data) {
        return l.send(0, ethernet(0x88b5, counted(data), fdb_entry(9), fdb_entry(1)))[2].size();
    };
    constexpr size_t headers = 20 + 8 + 8 + 14;
    EXPECT_EQ(sent(400 - headers), 1U);
    EXPECT_EQ(l.dropped(drop_reason::ipv4_too_big), 0U);
    EXPECT_EQ(sent(401 - headers), 0U);
    EXPECT_EQ(l.dropped(drop_reason::ipv4_too_big), 1U);
}

/// A bridge has no source address: ICMP errors to senders carry the address of the packet's
/// destination.
TEST(tunnel, tells_senders_how_much_it_takes) {
    lab l(underlay() + "tunnels:\n" + one_tunnel("t2", "10.0.9.2") + one_tunnel("t3", "10.0.9.3") +
          bridge("{port: p0, mode: access, vlan: 10}, {port: p1, mode: trunk}, {port: t2, mode: "
                 "access, vlan: 10}, {port: t3, mode: trunk}"));
    constexpr uint32_t here = 0x0a010005, there = 0x0a010006;
    l.send(0, frame(everybody, fdb_entry(1)));
    l.send(2, in_ipv4(vxlan(frame(fdb_entry(1), fdb_entry(2)))));
    const auto big = [&](uint16_t fragment, const byte_vector& to) {
        return ethernet(
            type4,
            ipv4({.fragment = fragment, .source = here, .destination = there}, udp(counted(1473))),
            to, fdb_entry(1));
    };
    const auto replies = l.send(0, big(0x4000, fdb_entry(2)));
    ASSERT_EQ(replies[0].size(), 1U);
    EXPECT_TRUE(replies[1].empty() && replies[2].empty());
    const byte_vector& error = replies[0][0];
    EXPECT_EQ(byte_vector(error.begin(), error.begin() + 14),
              byte_vector(fdb_entry(1) + fdb_entry(2) + be(type4)));
    EXPECT_EQ(load_be<uint32_t>(&error.at(26)), there);
    EXPECT_EQ(load_be<uint32_t>(&error.at(30)), here);
    EXPECT_EQ(load_be<uint16_t>(&error.at(34)), 0x0304);
    EXPECT_EQ(load_be<uint16_t>(&error.at(40)), 1500);
    EXPECT_EQ(packet::checksum({&error.at(14), 20}), 0U);
    EXPECT_EQ(packet::checksum({&error.at(34), error.size() - 34}), 0U);
    EXPECT_EQ(l.dropped(drop_reason::tunnel_too_big), 1U);

    const byte_vector six =
        ethernet(0x86dd, ipv6({}, udp(counted(1453))), fdb_entry(2), fdb_entry(1));
    const auto told6 = l.send(0, six)[0];
    ASSERT_EQ(told6.size(), 1U);
    EXPECT_EQ(load_be<uint16_t>(&told6[0].at(54)), 0x0200);
    EXPECT_EQ(load_be<uint32_t>(&told6[0].at(58)), 1500U);

    // A packet without DF, a multicast frame, and a frame that is not IP: dropped without an ICMP
    // error.
    for (const byte_vector& f : {big(0, fdb_entry(2)), big(0x4000, everybody),
                                 ethernet(type_test, counted(1501), fdb_entry(2), fdb_entry(1))})
        EXPECT_TRUE(l.send(0, f)[0].empty());
    // The ICMP error has the VLAN tag of the bridge.
    l.send(2, in_ipv4(vxlan(tagged(frame(fdb_entry(4), fdb_entry(3)), 20)), {.source = three4}));
    byte_vector from_trunk = tagged(big(0x4000, fdb_entry(3)), 20);
    from_trunk[11] = fdb_entry(4)[5];
    l.send(1, tagged(frame(fdb_entry(3), fdb_entry(4)), 20));
    const auto in_vlan = l.send(1, from_trunk)[1];
    ASSERT_EQ(in_vlan.size(), 1U);
    EXPECT_EQ(load_be<uint32_t>(&in_vlan[0].at(12)), 0x8100'0014U);
    EXPECT_EQ(load_be<uint16_t>(&in_vlan[0].at(38)), 0x0304);
}

/// A second VLAN tag is counted in the tunnel's MTU: a packet of the MTU in the ICMP error fits.
TEST(tunnel, tells_senders_behind_two_tags_how_much_it_takes) {
    lab l(underlay() + "tunnels:\n" + one_tunnel("t2", "10.0.9.2") +
          bridge("{port: p0}, {port: p1}, {port: t2}"));
    l.send(2, in_ipv4(vxlan(frame(fdb_entry(1), fdb_entry(2)))));
    const auto behind_two = [&](size_t bytes) {
        const byte_vector whole =
            ethernet(type4, ipv4({.fragment = 0x4000}, udp(counted(bytes - 28))), fdb_entry(2),
                     fdb_entry(1));
        return l.send(0, tagged(tagged(whole, 20), 10, 0x88a8));
    };
    const auto error = behind_two(1500)[0];
    ASSERT_EQ(error.size(), 1U);
    EXPECT_EQ(load_be<uint16_t>(&error[0].at(8 + 34)), 0x0304);
    const auto mtu = load_be<uint16_t>(&error[0].at(8 + 40));
    EXPECT_EQ(mtu, 1496);
    EXPECT_EQ(behind_two(mtu)[2].size(), 1U);
    EXPECT_EQ(behind_two(mtu + 1U)[2].size(), 0U);
}

/// Tunnels come, change and go while it runs.
TEST(tunnel, changes_while_it_runs) {
    const std::string without = underlay() + bridge("{port: p0}, {port: p1}");
    lab l(without);
    const byte_vector f = frame(everybody, fdb_entry(1));
    EXPECT_EQ(l.send(2, in_ipv4(vxlan(frame(everybody, fdb_entry(7)))))[0].size(), 0U);
    EXPECT_EQ(l.dropped(drop_reason::local_protocol), 1U);
    ASSERT_TRUE(l.apply(two_tunnels));
    EXPECT_EQ(l.send(0, f)[2].size(), 2U);
    EXPECT_EQ(l.send(2, in_ipv4(vxlan(frame(everybody, fdb_entry(7)))))[0].size(), 1U);
    const std::string other =
        underlay() + "tunnels:\n" +
        "  - {name: t2, vni: 300, local: 10.0.9.1, remote: 10.0.9.2, ignore_reserved: true}\n" +
        bridge("{port: p0}, {port: p1}, {port: t2}");
    ASSERT_TRUE(l.apply(other));
    EXPECT_EQ(l.send(2, in_ipv4(vxlan(frame(everybody, fdb_entry(7)))))[0].size(), 0U);
    EXPECT_EQ(l.dropped(drop_reason::vxlan_unknown_vni), 1U);
    EXPECT_EQ(l.send(2, in_ipv4(vxlan(frame(everybody, fdb_entry(7)),
                                      {.flags = 0xffff'ffff, .network = 300 << 8 | 0xff})))[0]
                  .size(),
              1U);
    ASSERT_TRUE(l.apply(without));
    EXPECT_EQ(l.send(0, f)[2].size(), 0U);
}

}  // namespace
}  // namespace turnpike
