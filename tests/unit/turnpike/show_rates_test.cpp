// SPDX-License-Identifier: BSD-3-Clause
// `show rates` of a router, a bridge and a tunnel, with the test's clock.
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "request_lab.hpp"

namespace turnpike {
namespace {

using namespace test;

class show_rates : public request_lab {
  protected:
    /// The entry of a list by the value of a member; an empty object: none.
    json rated(const char* list, const char* member, const json& value) {
        const json shown_now = shown("rates");
        for (const json& one : shown_now.at(list))
            if (one.at(member) == value) return one;
        return json::object();
    }
    void second_passes() { l_.control(1000); }
};

TEST_F(show_rates, count_what_passed_in_the_window) {
    second_passes();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(l_.egress_port("10.9.0.1"), 1);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(l_.egress_port("203.0.113.1"), std::nullopt);
    const auto& before = l_.controller().report().ports;
    const uint64_t bytes = before[0].totals.rx_bytes;
    second_passes();
    const json west = rated("ports", "name", "west");
    EXPECT_NEAR(west["1s"]["rx_packets"].get<double>(), 7, 1e-6);
    EXPECT_NEAR(west["1s"]["drops"].get<double>(), 3, 1e-6);
    EXPECT_NEAR(west["1s"]["seconds"].get<double>(), 1, 1e-6);
    EXPECT_NEAR(west["1s"]["rx_bits"].get<double>(), 8.0 * static_cast<double>(bytes), 1e-6);
    EXPECT_NEAR(rated("ports", "name", "east")["1s"]["tx_packets"].get<double>(), 4, 1e-6);
    EXPECT_NEAR(rated("drops", "reason", "no_route")["1s"]["packets"].get<double>(), 3, 1e-6)
        << "from its first packet on";
    const auto bits = rated("drops", "reason", "no_route")["1s"]["bits"].get<double>();
    EXPECT_NEAR(bits, 8.0 * static_cast<double>(bytes) * 3 / 7, 1e-6) << "of equal packets";
    EXPECT_EQ(rated("drops", "reason", "no_route")["port"], "west");
    EXPECT_NEAR(rated("workers", "lcore", 1)["1s"]["packets"].get<double>(), 7, 1e-6);
    EXPECT_GT(rated("workers", "lcore", 1)["1s"]["cpp"].get<double>(), 0);
    json port_alone = rated("interfaces", "name", "west");
    EXPECT_EQ(port_alone["1s"]["rx_bits"], west["1s"]["rx_bits"]);
    const json interfaces = shown("interfaces");
    for (const json& one : interfaces["interfaces"])
        if (one["name"] == "west") {
            port_alone.erase("name");
            EXPECT_EQ(one["rates"], port_alone);
            EXPECT_EQ(one["rx_bytes"].get<uint64_t>(), bytes);
        }
    second_passes();
    EXPECT_NEAR(rated("ports", "name", "west")["1s"]["rx_packets"].get<double>(), 0, 1e-6);
    const json ten = rated("ports", "name", "west")["10s"];
    EXPECT_NEAR(ten["rx_packets"].get<double>() * ten["seconds"].get<double>(), 7, 1e-6);
    EXPECT_EQ(rated("workers", "lcore", 1)["1s"]["cpp"], nullptr);
    EXPECT_NEAR(rated("drops", "reason", "no_route")["1min"]["packets"].get<double>(), 1.5, 1e-6);
    EXPECT_TRUE(shown("rates")["verdict"]["says"].is_string());
}

TEST_F(show_rates, clear_counters_is_no_spike) {
    for (int i = 0; i < 9; ++i) l_.egress_port("203.0.113.1");
    second_passes();
    second_passes();
    ask({{"request", "clear"}, {"what", "counters"}});
    for (int i = 0; i < 2; ++i) l_.egress_port("203.0.113.1");
    second_passes();
    EXPECT_NEAR(rated("ports", "name", "west")["1s"]["rx_packets"].get<double>(), 2, 1e-6);
    EXPECT_NEAR(rated("drops", "reason", "no_route")["1s"]["packets"].get<double>(), 2, 1e-6);
}

TEST_F(show_rates, a_port_that_was_cleared_alone_has_its_own_time) {
    const auto since = [&](const std::string& what, const std::string& port) {
        const json ports = shown(what)["ports"];
        for (const json& one : ports)
            if (one["name"] == port) return one["since_s"].get<double>();
        return -1.0;
    };
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ask({{"request", "clear"}, {"what", "counters"}, {"port", "west"}});
    for (const char* what : {"ports", "pcie"}) {
        EXPECT_GE(since(what, "west"), 0);
        EXPECT_LT(since(what, "west"), since(what, "east") - 0.015);
        EXPECT_LE(since(what, "east"), shown(what)["since_s"].get<double>());
    }
    const json by_port = shown("drops")["port_since_s"];
    EXPECT_LT(by_port["west"].get<double>(), by_port["east"].get<double>() - 0.015);
}

TEST_F(show_rates, ports_are_removed_and_added_again) {
    const std::string third_port = "  - {name: north, device: d2, addresses: [10.0.3.254/24]}\n";
    const std::string its_neighbour = "    - {address: 10.0.3.2, mac: \"02:00:00:00:00:0e\"}\n";
    const std::string with_third = test::router("{to: 10.9.0.0/16, via: 10.0.3.2}", its_neighbour,
                                                "10.0.1.254/24", third_port);
    ASSERT_TRUE(l_.apply(with_third));
    l_.links(true);
    l_.settle();
    for (int i = 0; i < 50; ++i) l_.egress_port("10.9.0.1");
    second_passes();
    EXPECT_EQ(rated("ports", "name", "north")["1s"], nullptr) << "the first sample";
    second_passes();
    EXPECT_NEAR(rated("ports", "name", "north")["1s"]["tx_packets"].get<double>(), 0, 1e-6);
    ASSERT_TRUE(l_.apply(test::router()));
    l_.forget_last();
    ASSERT_TRUE(l_.apply(with_third));
    l_.links(true);
    l_.settle();
    l_.egress_port("10.9.0.1");
    second_passes();
    EXPECT_EQ(rated("ports", "name", "north")["1s"], nullptr) << "another port";
    l_.egress_port("10.9.0.1");
    second_passes();
    const double sent = rated("ports", "name", "north")["1min"]["tx_packets"].get<double>();
    EXPECT_GE(sent, 0.99);
    EXPECT_LT(sent, 10) << "with announcements, and without the 50 packets of the port before";
    ASSERT_TRUE(l_.apply(test::router()));
    l_.forget_last();
    second_passes();
    EXPECT_TRUE(rated("ports", "name", "north").empty());
}

TEST(show_rates_of, bridges_and_tunnels) {
    lab l(
        "ports:\n  - {name: a, device: d0}\n  - {name: b, device: d1}\n"
        "  - {name: up, device: d2, mtu: 1600, addresses: [10.0.3.254/24]}\n"
        "tunnels:\n  - {name: far, vni: 7, local: 10.0.3.254, remote: 10.0.3.2, mtu: 1500}\n"
        "bridges:\n  - {name: lan, members: [{port: a}, {port: b}, {port: far}]}\n"
        "neighbours:\n  static:\n    - {address: 10.0.3.2, mac: \"02:00:00:00:00:0e\"}\n");
    const auto rated = [&](observe::rated_kind kind, const std::string& name) {
        for (const auto& [key, e] : l.controller().rates().entries())
            if (e.object.kind == kind && e.object.name == name)
                return observe::rate_history::over(e, 1000);
        throw std::runtime_error("not rated");
    };
    l.control(1000);
    for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(l.offer(0, ethernet(0x88b5, counted(46), {0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
                                        {2, 0, 0, 0, 1, 1})));
        l.settle();
    }
    l.control(1000);
    const auto bridge = rated(observe::rated_kind::bridge, "lan");
    ASSERT_TRUE(bridge);
    EXPECT_NEAR(bridge->per_s[0], 5, 1e-6) << "received";
    EXPECT_NEAR(bridge->per_s[3], 5, 1e-6) << "flooded";
    const auto tunnel = rated(observe::rated_kind::interface, "far");
    ASSERT_TRUE(tunnel);
    EXPECT_NEAR(tunnel->per_s[2], 5, 1e-6) << "sent";
    EXPECT_NEAR(tunnel->per_s[3], 5 * 60, 1e-6) << "bytes of the inner frames";
    for (uint16_t p = 0; p < 3; ++p) l.sent(p);
}

}  // namespace
}  // namespace turnpike
