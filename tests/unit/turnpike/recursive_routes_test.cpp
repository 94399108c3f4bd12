// SPDX-License-Identifier: BSD-3-Clause
// Recursive routes: resolution by other routes; a change of resolution updates all of them by one store.
#include <gtest/gtest.h>

#include "control/routing/recursion.hpp"
#include "lib/eal.hpp"
#include "unit/turnpike/neighbour_lab.hpp"

namespace turnpike::control {
namespace {

using namespace test;
using datapath::drop_reason;

constexpr const char* far_away =
    "SETTINGS\n"
    "vrfs: [{name: red, table: 10}]\n"
    "ports:\n"
    "  - {name: west, device: d0, addresses: [10.0.1.254/24, \"2001:db8:1::fe/64\"]}\n"
    "  - {name: east, device: d1, addresses: [10.0.2.254/24, \"2001:db8:2::fe/64\"]}\n"
    "  - {name: north, device: d2, addresses: [10.0.3.254/24]}\n"
    "  - {name: south, device: d3, vrf: red, addresses: [10.0.4.254/24]}\n"
    "routes:\n"
    "  - lines: |\n"
    "      10.77.0.0/16 via 10.0.2.9\n"
    "LINES"
    "  - lines: |\n"
    "      10.76.0.0/16 via 10.0.4.9\n"
    "RED"
    "    vrf: red\n"
    "neighbours:\n  static:\n"
    "    - {address: 10.0.1.1, mac: \"02:00:00:00:00:0a\"}\n"
    "    - {address: 10.0.2.2, mac: \"02:00:00:00:00:21\"}\n"
    "    - {address: 10.0.2.3, mac: \"02:00:00:00:00:22\"}\n"
    "    - {address: 10.0.3.2, mac: \"02:00:00:00:00:31\"}\n"
    "    - {address: 10.0.4.2, port: south, mac: \"02:00:00:00:00:41\"}\n"
    "    - {address: \"2001:db8:2::2\", mac: \"02:00:00:00:00:26\"}\n";

using lines = std::vector<std::string>;

std::string far_away_with(const lines& routes, const std::string& settings = "",
                          const lines& red = {}) {
    std::string out = far_away;
    const auto put = [&](const std::string& name, const lines& all) {
        std::string text;
        for (const std::string& line : all) text += "      " + line + "\n";
        out.replace(out.find(name), name.size(), text);
    };
    out.replace(out.find("SETTINGS"), 8, settings);
    put("LINES", routes);
    put("RED", red);
    return out;
}

class recursive_routes : public neighbour_lab {
  protected:
    recursive_routes() : neighbour_lab(far_away_with({})) {}
    void apply(const lines& routes, const std::string& settings = "", const lines& red = {}) {
        auto applied = lab_.apply(far_away_with(routes, settings, red));
        ASSERT_TRUE(applied) << applied.error().message();
        lab_.settle();
        forget();
    }
    /// The egress of a packet to an address, as the last byte of its neighbour's MAC address; 0:
    /// dropped.
    unsigned egress_port(const char* to, uint16_t in = 0, uint16_t flow = 1) {
        forget();
        const auto a = *parse_address(to);
        const byte_vector ports = be(flow) + be(uint16_t{80}) + zeros(16);
        lab_.offer(
            in,
            a.v6 ? ethernet(0x86dd, ipv6({.destination = {a.bytes.begin(), a.bytes.end()}}, ports),
                            us(in))
                 : ethernet(0x0800, ipv4({.source = 0x0a000101, .destination = a.v4()}, ports),
                            us(in)));
        lab_.settle();
        unsigned out = 0;
        for (uint16_t port = 0; port < 4; ++port)
            for (const byte_vector& frame : lab_.sent(port))
                if (port != in) out = frame[5];
        return out;
    }
    uint32_t nexthop_of(const char* to, uint8_t vrf = 0) {
        return lab_.controller().routing().tables().lookup(vrf, *parse_address(to));
    }
    unresolved why(const char* gateway, uint8_t vrf = 0) {
        const resolved_gateway* const g =
            lab_.controller().routing().recursive().find(vrf, *parse_address(gateway));
        EXPECT_NE(g, nullptr) << gateway;
        return g == nullptr ? unresolved::none : g->why;
    }
    void link(uint16_t port, bool up) {
        const uint16_t ethdev = lab_.snapshot().port[port].ethdev_id;
        ASSERT_EQ(up ? rte_eth_dev_set_link_up(ethdev) : rte_eth_dev_set_link_down(ethdev), 0);
        lab_.controller().poll_links(++looks_);
        lab_.settle();
    }
    uint64_t looks_ = 1'000'000;
};

/// The route below a thousand recursive routes changes: one route is written, with one store, and
/// all of them follow.
TEST_F(recursive_routes, a_thousand_by_one_store) {
    lines all{"10.50.0.0/16 via 10.0.2.2"};
    for (unsigned n = 0; n < 1000; ++n)
        all.push_back("10." + std::to_string(100 + n / 256) + "." + std::to_string(n % 256) +
                      ".0/24 via 10.50.0.1 recursive");
    apply(all);
    const uint32_t nexthop = nexthop_of("10.100.0.1");
    const auto each_goes = [&](unsigned where) {
        for (unsigned n = 0; n < 1000; n += 111) {
            const std::string to =
                "10." + std::to_string(100 + n / 256) + "." + std::to_string(n % 256) + ".7";
            EXPECT_EQ(nexthop_of(to.c_str()), nexthop);
            EXPECT_EQ(egress_port(to.c_str()), where) << to;
        }
    };
    each_goes(0x21);
    unsigned stores = 0;
    const auto becomes = [&](const std::string& below, unsigned where) {
        SCOPED_TRACE(below);
        const uint64_t written = lab_.controller().routing().routes().written(),
                       before = lab_.controller().routing().groups().stores();
        all[0] = below;
        apply(all);
        EXPECT_EQ(lab_.controller().routing().routes().written() - written, 1U);
        EXPECT_EQ(lab_.controller().routing().groups().stores() - before, 1U);
        each_goes(where);
        ++stores;
    };
    becomes("10.50.0.0/16 via 10.0.3.2", 0x31);
    becomes("blackhole 10.50.0.0/16", 0);
    EXPECT_GT(lab_.dropped(drop_reason::route_blackhole), 0U);
    becomes("10.50.0.0/16 via 10.0.2.3", 0x22);
    // Changes of unrelated routes store nothing.
    const uint64_t before = lab_.controller().routing().groups().stores();
    all.push_back("10.51.0.0/16 via 10.0.2.2");
    apply(all);
    EXPECT_EQ(lab_.controller().routing().groups().stores(), before);
    // A longer prefix is added and removed.
    all.push_back("10.50.0.0/24 via 10.0.3.2");
    apply(all);
    each_goes(0x31);
    all.pop_back();
    apply(all);
    each_goes(0x22);
    EXPECT_EQ(lab_.controller().routing().groups().stores(), before + 2);
}

TEST_F(recursive_routes, by_a_connected_network_a_link_and_ipv6) {
    apply({"10.9.0.0/16 via 10.0.2.2 recursive", "10.8.0.0/16 via 10.60.0.5 recursive",
           "10.60.0.0/24 dev north", "10.7.0.0/16 via 2001:db8:50::1 recursive",
           "2001:db8:9::/48 via 2001:db8:50::1 recursive", "2001:db8:50::/48 via 2001:db8:2::2"});
    EXPECT_EQ(egress_port("10.9.0.1"), 0x21U);
    EXPECT_EQ(egress_port("10.7.0.1"), 0x26U);
    EXPECT_EQ(egress_port("2001:db8:9::1"), 0x26U);
    // With a link route below, the gateway itself is the neighbour.
    EXPECT_EQ(egress_port("10.8.0.1"), 0xffU) << "asked for";
    answer(2, 0x0a3c0005, 0x0a0003fe, {2, 0, 0, 0, 0, 0x32});
    EXPECT_EQ(egress_port("10.8.0.1"), 0x32U);
    // The neighbour's MAC address changes: its adjacency is written, no next hop group.
    const uint64_t before = lab_.controller().routing().groups().stores();
    answer(2, 0x0a3c0005, 0x0a0003fe, {2, 0, 0, 0, 0, 0x33});
    EXPECT_EQ(egress_port("10.8.0.1"), 0x33U);
    EXPECT_EQ(lab_.controller().routing().groups().stores(), before);
}

TEST_F(recursive_routes, several_ways_of_several_gateways) {
    apply({"10.9.0.0/16 nexthop via 10.50.0.1 nexthop via 10.51.0.1 recursive",
           "10.50.0.0/16 nexthop via 10.0.2.2 weight 3 nexthop via 10.0.3.2",
           "10.51.0.0/16 via 10.0.2.3"});
    const auto group = lab_.controller().routing().groups().of_nexthop(nexthop_of("10.9.0.1"));
    std::map<std::string, unsigned> weights;
    for (const auto& m : group.members)
        weights[lab_.controller().routing().neighbours().of_nexthop(m.nexthop)->address.text()] =
            m.weight;
    EXPECT_EQ(weights,
              (std::map<std::string, unsigned>{{"10.0.2.2", 3}, {"10.0.2.3", 4}, {"10.0.3.2", 1}}));
    const auto shares = [&] {
        std::map<unsigned, unsigned> out;
        for (uint16_t flow = 0; flow < 400; ++flow) ++out[egress_port("10.9.0.1", 0, flow)];
        return out;
    };
    auto all = shares();
    EXPECT_NEAR(all[0x22], 200, 50);
    EXPECT_NEAR(all[0x21], 150, 50);
    EXPECT_NEAR(all[0x31], 50, 35);
    link(1, false);
    EXPECT_EQ(shares(), (std::map<unsigned, unsigned>{{0x31, 400}}));
    link(1, true);
    EXPECT_EQ(shares(), all);
    // An unresolved gateway is left out of the group.
    apply({"10.9.0.0/16 nexthop via 10.50.0.1 nexthop via 10.51.0.1 recursive",
           "10.51.0.0/16 via 10.0.2.3"});
    EXPECT_EQ(shares(), (std::map<unsigned, unsigned>{{0x22, 400}}));
    EXPECT_EQ(why("10.50.0.1"), unresolved::no_route);
}

/// An unresolved route drops with a reason and an ICMP error to the sender; it forwards as soon as
/// it resolves.
TEST_F(recursive_routes, what_leads_nowhere) {
    const lines alone{"10.9.0.0/16 via 10.50.0.1 recursive", "10.8.0.0/16 via 10.50.0.1 recursive"};
    apply(alone);
    lab_.offer(
        0,
        ethernet(0x0800, ipv4({.source = 0x0a000101, .destination = 0x0a090001}, udp(counted(20))),
                 us(0)));
    lab_.settle();
    EXPECT_EQ(lab_.dropped(drop_reason::route_unreachable), 1U);
    const auto errors = lab_.sent(0);
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors[0][34], 3) << "destination unreachable";
    EXPECT_EQ(errors[0][35], 1) << "host";
    EXPECT_EQ(why("10.50.0.1"), unresolved::no_route);
    const uint32_t nexthop = nexthop_of("10.9.0.1");
    lines with = alone;
    with.push_back("10.50.0.0/16 via 10.0.2.2");
    apply(with);
    EXPECT_EQ(egress_port("10.9.0.1"), 0x21U);
    EXPECT_EQ(egress_port("10.8.0.1"), 0x21U);
    EXPECT_EQ(nexthop_of("10.8.0.1"), nexthop);
    for (const auto& [gateway, reason] :
         {std::pair{"10.0.1.254", unresolved::ours}, {"10.0.2.255", unresolved::broadcast}}) {
        apply({std::string("10.9.0.0/16 via ") + gateway + " recursive"});
        EXPECT_EQ(why(gateway), reason) << gateway;
        EXPECT_EQ(egress_port("10.9.0.1"), 0U) << gateway;
    }
}

TEST_F(recursive_routes, default_routes_where_they_may) {
    const lines all{"0.0.0.0/0 via 10.0.2.2", "10.9.0.0/16 via 10.50.0.1 recursive"};
    apply(all);
    EXPECT_EQ(why("10.50.0.1"), unresolved::only_default);
    EXPECT_EQ(egress_port("10.9.0.1"), 0U);
    apply(all, "resolve_via_default: true");
    EXPECT_EQ(why("10.50.0.1"), unresolved::none);
    EXPECT_EQ(egress_port("10.9.0.1"), 0x21U);
    apply(all);
    EXPECT_EQ(egress_port("10.9.0.1"), 0U);
}

TEST_F(recursive_routes, circles_and_long_paths) {
    // A loop through itself; through another route; and a route that leads into a loop.
    apply({"10.9.0.0/16 via 10.9.0.1 recursive", "10.8.0.0/16 via 10.7.0.1 recursive",
           "10.7.0.0/16 via 10.8.0.1 recursive", "10.6.0.0/16 via 10.8.0.9 recursive",
           "10.5.0.0/16 nexthop via 10.7.0.9 nexthop via 10.0.2.2 recursive"});
    for (const char* g : {"10.9.0.1", "10.7.0.1", "10.8.0.1", "10.8.0.9", "10.7.0.9"})
        EXPECT_EQ(why(g), unresolved::too_deep) << g;
    for (const char* to : {"10.9.3.3", "10.8.3.3", "10.7.3.3", "10.6.3.3"})
        EXPECT_EQ(egress_port(to), 0U) << to;
    EXPECT_EQ(egress_port("10.5.3.3"), 0x21U) << "by its other gateway";
    // A longer prefix ends the circle.
    apply({"10.9.0.0/16 via 10.9.0.1 recursive", "10.9.0.1/32 via 10.0.2.2"});
    EXPECT_EQ(egress_port("10.9.3.3"), 0x21U);
    for (const unsigned more : {0U, 1U}) {
        lines path{"10.100.0.0/16 via 10.0.3.2"};
        for (unsigned n = 1; n <= max_recursions + 1 + more; ++n)
            path.push_back("10." + std::to_string(100 + n) + ".0.0/16 via 10." +
                           std::to_string(99 + n) + ".0.1 recursive");
        apply(path);
        EXPECT_EQ(egress_port("10.109.0.9"), 0x31U) << "through eight";
        if (more != 0) {
            EXPECT_EQ(egress_port("10.110.0.9"), 0U);
            EXPECT_EQ(why("10.109.0.1"), unresolved::too_deep);
        }
    }
    apply({"10.9.0.0/16 via 10.8.0.1 recursive", "10.8.0.0/16 via 10.50.0.1 recursive"});
    EXPECT_EQ(why("10.8.0.1"), unresolved::beyond);
}

TEST_F(recursive_routes, of_a_vrf) {
    const lines red{"10.9.0.0/16 via 10.50.0.1 recursive", "10.50.0.0/16 via 10.0.4.2"};
    apply({"10.9.0.0/16 via 10.50.0.1 recursive"}, "", red);
    EXPECT_EQ(egress_port("10.9.0.1"), 0U) << "red's routes are red's";
    const uint8_t ifindex = lab_.controller().routing().vrfs().indexes().at("red");
    EXPECT_EQ(why("10.50.0.1", ifindex), unresolved::none);
    EXPECT_NE(nexthop_of("10.9.0.1"), nexthop_of("10.9.0.1", ifindex))
        << "nor is the target shared";
    lab_.offer(
        3,
        ethernet(0x0800, ipv4({.source = 0x0a000401, .destination = 0x0a090001}, udp(counted(20))),
                 us(3)));
    lab_.settle();
    EXPECT_EQ(lab_.sent(3).size(), 1U) << "back by south";
    // VRF red is removed, and added with another route.
    const uint32_t in_use = lab_.controller().nexthops().in_use();
    std::string gone = far_away_with({"10.9.0.0/16 via 10.0.2.2 recursive"});
    for (const std::string part :
         {"vrfs: [{name: red, table: 10}]\n", ", vrf: red", "    vrf: red\n"})
        gone.erase(gone.find(part), part.size());
    auto applied = lab_.apply(gone);
    ASSERT_TRUE(applied) << applied.error().message();
    lab_.settle();  // announces south's address in another VRF
    EXPECT_EQ(egress_port("10.9.0.1"), 0x21U);
    EXPECT_EQ(lab_.controller().routing().recursive().find(ifindex, *parse_address("10.50.0.1")),
              nullptr);
    apply({"10.9.0.0/16 via 10.50.0.1 recursive"}, "", red);
    EXPECT_EQ(egress_port("10.9.0.1"), 0U);
    lab_.settle();
    EXPECT_EQ(lab_.controller().nexthops().in_use(), in_use);
}

}  // namespace
}  // namespace turnpike::control
