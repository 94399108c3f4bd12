// SPDX-License-Identifier: BSD-3-Clause
// VRFs: the same addresses in several, each with its own routes; routes that lead from one to another; and
// changes of all these by an operator.
#include <gtest/gtest.h>

#include "lib/eal.hpp"
#include "lib/path_lab.hpp"

namespace turnpike::control {
namespace {

using namespace test;
using datapath::drop_reason;

/// West and east are red's, north and south have the same networks in the main VRF; up has red's
/// VLAN 10 and the main VLAN 20, again with the same network.
constexpr const char* twice =
    "vrfs: [{name: red, table: 10}, {name: blue}]\n"
    "ports:\n"
    "  - {name: west, device: d0, vrf: red, addresses: [10.0.1.254/24, \"2001:db8:1::fe/64\"]}\n"
    "  - {name: east, device: d1, vrf: red, addresses: [10.0.2.254/24, \"2001:db8:2::fe/64\"]}\n"
    "  - {name: north, device: d2, addresses: [10.0.1.254/24, \"2001:db8:1::fe/64\"]}\n"
    "  - {name: south, device: d3, addresses: [10.0.2.254/24, \"2001:db8:2::fe/64\"]}\n"
    "  - {name: up, device: d4}\n"
    "interfaces:\n"
    "  - {port: up, vlan: 10, vrf: red, addresses: [10.0.5.254/24]}\n"
    "  - {port: up, vlan: 20, addresses: [10.0.5.254/24]}\n"
    "routes:\n"
    "  - {to: 10.9.0.0/16, via: 10.0.2.2, vrf: red}\n"
    "  - {to: 10.9.0.0/16, via: 10.0.2.9}\n"
    "  - {to: 10.8.0.0/16, via: 10.0.2.2, port: south, vrf: red}\n"
    "  - {to: 10.7.0.0/16, via: 10.0.2.9}\n"
    "neighbours:\n  static:\n"
    "    - {address: 10.0.2.2, port: east, mac: \"02:00:00:00:00:11\"}\n"
    "    - {address: 10.0.2.2, port: south, mac: \"02:00:00:00:00:31\"}\n"
    "    - {address: 10.0.2.9, port: south, mac: \"02:00:00:00:00:39\"}\n"
    "    - {address: \"2001:db8:2::2\", port: east, mac: \"02:00:00:00:00:16\"}\n"
    "    - {address: \"2001:db8:2::2\", port: south, mac: \"02:00:00:00:00:36\"}\n"
    "    - {address: 10.0.1.1, port: west, mac: \"02:00:00:00:00:0a\"}\n"
    "    - {address: 10.0.1.1, port: north, mac: \"02:00:00:00:00:2a\"}\n";

std::string with(const std::string& before, const std::string& after) {
    std::string out = twice;
    const size_t at = out.find(before);
    REQUIRE(at != std::string::npos);
    return out.replace(at, before.size(), after);
}

class vrf : public ::testing::Test {
  protected:
    void TearDown() override {
        for (uint16_t p = 0; p < 5; ++p) (void)lab_.sent(p);
        lab_.check_balance();
    }
    /// Egress port and last byte of the destination MAC address of a packet; 0: dropped.
    using egress = std::pair<uint16_t, uint8_t>;
    egress egress_of(uint16_t in, const byte_vector& packet, uint16_t type = 0x0800,
                     uint16_t vlan = 0) {
        for (uint16_t p = 0; p < 5; ++p) (void)lab_.sent(p);
        const auto& mac = lab_.snapshot().port[in].mac;
        const byte_vector us(mac.bytes, mac.bytes + 6);
        const byte_vector rest = vlan == 0 ? packet : tag(vlan, type, packet);
        lab_.offer(in, ethernet(vlan == 0 ? type : 0x8100, rest, us));
        lab_.settle();
        for (uint16_t p = 0; p < 5; ++p)
            for (const byte_vector& frame : lab_.sent(p))
                if (frame[0] == 2) return {p, frame[5]};
        return {0, 0};
    }
    egress v4(uint16_t in, uint32_t to, uint32_t source = 0x0a000101, uint16_t vlan = 0) {
        return egress_of(in, ipv4({.source = source, .destination = to}, udp(counted(20))), 0x0800,
                         vlan);
    }
    running_lab lab_{twice};
};

TEST_F(vrf, each_has_its_own_routes_and_neighbours) {
    EXPECT_EQ(v4(0, 0x0a090001), (egress{1, 0x11}));
    EXPECT_EQ(v4(2, 0x0a090001), (egress{3, 0x39}));
    EXPECT_EQ(v4(0, 0x0a000202), (egress{1, 0x11}));
    EXPECT_EQ(v4(2, 0x0a000202), (egress{3, 0x31}));
    EXPECT_EQ(egress_of(0, ipv6({}, udp(counted(20))), 0x86dd), (egress{1, 0x16}));
    EXPECT_EQ(egress_of(2, ipv6({}, udp(counted(20))), 0x86dd), (egress{3, 0x36}));
    // VRF red has no route there; the ICMP error to the sender comes from red.
    EXPECT_EQ(v4(0, 0x0a070001), (egress{0, 0x0a}));
    EXPECT_EQ(lab_.dropped(drop_reason::no_route), 1U);
}

TEST_F(vrf, a_next_hop_in_another_is_a_way_out) { EXPECT_EQ(v4(0, 0x0a080001), (egress{3, 0x31})); }

/// Frames of both in one burst: by tags of one port.
TEST_F(vrf, a_burst_of_several) {
    const auto& mac = lab_.snapshot().port[4].mac;
    const byte_vector us(mac.bytes, mac.bytes + 6);
    for (uint16_t p = 0; p < 5; ++p) (void)lab_.sent(p);
    for (const uint16_t vlan : std::array<uint16_t, 5>{10, 20, 20, 10, 10})
        lab_.offer(
            4,
            ethernet(0x8100,
                     tag(vlan, 0x0800,
                         ipv4({.source = 0x0a000501, .destination = 0x0a090001}, udp(counted(20)))),
                     us));
    lab_.settle();
    EXPECT_EQ(lab_.sent(1).size(), 3U);
    EXPECT_EQ(lab_.sent(3).size(), 2U);
}

/// A local address of one VRF is an ordinary address in another.
TEST_F(vrf, our_addresses_are_ours_in_theirs_only) {
    ASSERT_TRUE(lab_.apply(with("2001:db8:1::fe/64\"]}\n  - {name: east",
                                "2001:db8:1::fe/64\", 10.0.77.1/24]}\n"
                                "  - {name: east")));
    EXPECT_EQ(v4(0, 0x0a090001, 0x0a004d01), (egress{0, 0})) << "forged";
    EXPECT_EQ(lab_.dropped(drop_reason::ipv4_source), 1U);
    EXPECT_EQ(v4(2, 0x0a090001, 0x0a004d01), (egress{3, 0x39}));
    EXPECT_EQ(v4(2, 0x0a004d01), (egress{2, 0x2a})) << "not for us: its sender is told";
    EXPECT_EQ(lab_.dropped(drop_reason::no_route), 1U);
}

TEST_F(vrf, changes_while_it_runs) {
    // An interface moves to another VRF, with its neighbours.
    ASSERT_TRUE(lab_.apply(with("west, device: d0, vrf: red", "west, device: d0, vrf: blue")));
    EXPECT_EQ(v4(0, 0x0a090001).first, 0) << "blue has no route";
    EXPECT_EQ(v4(4, 0x0a090001, 0x0a000501, 10), (egress{1, 0x11})) << "red is as it was";
    ASSERT_TRUE(lab_.apply(twice));
    EXPECT_EQ(v4(0, 0x0a090001), (egress{1, 0x11}));
    // A route of red alone.
    ASSERT_TRUE(lab_.apply(with("{to: 10.9.0.0/16, via: 10.0.2.2, vrf: red}",
                                "{to: 10.9.0.0/16, type: blackhole, vrf: red}")));
    EXPECT_EQ(v4(0, 0x0a090001), (egress{0, 0}));
    EXPECT_EQ(lab_.dropped(drop_reason::route_blackhole), 1U);
    EXPECT_EQ(v4(2, 0x0a090001), (egress{3, 0x39}));
    ASSERT_TRUE(lab_.apply(twice));
    EXPECT_EQ(v4(0, 0x0a090001), (egress{1, 0x11}));
    // VRF red is removed and added again, and the memory of its table with it.
    constexpr const char* without =
        "ports:\n"
        "  - {name: west, device: d0, addresses: [10.0.1.254/24]}\n"
        "  - {name: east, device: d1, addresses: [10.0.2.254/24]}\n"
        "  - {name: north, device: d2, addresses: [10.0.3.254/24]}\n"
        "  - {name: south, device: d3, addresses: [10.0.4.254/24]}\n"
        "  - {name: up, device: d4, addresses: [10.0.5.254/24]}\n";
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(lab_.apply(without));
        EXPECT_EQ(lab_.controller().routing().vrfs().indexes().size(), 1U);
        ASSERT_TRUE(lab_.apply(twice));
        EXPECT_EQ(v4(0, 0x0a090001), (egress{1, 0x11}));
        EXPECT_EQ(v4(0, 0x0a080001), (egress{3, 0x31}));
    }
}

TEST_F(vrf, our_own_messages_stay_in_theirs) {
    // An echo reply from our address leaves by the VRF of its request.
    const auto echo = ipv4({.protocol = 1, .source = 0x0a000101, .destination = 0x0a0001fe},
                           icmp4(8, 0, counted(8)));
    EXPECT_EQ(egress_of(0, echo), (egress{0, 0x0a}));
    EXPECT_EQ(egress_of(2, echo), (egress{2, 0x2a}));
}

/// A bridge with addresses in a VRF: bridged among its members, routed by the VRF's routes.
TEST(vrf_of_a_bridge, routes_and_bridges) {
    running_lab l(
        "vrfs: [{name: red}]\n"
        "ports:\n"
        "  - {name: west, device: d0}\n"
        "  - {name: east, device: d1}\n"
        "  - {name: north, device: d2, vrf: red, addresses: [10.0.3.254/24]}\n"
        "  - {name: south, device: d3, addresses: [10.0.1.254/24, 10.0.3.253/24]}\n"
        "bridges: [{name: lan, members: [{port: west}, {port: east}], vrf: red, addresses: "
        "[10.0.1.254/24]}]\n"
        "neighbours:\n  static:\n"
        "    - {address: 10.0.3.2, port: north, mac: \"02:00:00:00:00:32\"}\n"
        "    - {address: 10.0.3.2, port: south, mac: \"02:00:00:00:00:33\"}\n");
    const auto& mac = l.snapshot().port[0].mac;
    const auto packet = ipv4({.destination = 0x0a000302}, udp(counted(20)));
    for (uint16_t p = 0; p < 4; ++p) (void)l.sent(p);
    l.offer(0, ethernet(0x0800, packet, byte_vector(mac.bytes, mac.bytes + 6)));
    l.offer(0, ethernet(0x0800, packet, {2, 0, 0, 0, 0, 0x77}));
    l.settle();
    const auto routed = l.sent(2), bridged = l.sent(1);
    ASSERT_EQ(routed.size(), 1U);
    EXPECT_EQ(routed[0][5], 0x32);
    EXPECT_TRUE(l.sent(3).empty()) << "the main one has that network, too";
    ASSERT_EQ(bridged.size(), 1U);
    EXPECT_EQ(bridged[0][5], 0x77);
    (void)l.sent(0);
    l.check_balance();
}

}  // namespace
}  // namespace turnpike::control
