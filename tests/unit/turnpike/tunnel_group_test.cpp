// SPDX-License-Identifier: BSD-3-Clause
// A multicast group of VTEPs (RFC 7348 section 4.2): flooded frames are sent to it once, and VTEPs' packets to it
// arrive from their own tunnels.
#include "lib/own_namespace.hpp"
#include "tunnel_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using datapath::drop_reason;
using lab = tunnel_lab;

constexpr uint32_t group4 = 0xef01'0203;
const byte_vector group4_mac{1, 0, 0x5e, 1, 2, 3}, group6_mac{0x33, 0x33, 0, 0, 0x12, 0x34};
const byte_vector group6{0xff, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 0x34};

const std::string endpoints =
    "tunnels:\n" + one_tunnel("t2", "10.0.9.2") + one_tunnel("t3", "10.0.9.3");
std::string to_group(const std::string& more = "") {
    return one_tunnel("g", "239.1.2.3", ", interface: up" + more);
}
const std::string all_members = bridge("{port: p0}, {port: p1}, {port: t2}, {port: t3}, {port: g}");
const std::string group_beside = underlay() + endpoints + to_group() + all_members;

byte_vector by_group(const byte_vector& inner, outer_fields f = {}) {
    f.destination = group4;
    return in_ipv4(vxlan(inner, f), f, group4_mac);
}

TEST(tunnel_group, gets_what_is_flooded_once) {
    lab l(group_beside);
    const byte_vector ask = frame(everybody, fdb_entry(1)),
                      to_nobody = frame(fdb_entry(9), fdb_entry(1));
    for (const byte_vector& flooded : {ask, to_nobody}) {
        const auto out = l.send(0, flooded);
        EXPECT_EQ(out[1], one(flooded));
        ASSERT_EQ(out[2].size(), 1U);
        EXPECT_EQ(out[2][0], sent_to(flooded, group4, group4_mac, out[2][0]));
    }
    // A station that answers is learnt behind its own tunnel, whichever path its answer took.
    const byte_vector answer = frame(fdb_entry(1), fdb_entry(2)),
                      next = frame(fdb_entry(2), fdb_entry(1));
    EXPECT_EQ(l.send(2, by_group(answer)), (lab::outputs{one(answer), {}, {}}));
    EXPECT_EQ(l.learnt(), "p0 01, t2 02");
    const auto to_two = l.send(0, next)[2];
    ASSERT_EQ(to_two.size(), 1U);
    EXPECT_EQ(to_two[0], sent_to(next, two4, two_mac, to_two[0]));
    const auto counted = [&](const char* name) {
        return l.controller().tunnels().counted(name).total;
    };
    EXPECT_TRUE(counted("g").tx_packets == 2 && counted("g").rx_packets == 0);
    EXPECT_TRUE(counted("t2").tx_packets == 1 && counted("t2").rx_packets == 1);
    EXPECT_EQ(counted("t3").tx_packets, 0U);
}

TEST(tunnel_group, says_of_its_packets_what_its_tunnel_says) {
    lab l(underlay() + "tunnels:\n" +
          to_group(", ttl: 3, dscp: 10, dont_fragment: false, checksum: true") +
          bridge("{port: p0}, {port: p1}, {port: g}"));
    const byte_vector f = frame(everybody, fdb_entry(1));
    const auto out = l.send(0, f)[2];
    ASSERT_EQ(out.size(), 1U);
    outer_fields is{.source = us4,
                    .destination = group4,
                    .port = source_port_of(out[0]),
                    .ttl = 3,
                    .tos = 10 << 2,
                    .id = load_be<uint16_t>(&out[0].at(18)),
                    .fragment = 0};
    EXPECT_EQ(out[0],
              in_ipv4(summed(vxlan(f, is), {10, 0, 9, 1}, {239, 1, 2, 3}), is, group4_mac, up_mac));
}

TEST(tunnel_group, lets_nothing_of_strangers_in) {
    lab l(group_beside);
    const byte_vector f = frame(everybody, fdb_entry(7));
    const auto none = [&](const byte_vector& in, drop_reason why, uint64_t count = 1) {
        EXPECT_EQ(l.send(2, in), (lab::outputs{{}, {}, {}})) << datapath::name(why);
        EXPECT_EQ(l.dropped(why), count) << datapath::name(why);
    };
    none(by_group(f, {.source = 0x0a000904}), drop_reason::vxlan_unknown_vtep);
    none(in_ipv4(vxlan(f), {.source = 0x0a000904}), drop_reason::vxlan_unknown_vtep, 2);
    none(by_group(f, {.network = 101 << 8}), drop_reason::vxlan_unknown_vni);
    none(by_group(f, {.flags = 0}), drop_reason::vxlan_flags);
    none(by_group(f, {.source = us4}), drop_reason::ipv4_source);
    none(by_group(f, {.source = 0x7f00'0001}), drop_reason::ipv4_source, 2);
    // A group, a port and a piece that no tunnel knows; and one that is not sent as groups are.
    none(in_ipv4(vxlan(f), {.destination = group4 + 1}, {1, 0, 0x5e, 1, 2, 4}),
         drop_reason::ipv4_destination);
    none(by_group(f, {.to_port = 8472}), drop_reason::ipv4_destination, 2);
    none(by_group(f, {.fragment = 0x2000}), drop_reason::ipv4_destination, 3);
    none(in_ipv4(vxlan(f), {.destination = group4}), drop_reason::ipv4_destination, 4);
    EXPECT_EQ(l.learnt(), "");
    EXPECT_EQ(l.send(2, by_group(f))[0], one(f)) << "all of them were of no group's making";
}

/// While its interface is set down, flooded frames do not leave by another route, to a neighbour that is not of the group.
TEST(tunnel_group, goes_nowhere_without_its_interface) {
    own_namespace apart;
    lab l("control_plane: {netlink: true}\n" + ports(1) +
          "  - {name: other, device: d1, addresses: [10.0.8.1/24]}\n"
          "  - {name: up, device: d2, addresses: [10.0.9.1/24], host_interface: true}\n"
          "neighbours:\n  static: [{address: 10.0.8.2, mac: \"02:00:00:00:09:02\"}]\n"
          "routes: [{to: 0.0.0.0/0, via: 10.0.8.2}]\ntunnels:\n" +
          to_group() + bridge("{port: p0}, {port: g}"));
    const byte_vector f = frame(everybody, fdb_entry(7));
    const auto sent_by = [&](uint16_t port) { return l.send(0, f)[port].size(); };
    EXPECT_EQ(sent_by(2), 1U);
    state::learned kernel;
    kernel.admin_down = {"up"};
    l.worker().pause();
    ASSERT_TRUE(l.controller().learn(kernel));
    l.worker().resume();
    EXPECT_EQ(l.send(0, f), (lab::outputs{{}, {}, {}}));
    EXPECT_EQ(l.dropped(drop_reason::route_unreachable), 1U);
}

TEST(tunnel_group, is_joined_on_its_interface_alone) {
    lab l(ports(1) +
          "  - {name: other, device: d1, addresses: [10.0.8.1/24]}\n"
          "  - {name: up, device: d2, addresses: [10.0.9.1/24]}\n"
          "neighbours:\n  static: [{address: 10.0.9.2, mac: \"02:00:00:00:09:02\"}]\n"
          "tunnels:\n" +
          one_tunnel("t2", "10.0.9.2") + to_group() + bridge("{port: p0}, {port: t2}, {port: g}"));
    const byte_vector f = frame(everybody, fdb_entry(7));
    EXPECT_EQ(l.send(1, by_group(f)), (lab::outputs{{}, {}, {}}));
    EXPECT_EQ(l.dropped(drop_reason::ipv4_destination), 1U);
    EXPECT_EQ(l.send(2, by_group(f)), (lab::outputs{one(f), {}, {}}));
}

TEST(tunnel_group, over_ipv6) {
    lab l(underlay() + "tunnels:\n" + one_tunnel("t2", "2001:db8:9::2") +
          one_tunnel("g", "ff05::1234", ", interface: up") +
          bridge("{port: p0}, {port: p1}, {port: t2}, {port: g}"));
    const byte_vector f = frame(everybody, fdb_entry(1)),
                      answer = frame(fdb_entry(1), fdb_entry(2));
    const auto out = l.send(0, f)[2];
    ASSERT_EQ(out.size(), 1U);
    const uint16_t port = load_be<uint16_t>(&out[0].at(54));
    EXPECT_EQ(out[0], in_ipv6(summed(vxlan(f, {.port = port}), us6, group6), group6_mac, up_mac,
                              us6, group6));
    const auto of = [&](const byte_vector& inner, const byte_vector& from,
                        const byte_vector& to = group6) {
        return in_ipv6(summed(vxlan(inner), from, to), group6_mac, two_mac, from, to);
    };
    EXPECT_EQ(l.send(2, of(answer, two6)), (lab::outputs{one(answer), {}, {}}));
    EXPECT_EQ(l.learnt(), "p0 01, t2 02");
    byte_vector stranger = two6, not_joined = group6;
    stranger[15] = 9;
    not_joined[15] = 0x35;
    EXPECT_EQ(l.send(2, of(answer, stranger)), (lab::outputs{{}, {}, {}}));
    EXPECT_EQ(l.dropped(drop_reason::vxlan_unknown_vtep), 1U);
    EXPECT_EQ(l.send(2, of(answer, us6)), (lab::outputs{{}, {}, {}}));
    EXPECT_EQ(l.dropped(drop_reason::ipv6_source), 1U);
    EXPECT_EQ(l.send(2, of(answer, two6, not_joined)), (lab::outputs{{}, {}, {}}));
    EXPECT_EQ(l.dropped(drop_reason::ipv6_destination), 1U);
    // A datagram to the group without a tunnel is for us, as a member of the group; no ICMP error
    // is sent.
    const byte_vector elsewhere = in_ipv6(summed(vxlan(answer, {.to_port = 8472}), two6, group6),
                                          group6_mac, two_mac, two6, group6);
    EXPECT_EQ(l.send(2, elsewhere), (lab::outputs{{}, {}, {}}));
    EXPECT_EQ(l.dropped(drop_reason::local_protocol), 1U);
}

/// ACLs and uRPF of the underlay apply to tunnel packets as to all packets.
TEST(tunnel_group, is_judged_as_others_are) {
    const std::string rules =
        "acl:\n  - name: edge\n    rules: [{action: permit, source: 10.0.9.2/32}]\n";
    const byte_vector f = frame(everybody, fdb_entry(7));
    for (const char* const more :
         {", acl: {in: edge}", ", urpf: strict", ", acl: {in: edge}, urpf: strict"}) {
        const bool listed = std::string_view(more).find("acl") != std::string_view::npos;
        lab l(underlay(more) + (listed ? rules : "") + endpoints + to_group() +
              one_tunnel("far", "10.9.9.9") + all_members);
        EXPECT_EQ(l.send(2, by_group(f))[0], one(f)) << more;
        EXPECT_EQ(l.send(2, by_group(f, {.source = three4}))[0].size(), listed ? 0U : 1U) << more;
        EXPECT_EQ(l.dropped(drop_reason::acl_deny), listed ? 1U : 0U) << more;
        const bool checked = std::string_view(more).find("urpf") != std::string_view::npos;
        l.send(2, by_group(f, {.source = 0x0a09'0909}));
        EXPECT_EQ(l.dropped(drop_reason::urpf), checked ? 1U : 0U) << more;
    }
}

/// Where the group is in one VLAN, endpoints of other VLANs get flooded frames as unicast copies.
TEST(tunnel_group, spares_endpoints_where_it_is) {
    lab l(underlay() + endpoints + to_group() +
          bridge("{port: p0, mode: trunk}, {port: p1, mode: trunk}, {port: t2, mode: trunk}, "
                 "{port: t3, mode: trunk, trunks: [20]}, {port: g, mode: trunk, trunks: [10]}"));
    const auto destinations = [&](uint16_t vlan) {
        std::vector<uint32_t> to;
        const auto out = l.send(0, tagged(frame(everybody, fdb_entry(1)), vlan));
        for (const byte_vector& f : out[2]) to.push_back(load_be<uint32_t>(&f.at(30)));
        return to;
    };
    EXPECT_EQ(destinations(10), (std::vector{group4}));
    EXPECT_EQ(destinations(20), (std::vector{two4, three4}));
}

/// The group is reached by a bridge, a VLAN interface, and an interface with an egress list.
TEST(tunnel_group, is_reached_by_any_interface_that_routes) {
    const byte_vector f = frame(everybody, fdb_entry(1));
    {
        lab l(ports(3) + "tunnels:\n" + one_tunnel("g", "239.1.2.3", ", interface: under") +
              "bridges:\n  - {name: lan, members: [{port: p0}, {port: g}]}\n"
              "  - {name: under, members: [{port: p1}, {port: p2}], addresses: [10.0.9.1/24], mac: "
              "\"02:00:00:00:00:0d\"}\n");
        const auto out = l.send(0, f);
        for (const size_t p : {1U, 2U}) {
            ASSERT_EQ(out[p].size(), 1U);
            EXPECT_EQ(out[p][0], sent_to(f, group4, group4_mac, out[p][0]));
        }
    }
    lab l(ports(2) +
          "  - {name: up, device: d2}\n"
          "interfaces: [{port: up, vlan: 7, addresses: [10.0.9.1/24], acl: {out: edge}}]\n"
          "acl:\n  - name: edge\n    rules: [{action: permit, protocol: udp, destination: "
          "239.1.2.3/32}]\n"
          "tunnels:\n" +
          one_tunnel("g", "239.1.2.3", ", interface: up.7") +
          bridge("{port: p0}, {port: p1}, {port: g}"));
    const auto out = l.send(0, f)[2];
    ASSERT_EQ(out.size(), 1U);
    byte_vector untagged = out[0];
    untagged.erase(untagged.begin() + 12, untagged.begin() + 16);
    EXPECT_EQ(untagged, sent_to(f, group4, group4_mac, untagged));
    EXPECT_EQ(load_be<uint32_t>(&out[0][12]), 0x8100'0007U);
}

/// Groups come and go while it forwards: with one, endpoints are spared, without it, they are not.
TEST(tunnel_group, comes_and_goes) {
    const std::string without =
        underlay() + endpoints + bridge("{port: p0}, {port: p1}, {port: t2}, {port: t3}");
    lab l(without);
    const byte_vector f = frame(everybody, fdb_entry(1));
    const auto sent = [&] {
        std::vector<uint32_t> to;
        const auto out = l.send(0, f);
        for (const byte_vector& o : out[2])
            if (o[23] == 17) to.push_back(load_be<uint32_t>(&o.at(30)));
        return to;
    };
    const uint32_t nexthops = l.controller().nexthops().in_use();
    EXPECT_EQ(sent(), (std::vector{two4, three4}));
    EXPECT_EQ(l.send(2, by_group(f))[0].size(), 0U);
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(l.apply(group_beside));
        EXPECT_EQ(sent(), (std::vector{group4}));
        EXPECT_EQ(l.send(2, by_group(f, {.source = three4}))[0], one(f));
        std::string other = group_beside;
        other.replace(other.find("239.1.2.3"), 9, "239.9.9.9");
        ASSERT_TRUE(l.apply(other));
        EXPECT_EQ(sent(), (std::vector{0xef09'0909U}));
        EXPECT_EQ(l.send(2, by_group(f))[0].size(), 0U) << "not this one's any more";
        ASSERT_TRUE(l.apply(without));
        EXPECT_EQ(sent(), (std::vector{two4, three4}));
    }
    EXPECT_EQ(l.controller().nexthops().in_use(), nexthops)
        << "the resources of the groups are returned";
}

}  // namespace
}  // namespace turnpike
