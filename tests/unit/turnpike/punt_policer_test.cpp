// SPDX-License-Identifier: BSD-3-Clause
// Policing of punted packets: a flood of one class, or on one interface, costs no other its packets. Control makes no
// round during the floods.
#include "datapath/punt_policer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "control/host_interfaces/tap_limits.hpp"
#include "lib/eal.hpp"
#include "reload_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using datapath::drop_reason;
using datapath::punt_class;

/// Replies need no resolution.
const std::string host_at_west = "    - {address: 10.0.1.1, mac: \"02:00:00:00:00:0a\"}\n";
constexpr uint32_t us_at_west = 0x0a00'01fe, us_at_east = 0x0a00'02fe, flood = 2500;

byte_vector to_us(uint8_t protocol, uint8_t ttl = 64) {
    return ethernet(0x0800, ipv4({.ttl = ttl, .protocol = protocol, .destination = us_at_west},
                                 icmp4(8, 0, counted(12))));
}
const byte_vector everybody(6, 0xff);
const byte_vector echo_request = to_us(1), vrrp_packet = to_us(112, 255), ospf_packet = to_us(89);
const byte_vector arp_request = ethernet(0x0806, arp({}), everybody);

class punt_policer : public ::testing::Test {
  protected:
    void receive(uint16_t port, const byte_vector& frame, uint32_t times = 1) {
        while (times-- != 0) {
            ASSERT_TRUE(l.offer(port, frame));
            l.worker().poll();
        }
    }
    /// Control handles all punted packets. Answers the frames sent by a port.
    std::vector<byte_vector> sent_after_control(uint16_t port) {
        for (int i = 0; i < 16; ++i) l.settle();
        return l.sent(port);
    }
    unsigned echo_replies(const std::vector<byte_vector>& sent) {
        return static_cast<unsigned>(std::ranges::count_if(sent, [](const byte_vector& f) {
            return f[12] == 0x08 && f[13] == 0 && f[23] == 1 && f[34] == 0;
        }));
    }
    observe::punt_report counted_for(const std::string& interface, punt_class of) {
        for (const auto& p : l.controller().report().punt)
            if (p.interface == interface && p.of == of) return p;
        return {};
    }
    lab l{router("{to: 10.9.0.0/16, via: 10.0.2.2}", host_at_west)};
};

/// The flood would fill the ring that echo requests share.
TEST_F(punt_policer, a_flood_that_icmp_errors_are_due_for_starves_no_packet_to_us) {
    const struct {
        const char* name;
        byte_vector frame;
        drop_reason why;
        punt_class of;
        uint32_t burst;
    } rows[] = {
        {"TTL 1", ethernet(0x0800, ipv4({.ttl = 1}, udp(counted(4)))), drop_reason::ipv4_ttl,
         punt_class::icmp_error, 256},
        {"no route", datagram(0x0909'0909), drop_reason::no_route, punt_class::icmp_error, 0},
        {"too big", ethernet(0x0800, ipv4({.fragment = 0x4000}, udp(zeros(1500)))),
         drop_reason::ipv4_too_big, punt_class::too_big, 256},
        {"unknown neighbour", datagram(0x0a00'0209), drop_reason::punt_rate, punt_class::resolve,
         1000}};
    auto last_flood = std::chrono::steady_clock::now();
    for (const auto& row : rows) {
        const auto before = counted_for("west", row.of);
        receive(0, row.frame, flood);
        const std::chrono::duration<double> since =
            std::chrono::steady_clock::now() -
            std::exchange(last_flood, std::chrono::steady_clock::now());
        receive(0, echo_request);
        EXPECT_EQ(echo_replies(sent_after_control(0)), 1U) << row.name;
        auto n = counted_for("west", row.of);
        n.punted -= before.punted;
        n.dropped -= before.dropped;
        const auto earned =
            static_cast<uint64_t>(since.count() * 10'000 * 1.01) + 2;  // the default rate
        EXPECT_LE(n.punted, row.burst + earned) << row.name;
        EXPECT_GE(n.punted, row.burst) << row.name;
        EXPECT_LT(n.punted, flood) << row.name;
        if (row.of != punt_class::icmp_error) {
            EXPECT_EQ(n.punted + n.dropped, flood) << row.name;
        }
        if (row.why == drop_reason::punt_rate)
            EXPECT_EQ(l.dropped(row.why), n.dropped);
        else
            EXPECT_EQ(l.dropped(row.why), flood) << row.name << ": with an error or without";
    }
    EXPECT_EQ(l.dropped(drop_reason::punt_ring_full), 0U);
}

TEST_F(punt_policer, packets_to_us_starve_no_routing_protocol) {
    receive(0, echo_request, flood);
    receive(0, vrrp_packet);
    EXPECT_EQ(counted_for("west", punt_class::routing).punted, 1U);
    EXPECT_EQ(counted_for("west", punt_class::routing).dropped, 0U);
    const auto local = counted_for("west", punt_class::local);
    EXPECT_GT(local.dropped, flood / 2);
    EXPECT_EQ(l.dropped(drop_reason::punt_rate), local.dropped);
    sent_after_control(0);
    EXPECT_EQ(l.dropped(drop_reason::local_protocol), 1U);
}

/// A remote node can send packets of all protocols to our addresses, but none with TTL 255 here.
TEST_F(punt_policer, remote_packets_starve_no_routing_protocol_of_the_link) {
    ASSERT_TRUE(l.apply(router("", host_at_west) + "punt_rate: {sessions: 100}\n"));
    byte_vector bgp =
        ethernet(0x0800, ipv4({.protocol = 6, .destination = us_at_west}, tcp(2, {})));
    store_be(&bgp[36], uint16_t{179});
    for (const byte_vector& frame : {bgp, ospf_packet}) receive(0, frame, 200);
    receive(0, vrrp_packet);
    EXPECT_EQ(counted_for("west", punt_class::routing).punted, 1U);
    EXPECT_EQ(counted_for("west", punt_class::routing).dropped, 0U);
    EXPECT_GT(counted_for("west", punt_class::sessions).dropped, 200U);
    EXPECT_EQ(l.dropped(drop_reason::punt_ring_full), 0U);
    sent_after_control(0);
}

/// Also with two workers, each of which permits as many packets as the TAP takes.
TEST(tap_limits, a_flood_of_one_class_displaces_no_other) {
    control::tap_limits limits;
    EXPECT_FALSE(limits.allow(punt_class::routing, 5));
    limits.set(1000);
    unsigned local = 0, routing = 0, alerts = 0;
    for (uint64_t ms = 1; ms <= 1000; ++ms) {
        for (int n = 0; n < 20; ++n) local += limits.allow(punt_class::local, ms);
        for (int n = 0; n < 20; ++n) local += limits.allow(punt_class::sessions, ms);
        routing += limits.allow(punt_class::routing, ms);
        alerts += limits.allow_alert(ms);
    }
    EXPECT_NEAR(local, 2 * 1100, 4);
    EXPECT_EQ(routing, 1000U);
    EXPECT_EQ(alerts, 1000U);
}

/// The rings of routing protocols are polled first.
TEST_F(punt_policer, routing_protocols_are_served_first) {
    receive(0, arp_request);
    receive(0, echo_request);
    receive(0, ospf_packet);
    receive(0, vrrp_packet);
    std::vector<datapath::punt_reason> order;
    std::vector<uint8_t> protocols;
    l.controller().workers().receive_punted([&](rte_mbuf* m) {
        order.push_back(datapath::punted_of(m).why);
        protocols.push_back(datapath::punted_of(m).parsed.upper_protocol);
        l.controller().egress().consume(m, datapath::punted_of(m).in_port);
    });
    using enum datapath::punt_reason;
    EXPECT_EQ(order, (std::vector{local, local, arp, local}));
    EXPECT_EQ(protocols, (std::vector<uint8_t>{112, 89, 0, 1}));
}

/// RFC 6583 section 6: neighbours of one link are found while another is flooded.
TEST_F(punt_policer, arp_on_one_interface_loses_no_answer_on_another) {
    receive(0, datagram(0x0a00'0209));
    l.settle();
    ASSERT_EQ(l.sent(1).size(), 1U) << "who has 10.0.2.9";
    receive(0, arp_request, flood);
    receive(1, ethernet(0x0806,
                        arp({.operation = 2,
                             .sender_mac = {2, 0, 0, 0, 0, 9},
                             .sender_ip = 0x0a00'0209,
                             .target_mac = {2, 0, 0, 0, 0, 0x0c},
                             .target_ip = us_at_east}),
                        {2, 0, 0, 0, 0, 0x0c}, {2, 0, 0, 0, 0, 9}));
    const auto sent = sent_after_control(1);
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(sent[0][5], 9) << "the packet that waited";
    EXPECT_GT(counted_for("west", punt_class::neighbours).dropped, flood / 4);
    EXPECT_EQ(counted_for("east", punt_class::neighbours).dropped, 0U);
}

/// A neighbour that answers stays reachable, also while its link is flooded.
TEST_F(punt_policer, arp_requests_starve_no_reply) {
    ASSERT_TRUE(l.apply(router("", host_at_west) + "punt_rate: {neighbours: 100}\n"));
    receive(1, ethernet(0x0800,
                        ipv4({.source = 0x0a00'0202, .destination = 0x0a00'0109}, udp(counted(4))),
                        {2, 0, 0, 0, 0, 0x0c}, {2, 0, 0, 0, 0, 0x0d}));
    l.settle();
    ASSERT_EQ(l.sent(0).size(), 1U) << "who has 10.0.1.9";
    receive(0, arp_request, 200);
    receive(0, ethernet(0x0806,
                        arp({.operation = 2,
                             .sender_mac = {2, 0, 0, 0, 0, 9},
                             .sender_ip = 0x0a00'0109,
                             .target_mac = {2, 0, 0, 0, 0, 0x0b},
                             .target_ip = us_at_west}),
                        {2, 0, 0, 0, 0, 0x0b}, {2, 0, 0, 0, 0, 9}));
    const auto sent = sent_after_control(0);
    EXPECT_TRUE(std::ranges::any_of(sent, [](const byte_vector& f) {
        return f[5] == 9 && f[12] == 0x08 && f[13] == 0;
    })) << "the packet that waited";
    EXPECT_GT(counted_for("west", punt_class::neighbours).dropped, 100U);
    EXPECT_EQ(counted_for("west", punt_class::replies).punted, 1U);
    EXPECT_EQ(counted_for("west", punt_class::replies).dropped, 0U);
}

TEST_F(punt_policer, the_configuration_changes_the_rates) {
    ASSERT_TRUE(l.apply(router("", host_at_west) + "punt_rate: {local: 1}\n"));
    receive(0, echo_request, 5);
    EXPECT_LE(echo_replies(sent_after_control(0)), 2U);
    EXPECT_GE(counted_for("west", punt_class::local).dropped, 3U);
    ASSERT_TRUE(l.apply(router("", host_at_west) + "punt_rate: {local: 10000000}\n"));
    receive(0, echo_request, 3);
    EXPECT_EQ(echo_replies(sent_after_control(0)), 3U);
}

TEST_F(punt_policer, cleared_counters_begin_anew) {
    receive(0, echo_request, 2);
    l.controller().clear_counters();
    receive(0, echo_request, 3);
    sent_after_control(0);
    const auto shown = l.controller().shown_report().punt;
    ASSERT_EQ(shown.size(), 1U);
    EXPECT_EQ(shown[0].punted, 3U);
    EXPECT_EQ(counted_for("west", punt_class::local).punted, 5U);
}

/// The class of a packet to us, by protocol, destination port, TTL and addresses.
struct local_packet {
    uint8_t protocol = 17;
    uint16_t port = 0;
    uint8_t ttl = 64;
    uint32_t to = us_at_west;
};
punt_class class_of(const local_packet& p, uint16_t source_port = 50000, uint16_t fragment = 0) {
    byte_vector upper(24);
    store_be(&upper[0], source_port);
    store_be(&upper[2], p.port);
    if (p.protocol == 17) store_be(&upper[4], uint16_t{24});
    upper[12] = 0x50;
    const byte_vector frame = ethernet(
        0x0800,
        ipv4({.fragment = fragment, .ttl = p.ttl, .protocol = p.protocol, .destination = p.to},
             upper));
    packet::parsed h;
    EXPECT_EQ(packet::parse(frame, static_cast<uint32_t>(frame.size()), h),
              packet::parse_status::done);
    return datapath::class_of_local(h, frame.data());
}

TEST(punt_class, of_protocols_of_routers) {
    using enum punt_class;
    for (const uint8_t protocol : std::initializer_list<uint8_t>{2, 46, 88, 89, 103, 112}) {
        EXPECT_EQ(class_of({.protocol = protocol, .ttl = 1, .to = 0xe000'0005}), routing);
        EXPECT_EQ(class_of({.protocol = protocol, .ttl = 255}), routing) << +protocol;
        for (const uint8_t ttl : std::initializer_list<uint8_t>{1, 64, 254})
            EXPECT_EQ(class_of({.protocol = protocol, .ttl = ttl}), sessions) << +protocol;
        EXPECT_EQ(class_of({.protocol = protocol, .to = 0xe000'0105}), sessions) << "routed group";
    }
    for (const uint8_t protocol : std::initializer_list<uint8_t>{1, 6, 17, 50, 58, 132})
        EXPECT_EQ(class_of({.protocol = protocol, .ttl = 255}), local) << +protocol;
    for (const uint16_t port :
         std::initializer_list<uint16_t>{520, 521, 646, 3784, 3785, 4784, 6696}) {
        EXPECT_EQ(class_of({.port = port, .ttl = 255}), routing) << port;
        EXPECT_EQ(class_of({.port = port, .ttl = 1, .to = 0xe000'0009}), routing) << port;
        EXPECT_EQ(class_of({.port = port, .ttl = 1, .to = 0xffff'ffff}), routing) << port;
        // BFD of one hop and Babel: RFC 5881 section 5, RFC 8966 section 4.
        EXPECT_EQ(class_of({.port = port, .ttl = 254}),
                  port == 3784 || port == 6696 ? local : sessions)
            << port;
    }
    for (const uint16_t port : std::initializer_list<uint16_t>{9, 53, 179, 4789})
        EXPECT_EQ(class_of({.port = port, .ttl = 255}), local) << port;
    for (const uint16_t port : std::initializer_list<uint16_t>{179, 646}) {
        EXPECT_EQ(class_of({.protocol = 6, .port = port}), sessions);
        EXPECT_EQ(class_of({.protocol = 6, .port = port, .ttl = 255}), routing) << "RFC 5082";
        EXPECT_EQ(class_of({.protocol = 6, .port = 50000}, port), sessions);
    }
    EXPECT_EQ(class_of({.protocol = 6, .port = 22}), local);
    EXPECT_EQ(class_of({.port = 520, .ttl = 255}, 50000, 185), local) << "a later fragment";
}

TEST(punt_class, of_ipv6_link_local_senders) {
    using enum punt_class;
    const auto of = [](const byte_vector& from, const byte_vector& to, uint8_t hop_limit) {
        const byte_vector frame = ethernet(
            0x86dd,
            ipv6({.next_header = 89, .hop_limit = hop_limit, .source = from, .destination = to},
                 zeros(24)));
        packet::parsed h;
        EXPECT_EQ(packet::parse(frame, static_cast<uint32_t>(frame.size()), h),
                  packet::parse_status::done);
        return datapath::class_of_local(h, frame.data());
    };
    const byte_vector near{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9},
        group{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5},
        wide_group{0xff, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5};
    EXPECT_EQ(of(near, v6_b, 1), routing);
    EXPECT_EQ(of(v6_a, group, 1), routing);
    EXPECT_EQ(of(v6_a, v6_b, 255), routing);
    EXPECT_EQ(of(v6_a, v6_b, 254), sessions);
    EXPECT_EQ(of(v6_a, wide_group, 1), sessions);
}

}  // namespace
}  // namespace turnpike
