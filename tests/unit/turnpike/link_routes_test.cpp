// SPDX-License-Identifier: BSD-3-Clause
// Routes without a gateway: each destination is a neighbour on the link that they name.
#include <gtest/gtest.h>

#include "lib/eal.hpp"
#include "unit/turnpike/neighbour_lab.hpp"

namespace turnpike::control {
namespace {

using namespace test;
using datapath::drop_reason;

/// Red's east and the main south have the same route to their links.
constexpr const char* linked =
    "vrfs: [{name: red, table: 10}]\n"
    "ports:\n"
    "  - {name: west, device: d0, addresses: [10.0.1.254/24, \"2001:db8:1::fe/64\"]}\n"
    "  - {name: east, device: d1, vrf: red, addresses: [10.0.2.254/24, \"2001:db8:2::fe/64\"]}\n"
    "  - {name: north, device: d2, vrf: red, addresses: [10.0.3.254/24]}\n"
    "  - {name: south, device: d3, addresses: [10.0.4.254/24, \"2001:db8:4::fe/64\"]}\n"
    "routes:\n"
    "  - {to: 10.9.0.0/16, port: south}\n"
    "  - {to: 10.9.5.0/24, via: 10.0.4.2}\n"
    "  - {to: 10.6.0.7/32, port: south}\n"
    "  - {to: \"2001:db8:9::/48\", port: south}\n"
    "  - lines: |\n      10.9.0.0/16 dev east scope link\n"
    "    vrf: red\n";

constexpr uint16_t west_port = 0, east_port = 1, north_port = 2, south_port = 3;

class link_routes : public neighbour_lab {
  protected:
    link_routes() : neighbour_lab(linked) {}
    void apply(const std::string& configuration) {
        auto applied = lab_.apply(configuration);
        ASSERT_TRUE(applied) << applied.error().message();
        lab_.settle();
    }
    void offer(uint16_t in, uint32_t to) {
        lab_.offer(
            in, ethernet(0x0800, ipv4({.source = 0x0a000101, .destination = to}, udp(counted(20))),
                         us(in)));
        lab_.settle();
    }
    bool knows(const char* interface, uint32_t a) {
        return lab_.controller().routing().neighbours().knows(
            lab_.controller().interfaces().indexes().at(interface), ip_address::from_v4(a));
    }
    /// The next hop that a worker's lookup returns.
    uint32_t nexthop_of(uint16_t in, uint32_t to) {
        const uint8_t vrf = lab_.snapshot().interfaces[lab_.snapshot().port[in].untagged].vrf;
        return lab_.controller().routing().tables().lookup(vrf, ip_address::from_v4(to));
    }
    datapath::nexthop_kind kind_of(uint16_t in, uint32_t to) {
        return lab_.controller().nexthops()[nexthop_of(in, to)].kind;
    }
    /// The first packet causes a solicitation from `ours`; after the reply the workers forward
    /// without control.
    void goes(uint16_t in, uint16_t out, uint32_t to, uint32_t ours) {
        SCOPED_TRACE(out);
        offer(in, to);
        const auto asked = lab_.sent(out);
        ASSERT_EQ(asked.size(), 1U);
        const byte_vector who =
            ethernet(0x0806, arp({.sender_mac = us(out), .sender_ip = ours, .target_ip = to}),
                     byte_vector(6, 0xff), us(out));
        EXPECT_TRUE(std::equal(who.begin(), who.end(), asked[0].begin()));
        const byte_vector mac{2, 0, 0, 0, 0xaa, static_cast<uint8_t>(out)};
        answer(out, to, ours, mac);
        EXPECT_EQ(lab_.sent(out).size(), 1U) << "what waited";
        EXPECT_EQ(kind_of(in, to), datapath::nexthop_kind::adjacency) << "by its host route";
        offer(in, to);
        const auto sent = lab_.sent(out);
        ASSERT_EQ(sent.size(), 1U);
        EXPECT_TRUE(std::equal(mac.begin(), mac.end(), sent[0].begin()));
    }
};

TEST_F(link_routes, destinations_are_asked_for) {
    goes(west_port, south_port, 0x0a090102, 0x0a0004fe);
    goes(west_port, south_port, 0x0a060007, 0x0a0004fe);  // a host's own route
    // A longer prefix with a gateway does not use the link route.
    offer(west_port, 0x0a090502);
    EXPECT_FALSE(knows("south", 0x0a090502));
    EXPECT_TRUE(knows("south", 0x0a000402));
}

TEST_F(link_routes, of_a_vrf) {
    goes(north_port, east_port, 0x0a090102, 0x0a0002fe);
    goes(west_port, south_port, 0x0a090102, 0x0a0004fe);
}

TEST_F(link_routes, of_ipv6) {
    const auto to = *parse_address("2001:db8:9::7");
    lab_.offer(west_port, ethernet(0x86dd, ipv6({.destination = {to.bytes.begin(), to.bytes.end()}},
                                                udp(counted(4)))));
    lab_.settle();
    const auto asked = lab_.sent(south_port);
    ASSERT_EQ(asked.size(), 1U);
    const byte_vector target(asked[0].begin() + 14 + 40 + 8, asked[0].begin() + 14 + 40 + 24);
    EXPECT_EQ(target, byte_vector(to.bytes.begin(), to.bytes.end()));
    EXPECT_TRUE(lab_.controller().routing().neighbours().knows(
        lab_.controller().interfaces().indexes().at("south"), to));
}

/// A host on the link may send an ARP request for our address, and is learnt from it.
TEST_F(link_routes, hosts_there_are_learnt) {
    for (const uint32_t host : std::array<uint32_t, 3>{0x0a090102, 0x0a0a0102, 0x0a090502}) {
        lab_.offer(south_port, ethernet(0x0806, arp({.sender_ip = host, .target_ip = 0x0a0004fe}),
                                        byte_vector(6, 0xff)));
        lab_.settle();
        EXPECT_EQ(lab_.sent(south_port).size(), 1U) << "answered";
        EXPECT_EQ(knows("south", host), host == 0x0a090102) << std::hex << host;
    }
}

/// A route inside a connected network keeps its packets, also from a host that claims one of its addresses.
TEST_F(link_routes, a_longer_route_in_a_connected_network_has_no_neighbours) {
    constexpr uint32_t host = 0x0a000482;
    goes(west_port, south_port, host, 0x0a0004fe);
    goes(west_port, south_port, 0x0a000403, 0x0a0004fe);
    std::string longer = linked;
    longer.insert(longer.find("  - {to: 10.9.0.0/16"), "  - {to: 10.0.4.128/25, via: 10.0.1.2}\n");
    apply(longer);
    EXPECT_FALSE(knows("south", host));
    const auto claim = [&] {
        lab_.offer(south_port, ethernet(0x0806, arp({.sender_ip = host, .target_ip = 0x0a0004fe}),
                                        byte_vector(6, 0xff)));
        lab_.settle();
        EXPECT_EQ(lab_.sent(south_port).size(), 1U) << "answered";
    };
    claim();
    EXPECT_FALSE(knows("south", host));
    offer(west_port, host);
    EXPECT_EQ(lab_.sent(south_port).size(), 0U);
    EXPECT_EQ(kind_of(west_port, 0x0a000403), datapath::nexthop_kind::adjacency) << "stays";
    apply(linked);
    claim();
    offer(west_port, host);
    EXPECT_EQ(lab_.sent(south_port).size(), 1U);
}

/// Neighbours are removed with their link route; a gateway has a host route as long as a link route
/// covers it.
TEST_F(link_routes, come_and_go) {
    goes(west_port, south_port, 0x0a090102, 0x0a0004fe);
    const std::string whole = linked;
    const auto replaced = [&](const std::string& before, const std::string& after) {
        std::string out = whole;
        return out.replace(out.find(before), before.size(), after);
    };
    apply(replaced("{to: 10.9.0.0/16, port: south}",
                   "{to: 10.8.0.0/16, via: 10.9.1.3, port: south, onlink: true}"));
    EXPECT_FALSE(knows("south", 0x0a090102));
    offer(west_port, 0x0a090102);
    EXPECT_EQ(lab_.dropped(drop_reason::no_route), 1U);
    forget();
    offer(west_port, 0x0a080001);
    answer(south_port, 0x0a090103, 0x0a0004fe, {2, 0, 0, 0, 0xaa, 3});
    forget();
    const auto reaches_gateway = [&] {
        forget();
        offer(west_port, 0x0a090103);
        return lab_.sent(south_port).size();
    };
    EXPECT_EQ(reaches_gateway(), 0U);
    apply(replaced("{to: 10.9.0.0/16, port: south}",
                   "{to: 10.9.0.0/16, port: south}\n"
                   "  - {to: 10.8.0.0/16, via: 10.9.1.3, port: south, onlink: true}"));
    EXPECT_EQ(reaches_gateway(), 1U);
    EXPECT_EQ(kind_of(west_port, 0x0a090103), datapath::nexthop_kind::adjacency);
    apply(replaced("{to: 10.9.0.0/16, port: south}",
                   "{to: 10.8.0.0/16, via: 10.9.1.3, port: south, onlink: true}"));
    EXPECT_EQ(reaches_gateway(), 0U);
}

/// A static entry resolves its gateway; without the entry the gateway is unresolved as before.
TEST_F(link_routes, a_gateway_that_was_static) {
    constexpr uint32_t gateway = 0x0a000402, nobody = 0x0a00044d;
    const std::string plain = linked;
    apply(plain + "neighbours: {static: [{address: 10.0.4.2, mac: \"02:00:00:00:aa:02\"}]}\n");
    EXPECT_EQ(kind_of(west_port, gateway), datapath::nexthop_kind::adjacency);
    apply(plain);
    EXPECT_EQ(nexthop_of(west_port, gateway), nexthop_of(west_port, nobody));
}

}  // namespace
}  // namespace turnpike::control
