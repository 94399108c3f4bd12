// SPDX-License-Identifier: BSD-3-Clause
// Bridges on the whole path of a frame: learning, forwarding, egress tags, and drops.
#include <chrono>

#include "bridge_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using datapath::drop_reason;
using lab = bridge_lab;

TEST(bridge, floods_what_it_does_not_know_and_learns) {
    lab l(three);
    EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(2), fdb_entry(1))), "1 2");
    EXPECT_EQ(l.learnt(), "p0 01");
    EXPECT_EQ(l.egress_ports(1, frame(fdb_entry(1), fdb_entry(2))), "0");
    EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(2), fdb_entry(1))), "1");
    EXPECT_EQ(l.egress_ports(0, frame(everybody, fdb_entry(1))), "1 2");
    EXPECT_EQ(l.egress_ports(0, frame({1, 0, 0x5e, 0, 0, 9}, fdb_entry(1))), "1 2");
    EXPECT_EQ(l.learnt(), "p0 01, p1 02");
    EXPECT_EQ(l.egress_ports(2, frame(fdb_entry(1), fdb_entry(1))), "0")
        << "he moved, and sends to himself";
    EXPECT_EQ(l.egress_ports(2, frame(fdb_entry(1), fdb_entry(3))), "");
    EXPECT_EQ(l.dropped(drop_reason::bridge_same_port), 1U);
    EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(9), {3, 0, 0, 0, 0, 1})), "");
    EXPECT_EQ(l.dropped(drop_reason::ether_source_group), 1U);
    const auto c =
        l.controller().bridges().counted(l.controller().bridges().first_domain_of("lan"));
    EXPECT_EQ(c.rx_packets, 8U);
    EXPECT_EQ(c.rx_bytes, 480U);
    EXPECT_EQ(c.flooded, 3U);
    EXPECT_EQ(c.tx_packets, 9U);
}

/// A bridge without VLANs forwards tagged frames unchanged, and also frames in several buffers.
TEST(bridge, leaves_frames_as_they_are) {
    lab l(three);
    const byte_vector f = tagged(frame(fdb_entry(2), fdb_entry(1)), 0x2064);
    EXPECT_EQ(l.egress_ports(0, f), "1 2");
    rte_mbuf *head = l.packet_of(byte_vector(f.begin(), f.begin() + 20)),
             *tail = l.packet_of(byte_vector(f.begin() + 20, f.end()));
    ASSERT_EQ(rte_pktmbuf_chain(head, tail), 0);
    ASSERT_TRUE(l.offer_packet(0, head));
    l.settle();
    EXPECT_EQ(l.sent(1), one(f));
    EXPECT_EQ(l.sent(2), one(f));
}

/// A tunnel with a larger MTU and drivers without a limit of received frames can bring them (IEEE 802.1Q-2018 section
/// 6.5.8). The ports' MTU is 1500.
TEST(bridge, drops_frames_that_its_ports_cannot_send) {
    lab l(three);
    constexpr size_t most = 14 + 2 * 4 + 1500;
    const auto of_length = [](const byte_vector& to, size_t bytes) {
        byte_vector out = frame(to, fdb_entry(1));
        out.resize(bytes);
        return out;
    };
    EXPECT_EQ(l.egress_ports(1, frame(everybody, fdb_entry(2))), "0 2");
    EXPECT_EQ(l.egress_ports(0, of_length(fdb_entry(2), most)), "1");
    EXPECT_EQ(l.egress_ports(0, of_length(everybody, most)), "1 2");
    EXPECT_EQ(l.dropped(drop_reason::bridge_too_big), 0U);
    EXPECT_EQ(l.egress_ports(0, of_length(fdb_entry(2), most + 1)), "");
    EXPECT_EQ(l.egress_ports(0, of_length(everybody, most + 1)), "");
    EXPECT_EQ(l.dropped(drop_reason::bridge_too_big), 2U);
    for (const size_t more : {0, 1}) {
        const byte_vector f = of_length(fdb_entry(2), most + more);
        rte_mbuf *head = l.packet_of(byte_vector(f.begin(), f.begin() + 1000)),
                 *tail = l.packet_of(byte_vector(f.begin() + 1000, f.end()));
        ASSERT_EQ(rte_pktmbuf_chain(head, tail), 0);
        ASSERT_TRUE(l.offer_packet(0, head));
        l.settle();
        EXPECT_EQ(l.sent(1).size(), 1 - more);
    }
    EXPECT_EQ(l.dropped(drop_reason::bridge_too_big), 3U);
}

/// A whole burst to flood makes more copies than a burst has room for.
TEST(bridge, floods_whole_bursts) {
    lab l(ports(9) +
          bridge("{port: p0}, {port: p1}, {port: p2}, {port: p3}, {port: p4}, {port: p5}, "
                 "{port: p6}, {port: p7}, {port: p8}"));
    for (uint8_t i = 0; i < 32; ++i) ASSERT_TRUE(l.offer(0, frame(everybody, fdb_entry(1), i)));
    l.settle();
    for (uint16_t p = 1; p < 9; ++p) {
        const auto out = l.sent(p);
        ASSERT_EQ(out.size(), 32U) << p;
        for (uint8_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], frame(everybody, fdb_entry(1), i));
    }
    EXPECT_EQ(l.controller().report().total().originated, 32U * 7U);
}

/// Where the pool has fewer buffers than a flood needs, the frame goes to as many members as
/// possible; the last member needs no copy.
TEST(bridge, floods_without_buffers) {
    lab l(three);
    std::vector<rte_mbuf*> some, held;
    for (uint8_t i = 0; i < 4; ++i) some.push_back(l.packet_of(frame(everybody, fdb_entry(1), i)));
    while (rte_mbuf* const m = l.packet_of(frame(fdb_entry(9), fdb_entry(1)))) held.push_back(m);
    for (int i = 0; i < 3; ++i) {
        rte_pktmbuf_free(held.back());
        held.pop_back();
    }
    for (rte_mbuf* m : some) ASSERT_TRUE(l.offer_packet(0, m));
    l.worker().poll();
    l.settle();
    EXPECT_EQ(l.sent(1).size(), 3U);
    EXPECT_EQ(l.sent(2).size(), 4U);
    EXPECT_EQ(l.dropped(drop_reason::flood_memory), 1U);
    for (rte_mbuf* m : held) rte_pktmbuf_free(m);
}

TEST(bridge, forgets_the_silent_and_keeps_those_that_talk) {
    lab l(three + "    ageing_s: 10\n");
    l.egress_ports(0, frame(fdb_entry(9), fdb_entry(1)));
    l.egress_ports(1, frame(fdb_entry(9), fdb_entry(2)));
    for (int s = 0; s < 12; ++s) {
        l.egress_ports(1, frame(fdb_entry(9), fdb_entry(2)));
        l.control(1000);
    }
    EXPECT_EQ(l.learnt(), "p1 02");
    EXPECT_EQ(l.controller().bridges().numbers_of("lan").aged, 1U);
}

TEST(bridge, a_member_without_link_is_forgotten_and_gets_no_copies) {
    lab l(three);
    l.egress_ports(1, frame(fdb_entry(9), fdb_entry(2)));
    ASSERT_EQ(rte_eth_dev_set_link_down(l.controller().ports().open()[1]->device.id()), 0);
    l.controller().poll_links(5000);
    EXPECT_EQ(l.learnt(), "");
    EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(2), fdb_entry(1))), "2");
    ASSERT_EQ(rte_eth_dev_set_link_down(l.controller().ports().open()[2]->device.id()), 0);
    l.controller().poll_links(6000);
    EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(2), fdb_entry(1))), "");
    EXPECT_EQ(l.dropped(drop_reason::flood_no_member), 1U);
}

TEST(bridge, knows_as_many_as_it_may) {
    lab l(ports(2) + bridge("{port: p0, max_addresses: 2}, {port: p1}", "    max_addresses: 3\n"));
    for (uint8_t n = 1; n < 6; ++n) l.egress_ports(0, frame(fdb_entry(99), fdb_entry(n)));
    EXPECT_EQ(l.learnt(), "p0 01, p0 02");
    l.egress_ports(1, frame(fdb_entry(99), fdb_entry(20)));
    l.egress_ports(1, frame(fdb_entry(99), fdb_entry(21)));
    EXPECT_EQ(l.learnt(), "p0 01, p0 02, p1 14");
    EXPECT_EQ(l.controller().bridges().numbers_of("lan").refused, 4U);
}

/// The limit of a port counts stations that move there, too: a sender there cannot take all entries of another port.
TEST(bridge, a_station_does_not_move_to_a_full_port) {
    lab l(ports(3) + bridge("{port: p0}, {port: p1, max_addresses: 1}, {port: p2}"));
    for (const uint8_t n : std::initializer_list<uint8_t>{1, 2})
        l.egress_ports(0, frame(fdb_entry(99), fdb_entry(n)));
    for (const uint8_t n : std::initializer_list<uint8_t>{3, 1, 2})
        l.egress_ports(1, frame(fdb_entry(99), fdb_entry(n)));
    EXPECT_EQ(l.learnt(), "p0 01, p0 02, p1 03");
    EXPECT_EQ(l.controller().bridges().numbers_of("lan").refused, 2U);
    EXPECT_EQ(l.controller().bridges().numbers_of("lan").moves, 0U);
    EXPECT_EQ(l.egress_ports(2, frame(fdb_entry(1), fdb_entry(4))), "0");
    l.egress_ports(2, frame(fdb_entry(99), fdb_entry(3)));
    l.seconds(1);
    l.egress_ports(1, frame(fdb_entry(99), fdb_entry(1)));
    EXPECT_EQ(l.learnt(), "p0 02, p1 01, p2 03, p2 04") << "there is room again";
}

/// Its frames from there are forwarded, however many, and the entry ages.
TEST(bridge, a_station_at_a_full_port_is_not_held) {
    lab l(ports(2) +
          bridge("{port: p0}, {port: p1, max_addresses: 1}",
                 "    ageing_s: 10\n    damping: {moves: 2, within_s: 5, hold_s: 20}\n"));
    l.egress_ports(1, frame(fdb_entry(9), fdb_entry(3)));
    l.egress_ports(0, frame(fdb_entry(9), fdb_entry(1)));
    for (unsigned second = 0; second < 12; ++second) {
        EXPECT_EQ(l.egress_ports(1, frame(fdb_entry(9), fdb_entry(1))), "0");
        l.egress_ports(1, frame(fdb_entry(9), fdb_entry(3)));
        l.seconds(1);
    }
    EXPECT_EQ(l.dropped(drop_reason::bridge_moving), 0U);
    EXPECT_EQ(l.learnt(), "p1 03");
}

/// A station move is detected, also where an address of the same CRC was learnt at the port before.
TEST(bridge, a_station_moves_behind_one_of_the_same_crc) {
    lab l(three);
    const byte_vector same_crc{0xe0, 0xed, 0xd8,
                               0x0a, 0x02, 0x01};  // station(1) XOR a MAC address with a CRC of 0
    l.egress_ports(0, frame(fdb_entry(9), fdb_entry(1)));
    for (int i = 0; i < 3; ++i) l.egress_ports(1, frame(fdb_entry(9), same_crc));
    EXPECT_EQ(l.learnt(), "p0 01, p1 01");
    l.egress_ports(1, frame(fdb_entry(9), fdb_entry(1)));
    EXPECT_EQ(l.learnt(), "p1 01, p1 01");
}

TEST(bridge, holds_who_moves_too_often) {
    lab l(three + "    damping: {moves: 2, within_s: 5, hold_s: 20}\n");
    l.egress_ports(0, frame(fdb_entry(9), fdb_entry(1)));
    l.egress_ports(1, frame(fdb_entry(9), fdb_entry(1)));
    EXPECT_EQ(l.learnt(), "p1 01");
    l.egress_ports(2, frame(fdb_entry(9), fdb_entry(1)));
    l.egress_ports(1, frame(fdb_entry(9), fdb_entry(1)));
    EXPECT_EQ(l.learnt(), "p0 01!") << "where it was at first";
    EXPECT_EQ(l.egress_ports(1, frame(fdb_entry(9), fdb_entry(1))), "");
    EXPECT_EQ(l.dropped(drop_reason::bridge_moving), 1U);
    EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(9), fdb_entry(1))), "1 2") << "there it may send";
    l.seconds(22);
    EXPECT_EQ(l.learnt(), "p0 01");
    EXPECT_EQ(l.egress_ports(1, frame(fdb_entry(9), fdb_entry(1))), "0 2");
    EXPECT_EQ(l.learnt(), "p1 01");
}

/// The frames that a hold drops keep the entry, though its station is silent: the host that took its address would be learnt.
TEST(bridge, an_entry_that_is_held_does_not_age) {
    lab l(three + "    ageing_s: 10\n    damping: {moves: 2, within_s: 5, hold_s: 40}\n");
    for (const uint16_t port : std::initializer_list<uint16_t>{0, 1, 2, 1})
        l.egress_ports(port, frame(fdb_entry(9), fdb_entry(1)));
    EXPECT_EQ(l.learnt(), "p0 01!");
    l.seconds(25);
    EXPECT_EQ(l.egress_ports(1, frame(fdb_entry(9), fdb_entry(1))), "");
    EXPECT_EQ(l.learnt(), "p0 01!");
    l.seconds(30);
    EXPECT_EQ(l.learnt(), "") << "after its hold it ages as others do";
}

/// A lab whose clock a test sets to a part of a second.
class bridge_at : public bridge_lab {
  public:
    using bridge_lab::bridge_lab;
    void pass_to(uint64_t ms_of_second) {
        while (now_ms_ % 1000 != ms_of_second) control(1);
    }
};

/// Another host that sends from a station's address gets the station to its port by no choice of the time.
TEST(bridge, holds_a_station_at_its_own_port) {
    bridge_at l(three + "    damping: {moves: 2, within_s: 1, hold_s: 3}\n");
    const auto sends_by = [&](uint16_t port) {
        return l.egress_ports(port, frame(fdb_entry(9), fdb_entry(1)));
    };
    sends_by(0);
    for (int again = 0; again < 2; ++again) {
        SCOPED_TRACE(again);
        l.pass_to(990);
        sends_by(1);
        EXPECT_EQ(l.learnt(), "p1 01");
        l.pass_to(0);
        for (const uint16_t port : std::initializer_list<uint16_t>{0, 1, 0}) sends_by(port);
        EXPECT_EQ(l.learnt(), "p0 01!");
        EXPECT_EQ(sends_by(0), "1 2");
        EXPECT_EQ(sends_by(1), "");
        l.seconds(5);
        EXPECT_EQ(l.learnt(), "p0 01");
    }
    // A move that is alone in its time, soon after the hold.
    sends_by(1);
    l.pass_to(999);
    l.pass_to(998);
    l.pass_to(999);
    for (const uint16_t port : std::initializer_list<uint16_t>{0, 1, 0}) sends_by(port);
    EXPECT_EQ(l.learnt(), "p0 01!");
}

TEST(bridge, holds_a_station_that_moved_at_its_new_port) {
    bridge_lab l(three + "    damping: {moves: 2, within_s: 1, hold_s: 3}\n");
    const auto sends_by = [&](uint16_t port) {
        return l.egress_ports(port, frame(fdb_entry(9), fdb_entry(1)));
    };
    sends_by(0);
    for (const uint16_t home : std::initializer_list<uint16_t>{2, 0}) {
        SCOPED_TRACE(home);
        sends_by(home);
        for (int s = 0; s < 4; ++s) {
            EXPECT_EQ(l.learnt(), "p" + std::to_string(home) + " 01");
            l.seconds(1);
            sends_by(home);
        }
        for (const uint16_t port : {uint16_t{1}, home, uint16_t{1}}) sends_by(port);
        EXPECT_EQ(l.learnt(), "p" + std::to_string(home) + " 01!");
        l.seconds(5);
    }
}

/// Where the first port has left the bridge, or is full, the entry stays where it is.
TEST(bridge, holds_a_station_whose_first_port_cannot_have_it) {
    const std::string damped = "    damping: {moves: 2, within_s: 5, hold_s: 20}\n";
    for (const bool leaves : {true, false}) {
        SCOPED_TRACE(leaves);
        lab l(ports(3) + bridge("{port: p0, max_addresses: 1}, {port: p1}, {port: p2}", damped));
        for (const uint16_t p : std::initializer_list<uint16_t>{0, 1})
            l.egress_ports(p, frame(fdb_entry(9), fdb_entry(1)));
        if (leaves) {
            ASSERT_TRUE(l.apply(ports(3) + bridge("{port: p1}, {port: p2}", damped) +
                                "  - {name: other, members: [{port: p0}]}\n"));
        } else {
            l.egress_ports(0, frame(fdb_entry(9), fdb_entry(2)));
        }
        for (const uint16_t p : std::initializer_list<uint16_t>{2, 1})
            l.egress_ports(p, frame(fdb_entry(9), fdb_entry(1)));
        EXPECT_EQ(l.learnt(), leaves ? "p2 01!" : "p0 02, p2 01!");
        EXPECT_EQ(l.controller().bridges().numbers_of("lan").dampened, 1U);
    }
}

/// Five hundred stations alternate between two ports: each may move five times, then its entry is
/// held; stations that do not move are not affected.
TEST(bridge, a_storm_of_moves_is_held) {
    constexpr unsigned movers = 500, rounds = 12;
    lab l(ports(4) + bridge("{port: p0}, {port: p1}, {port: p2}, {port: p3}"));
    l.egress_ports(0, frame(fdb_entry(9), fdb_entry(1)));
    l.egress_ports(1, frame(fdb_entry(9), fdb_entry(2)));
    for (unsigned round = 0; round < rounds; ++round) {
        for (unsigned n = 0; n < movers; ++n) {
            const byte_vector mover{
                2, 0, 0, 2, static_cast<uint8_t>(n >> 8), static_cast<uint8_t>(n)};
            ASSERT_TRUE(l.offer(round % 2 == 0 ? 2 : 3, frame(fdb_entry(1), mover)));
            if (n % 32 == 31) l.settle();
        }
        l.settle();
        l.sent(0);
        EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(2), fdb_entry(1))), "1");
        EXPECT_EQ(l.egress_ports(1, frame(fdb_entry(1), fdb_entry(2))), "0");
    }
    EXPECT_EQ(l.controller().bridges().numbers_of("lan").moves, 6U * movers)
        << "the sixth is back to where it is held";
    // The remaining frames came from another port than the held one: half of the later frames.
    EXPECT_EQ(l.dropped(drop_reason::bridge_moving), movers * (rounds - 6) / 2);
}

TEST(bridge, an_operators_word_counts_more) {
    lab l(three + "    fdb: [{mac: \"02:00:00:01:00:05\", port: p2}]\n");
    EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(5), fdb_entry(1))), "2");
    EXPECT_EQ(l.egress_ports(1, frame(fdb_entry(1), fdb_entry(5))), "0")
        << "from elsewhere, and forwarded";
    EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(5), fdb_entry(1))), "2") << "he did not move";
    l.seconds(400);
    EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(5), fdb_entry(1))), "2") << "he does not age";
}

TEST(bridge, isolates_and_locks) {
    lab l(ports(4) + bridge("{port: p0, isolation: 1}, {port: p1, isolation: 1}, {port: p2}, "
                            "{port: p3, locked: true, flood_unknown: false}",
                            "    fdb: [{mac: \"02:00:00:01:00:04\", port: p3}]\n"));
    EXPECT_EQ(l.egress_ports(0, frame(everybody, fdb_entry(1))), "2 3");
    l.egress_ports(1, frame(everybody, fdb_entry(2)));
    EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(2), fdb_entry(1))), "");
    EXPECT_EQ(l.dropped(drop_reason::bridge_isolated), 1U);
    EXPECT_EQ(l.egress_ports(2, frame(fdb_entry(1), fdb_entry(3))), "0");
    EXPECT_EQ(l.egress_ports(2, frame(fdb_entry(77), fdb_entry(3))), "0 1")
        << "unknown ones stay out of p3";
    EXPECT_EQ(l.egress_ports(3, frame(everybody, fdb_entry(4))), "0 1 2");
    EXPECT_EQ(l.egress_ports(3, frame(everybody, fdb_entry(6))), "");
    EXPECT_EQ(l.dropped(drop_reason::bridge_locked), 1U);
}

TEST(bridge, reserved_groups_by_choice) {
    const auto group = [](uint8_t last) { return byte_vector{1, 0x80, 0xc2, 0, 0, last}; };
    lab l(three + "    reserved: {stp: drop, lacp: flood, lldp: punt}\n");
    EXPECT_EQ(l.egress_ports(0, frame(group(0), fdb_entry(1))), "");
    EXPECT_EQ(l.egress_ports(0, frame(group(2), fdb_entry(1))), "1 2");
    EXPECT_EQ(l.egress_ports(0, frame(group(0x0e), fdb_entry(1))), "");
    EXPECT_EQ(l.egress_ports(0, frame(group(3), fdb_entry(1))), "");
    EXPECT_EQ(l.egress_ports(0, frame(group(0x10), fdb_entry(1))), "1 2") << "is no reserved one";
    EXPECT_EQ(l.dropped(drop_reason::bridge_reserved), 2U);
    EXPECT_EQ(l.controller().report().total().consumed, 1U);
}

/// The device at the other end of a cable is shown as long as its port is in a bridge: another interface may get the index.
TEST(bridge, senders_of_reserved_frames_go_with_their_port) {
    const std::string punts = "    reserved: {lldp: punt}\n";
    lab l(three + punts);
    for (const uint16_t p : std::initializer_list<uint16_t>{0, 1})
        l.send(p, frame({1, 0x80, 0xc2, 0, 0, 0x0e}, fdb_entry(1)));
    EXPECT_EQ(l.controller().reserved().known().size(), 2U);
    std::string routed = three + punts;
    routed.replace(routed.find("device: d1"), 10, "device: d1, addresses: [10.0.9.1/24]");
    routed.erase(routed.find("{port: p1}, "), 12);
    ASSERT_TRUE(l.apply(routed));
    const auto& known = l.controller().reserved().known();
    ASSERT_EQ(known.size(), 1U);
    EXPECT_EQ(known.begin()->first.first, l.controller().interfaces().indexes().at("p0"));
}

TEST(bridge, storms_are_limited_by_kind) {
    lab l(ports(2) + bridge("{port: p0, storm: {broadcast: 1, unknown: 1}}, {port: p1}"));
    size_t out = 0;
    for (uint8_t i = 0; i < 64; ++i) out += l.send(0, frame(everybody, fdb_entry(1)))[1].size();
    EXPECT_LE(out, 34U) << "a burst, and no more within a moment";
    EXPECT_GE(out, 32U);
    EXPECT_EQ(l.dropped(drop_reason::bridge_storm_broadcast), 64 - out);
    EXPECT_EQ(l.egress_ports(0, frame({1, 0, 0x5e, 0, 0, 9}, fdb_entry(1))), "1")
        << "multicast is not limited";
    EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(50), fdb_entry(1))), "1")
        << "another kind, another limit";
}

/// By any split of the frames between their queues.
TEST(bridge, workers_share_the_storm_limits) {
    for (const unsigned of_first : {0U, 80U, 160U}) {
        path_lab l(ports(2) + bridge("{port: p0, storm: {broadcast: 2560}}, {port: p1}"), 2);
        // A worker's first iteration begins, for its stages, when start() ended.
        const auto began = std::chrono::steady_clock::now();
        for (const size_t w : {0U, 1U}) l.worker(w).start();
        l.links(true);
        for (unsigned n = 0; n < 160; ++n)
            ASSERT_TRUE(l.offer(0, frame(everybody, fdb_entry(1)), n < of_first ? 0 : 1));
        for (int n = 0; n < 8; ++n)
            for (const size_t w : {0U, 1U}) l.worker(w).poll();
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
        const size_t out = l.sent(1).size();
        EXPECT_GE(out, 129U) << "a burst, from " << of_first;
        EXPECT_LE(static_cast<double>(out), 130 + 2560 * took.count()) << of_first;
        for (const size_t w : {0U, 1U}) l.worker(w).finish();
    }
}

/// Another change does not fill the bucket, and another rate begins with a full one.
TEST(bridge, a_storm_limit_lasts_over_changes) {
    const std::string member = "{port: p0, storm: {broadcast: 1}}, {port: p1}";
    lab l(ports(2) + bridge(member));
    const auto begin = std::chrono::steady_clock::now();
    for (uint8_t i = 0; i < 64; ++i) l.send(0, frame(everybody, fdb_entry(1)));
    ASSERT_TRUE(l.apply(ports(3) + bridge(member + ", {port: p2}")));
    const size_t sent = l.send(0, frame(everybody, fdb_entry(1)))[1].size();
    EXPECT_LE(sent, (std::chrono::steady_clock::now() - begin) / std::chrono::seconds(1));
    ASSERT_TRUE(l.apply(ports(2) + bridge("{port: p0, storm: {broadcast: 2}}, {port: p1}")));
    EXPECT_EQ(l.send(0, frame(everybody, fdb_entry(1)))[1].size(), 1U);
}

/// A tag that stays in the frame is none of its bytes, as one that a device takes out; nor is it
/// where bursts are of several VLANs, or lists make the tag go.
TEST(bridge, counts_bytes_without_tags) {
    for (const char* list : {"", ", acl: {in: all}"}) {
        lab l(std::string("acl: [{name: all, default: permit, rules: []}]\nports:\n"
                          "  - {name: p0, device: d0") +
              list + "}\n  - {name: p1, device: d1}\n" +
              bridge("{port: p0, mode: trunk}, {port: p1, mode: native-untagged, vlan: 10}"));
        const byte_vector f = frame(fdb_entry(9), fdb_entry(1)), same = tagged(f, 11);
        EXPECT_EQ(l.egress_ports(0, tagged(f, 0xa00a), &f), "1") << "the tag goes";
        EXPECT_EQ(l.egress_ports(0, same), "1") << "it stays";
        for (const uint16_t vlan : std::initializer_list<uint16_t>{11, 11, 10, 4095})
            ASSERT_TRUE(l.offer(0, tagged(f, vlan)));
        l.settle();
        EXPECT_EQ(l.sent(1), (std::vector<byte_vector>{same, same, f}));
        for (int i = 0; i < 2; ++i) ASSERT_TRUE(l.offer(0, same));
        l.settle();
        l.sent(1);
        const auto& known = l.controller().bridges();
        const uint16_t first = known.first_domain_of("lan");
        const auto ten = known.counted(static_cast<uint16_t>(first + 10));
        const auto eleven = known.counted(static_cast<uint16_t>(first + 11));
        EXPECT_EQ(ten.rx_packets, 2U);
        EXPECT_EQ(ten.rx_bytes, 120U);
        EXPECT_EQ(eleven.rx_packets, 5U);
        EXPECT_EQ(eleven.rx_bytes, 300U);
        EXPECT_EQ(l.dropped(drop_reason::bridge_vlan), 1U);
    }
}

/// The VLAN modes of a bridge: p0 access, p1 trunk, p2 native-untagged, p3 native-tagged, p4
/// dot1q-tunnel, p5 a trunk of service tags.
const std::string vlans =
    ports(6) +
    bridge(
        "{port: p0, mode: access, vlan: 10}, "
        "{port: p1, mode: trunk, trunks: [10, 20-29], translate: [{wire: 110, vlan: 20}]}, "
        "{port: p2, mode: native-untagged, vlan: 10, trunks: [20]}, "
        "{port: p3, mode: native-tagged, vlan: 10, trunks: [20]}, "
        "{port: p4, mode: dot1q-tunnel, vlan: 30}, "
        "{port: p5, mode: trunk, trunks: [30], ethertype: 802.1ad}");

TEST(vlans, each_mode_tags_as_it_should) {
    lab l(vlans);
    const byte_vector plain = frame(everybody, fdb_entry(1));
    const auto check = [&](uint16_t from, const byte_vector& in,
                           const std::map<size_t, byte_vector>& wanted, const char* what) {
        const auto out = l.send(from, in);
        for (size_t p = 0; p < out.size(); ++p) {
            const auto w = wanted.find(p);
            ASSERT_EQ(out[p].size(), w == wanted.end() ? 0U : 1U) << what << ", port " << p;
            if (w != wanted.end()) {
                EXPECT_EQ(out[p][0], w->second) << what << ", port " << p;
            }
        }
    };
    check(0, plain, {{1, tagged(plain, 10)}, {2, plain}, {3, tagged(plain, 10)}}, "access");
    check(0, tagged(plain, 0xa000),
          {{1, tagged(plain, 0xa00a)}, {2, plain}, {3, tagged(plain, 0xa00a)}}, "a priority tag");
    check(0, tagged(plain, 10), {}, "tagged into access");
    check(1, tagged(plain, 0x600a), {{0, plain}, {2, plain}, {3, tagged(plain, 0x600a)}}, "trunk");
    check(1, plain, {}, "untagged into trunk");
    check(1, tagged(plain, 110), {{2, tagged(plain, 20)}, {3, tagged(plain, 20)}}, "translated");
    check(1, tagged(plain, 20), {}, "by the name that is translated");
    check(1, tagged(plain, 21), {}, "nobody else's");
    check(1, tagged(plain, 30), {}, "not its own");
    check(1, tagged(plain, 4095), {}, "reserved");
    check(2, tagged(plain, 20), {{1, tagged(plain, 110)}, {3, tagged(plain, 20)}}, "native");
    check(2, plain, {{0, plain}, {1, tagged(plain, 10)}, {3, tagged(plain, 10)}},
          "native untagged");
    check(3, plain, {{0, plain}, {1, tagged(plain, 10)}, {2, plain}}, "native tagged, untagged");
    check(4, plain, {{5, tagged(plain, 30, type_service)}}, "tunnel");
    check(4, tagged(plain, 77), {{5, tagged(tagged(plain, 77), 30, type_service)}}, "QinQ in");
    check(5, tagged(tagged(plain, 0x4063), 30, type_service), {{4, tagged(plain, 0x4063)}},
          "QinQ out");
    check(5, tagged(plain, 30), {}, "a customer's tag is none of the provider's");
    EXPECT_EQ(l.dropped(drop_reason::bridge_vlan), 6U);
    EXPECT_EQ(l.dropped(drop_reason::flood_no_member), 1U);
}

TEST(vlans, have_stations_of_their_own) {
    lab l(vlans);
    const auto to = [](uint8_t a, uint8_t b) { return frame(fdb_entry(a), fdb_entry(b)); };
    l.send(1, tagged(to(9, 1), 10));
    l.send(2, tagged(to(9, 1), 20));
    EXPECT_EQ(l.learnt(), "p1 01, p2 01");
    const byte_vector inside = to(1, 2), as = tagged(inside, 10);
    EXPECT_EQ(l.egress_ports(0, inside, &as), "1");
    const byte_vector in = tagged(to(1, 3), 110), out = tagged(to(1, 3), 20);
    EXPECT_EQ(l.egress_ports(1, in, &out), "2");
}

TEST(vlans, cut_tags_go_nowhere) {
    lab l(vlans);
    const byte_vector whole = tagged(frame(everybody, fdb_entry(1)), 10);
    for (const ptrdiff_t bytes : {14, 15, 17})
        EXPECT_EQ(l.egress_ports(1, byte_vector(whole.begin(), whole.begin() + bytes)), "")
            << bytes;
    EXPECT_EQ(l.dropped(drop_reason::bridge_vlan), 3U);
}

TEST(vlans, tags_that_a_device_took_out) {
    lab l(vlans);
    const byte_vector plain = frame(everybody, fdb_entry(1));
    rte_mbuf* m = l.packet_of(plain);
    m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
    m->vlan_tci = 0x600a;
    ASSERT_TRUE(l.offer_packet(1, m));
    l.settle();
    rte_mbuf* const untagged = l.next_sent(0);
    ASSERT_NE(untagged, nullptr);
    EXPECT_EQ(path_lab::bytes_of(untagged), plain);
    EXPECT_EQ(untagged->ol_flags & (RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED), 0U)
        << "a receiver by a ring would take the flag for a tag";
    rte_pktmbuf_free(untagged);
    EXPECT_EQ(l.sent(3), one(tagged(plain, 0x600a)));
    l.sent(2);
}

/// They are in the frames of interfaces that do not look at tags, too; and no driver acts on flags of another program.
TEST(vlans, tags_that_a_device_took_out_are_put_back) {
    const byte_vector plain = frame(everybody, fdb_entry(1)), with_tag = tagged(plain, 0x600a),
                      with_service_tag = tagged(plain, 0x601e, type_service);
    const auto offer = [&](lab& l, uint16_t port, uint16_t tci, const byte_vector& bytes) {
        rte_mbuf* const m = l.packet_of(bytes);
        m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_TX_VLAN |
                       RTE_MBUF_F_TX_UDP_CKSUM;
        m->vlan_tci = tci;
        EXPECT_TRUE(l.offer_packet(port, m));
        l.settle();
    };
    for (const std::string& how :
         {std::string("xconnects: [[p0, p1]]\n"), bridge("{port: p0}, {port: p1}")}) {
        lab l(ports(2) + how);
        offer(l, 0, 0x600a, plain);
        rte_mbuf* const out = l.next_sent(1);
        ASSERT_NE(out, nullptr) << how;
        EXPECT_EQ(path_lab::bytes_of(out), with_tag) << how;
        EXPECT_EQ(out->ol_flags, 0U) << how;
        rte_pktmbuf_free(out);
    }
    {
        lab l(vlans);
        offer(l, 5, 0x601e, plain);
        EXPECT_EQ(l.sent(4), one(plain)) << "a service tag";
        offer(l, 4, 0x600a, plain);
        EXPECT_EQ(l.sent(5), one(tagged(with_tag, 0x601e & 0xfff, type_service)))
            << "a customer's tag behind the provider's";
    }
    {
        lab l("ports: [{name: p0, device: d0, addresses: [10.0.1.254/24]}]\n");
        offer(l, 0, 0x600a,
              ethernet(type4, ipv4({.source = 1, .destination = 2}, udp(counted(20))),
                       {2, 0, 0, 0, 0, 0x0b}));
        EXPECT_EQ(l.dropped(drop_reason::vlan_on_routed_port), 1U);
        offer(l, 0, 0x600a, byte_vector(plain.begin(), plain.begin() + 10));
        EXPECT_EQ(l.dropped(drop_reason::runt), 1U);
    }
}

}  // namespace
}  // namespace turnpike
