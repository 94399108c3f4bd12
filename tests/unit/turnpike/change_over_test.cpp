// SPDX-License-Identifier: BSD-3-Clause
// The transition between two configurations: packets in flight, iterations that have begun, TX queues still in
// use, counters of removed ports.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "reload_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using datapath::drop_reason;

/// A neighbour's host route is removed from the tables by comparison with the new routes.
TEST(change_over, a_route_to_a_host_outlives_its_neighbour) {
    lab l(router());
    ASSERT_TRUE(l.offer(0, ethernet(0x0806, arp({}), byte_vector(6, 0xff))));
    l.settle();
    const auto nexthop = [&](const char* to = "10.0.1.1") {
        return l.controller().routing().routes().lookup(*parse_address(to));
    };
    ASSERT_EQ(l.snapshot().nexthops[nexthop()].kind, datapath::nexthop_kind::adjacency)
        << "it is known";
    ASSERT_TRUE(l.apply(router("{to: 10.0.1.1/32, via: 10.0.2.2}", "", "10.0.5.254/24")));
    EXPECT_EQ(nexthop(), nexthop("10.0.2.2"));
}

/// A worker's round that began with the old snapshot may end the first grace period: it still sends
/// then.
TEST(change_over, takes_nothing_away_before_the_second_round_of_a_worker) {
    path_lab l(router("{to: 10.9.0.0/16, via: 10.0.2.2}"));
    l.worker().start();
    l.workers_have_threads();
    const auto& published = *l.worker().parts().published;
    const datapath::snapshot* const before = published.load();
    std::atomic<bool> done{false};
    std::thread change([&] {
        EXPECT_TRUE(l.apply(router()));
        done = true;
    });
    while (published.load() == before) std::this_thread::yield();
    const auto a_while = [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
    a_while();
    l.worker().poll();
    a_while();
    EXPECT_FALSE(done);
    while (!done) {
        l.worker().poll();
        std::this_thread::yield();
    }
    change.join();
    l.worker().finish();
}

TEST(change_over, the_counters_of_a_removed_port_are_kept_to_the_end) {
    lab l(router("", "", "10.0.1.254/24",
                 "  - {name: north, device: d2, addresses: [10.0.3.254/24]}\n"));
    byte_vector frame = datagram(0x0a00'0202);
    frame[5] = 0x0d;  // to north
    ASSERT_TRUE(l.offer(2, frame));
    l.settle();
    ASSERT_EQ(l.sent(1).size(), 1U);
    const uint64_t received = l.controller().report().total().rx;
    ASSERT_TRUE(l.apply(router()));
    EXPECT_EQ(l.controller().report().total().rx, received);  // the last look at devices
    l.controller().shut_down();
    const auto report = l.controller().report();
    EXPECT_EQ(report.ports.back().name, "(removed)");
    EXPECT_EQ(report.ports.back().totals.rx_packets, 1U);
    EXPECT_EQ(report.total().rx, received);
    EXPECT_TRUE(report.total().holds());
}

/// A packet is on the ring to control when its route gets another next hop: control forwards it by
/// the new route.
TEST(change_over, a_packet_that_waits_for_control_goes_by_the_new_tables) {
    lab l(router("{to: 10.9.0.0/16, via: 10.0.2.9}"));
    ASSERT_TRUE(l.offer(0, datagram(0x0a09'0001)));
    l.worker().poll();
    ASSERT_TRUE(l.path_lab::apply(router("{to: 10.9.0.0/16, via: 10.0.2.2}")));
    l.settle();
    EXPECT_EQ(l.controller().routing().neighbours().pending(), 0U);
    const auto frames = l.sent(1);
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0][5], 0x0d) << "to the new gateway";
    ASSERT_TRUE(l.apply(router("{to: 10.9.0.0/16, via: 10.0.2.9}")));
    ASSERT_TRUE(l.offer(0, datagram(0x0a09'0001)));
    l.worker().poll();
    ASSERT_TRUE(l.path_lab::apply(router()));
    l.settle();
    EXPECT_EQ(l.controller().routing().neighbours().pending(), 0U);
    EXPECT_EQ(l.dropped(drop_reason::no_route), 1U);
}

/// Two workers, each with a receive queue, and ports of one TX queue: they take each other's.
TEST(change_over, transmit_queues_change_hands) {
    const auto patches = [](const char* which) {
        return std::string(
                   "ports:\n  - {name: a, device: d0}\n  - {name: b, device: d1}\n"
                   "  - {name: c, device: d2}\n  - {name: d, device: d3}\n"
                   "neighbours: {max_entries: 64}\nxconnects: [") +
               which + "]\n";
    };
    path_lab l(patches("[a, c], [b, d]"), 2, true);
    for (size_t w : {0, 1}) l.worker(w).start();
    l.links(true);
    const auto from_a = [&] {  // where it comes out
        EXPECT_TRUE(l.offer(0, datagram(0x0a09'0001)));
        for (int i = 0; i < 3; ++i)
            for (size_t w : {0, 1}) l.worker(w).poll();
        std::string out;
        for (uint16_t p = 0; p < 4; ++p)
            if (!l.sent(p).empty()) out += static_cast<char>('a' + p);
        return out;
    };
    EXPECT_EQ(from_a(), "c");
    ASSERT_TRUE(l.apply(patches("[a, d], [b, c]")));
    EXPECT_EQ(from_a(), "d");
    EXPECT_EQ(l.controller().report().drops().size(), 0U);
    for (size_t w : {0, 1}) l.worker(w).finish();
}

TEST(change_over, a_route_by_our_own_link_local_address_is_refused) {
    lab l(router("{to: 2001:db8:9::/48, via: \"fe80::99\", port: east}"));
    const auto refused =
        l.apply(router("{to: 2001:db8:9::/48, via: \"fe80::ff:fe00:c\", port: east}"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EINVAL);
    EXPECT_NE(refused.error().message().find("fe80::ff:fe00:c is our own address on 'east'"),
              std::string::npos)
        << refused.error().message();
}

}  // namespace
}  // namespace turnpike
