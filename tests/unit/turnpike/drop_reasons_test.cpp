// SPDX-License-Identifier: BSD-3-Clause
// Drop reasons that need a rare packet or a busy control: each on the whole path of such a packet
// (doc/drops.md). tests/lint/lint_test.py finds reasons that no test names.
#include "bridge_lab.hpp"
#include "control/forwarding/workers.hpp"
#include "reload_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using datapath::drop_reason;

/// A frame in two segments, the first of which has `lead` bytes and no room behind them.
rte_mbuf* without_tailroom(path_lab& l, const byte_vector& f, uint16_t lead) {
    const auto at = f.begin() + lead;
    rte_mbuf *head = l.packet_of(byte_vector(f.begin(), at)),
             *rest = l.packet_of(byte_vector(at, f.end()));
    head->data_off = static_cast<uint16_t>(head->buf_len - lead);
    std::copy(f.begin(), at, rte_pktmbuf_mtod(head, uint8_t*));
    EXPECT_EQ(rte_pktmbuf_chain(head, rest), 0);
    return head;
}

TEST(drop_reasons, headers_that_cannot_be_put_together) {
    lab l(router());
    const byte_vector f = datagram(0x0a00'0202);
    ASSERT_TRUE(l.offer_packet(0, without_tailroom(l, f, 20)));
    l.settle();
    EXPECT_EQ(l.dropped(drop_reason::headers_not_contiguous), 1U);
    EXPECT_EQ(l.egress_port("10.0.2.2"), 1) << "whole, it is forwarded";
}

TEST(drop_reasons, an_ethernet_header_in_two_segments) {
    lab l(router());
    const byte_vector f = datagram(0x0a00'0202);
    ASSERT_TRUE(l.offer_packet(0, without_tailroom(l, f, 10)));
    l.settle();
    EXPECT_EQ(l.dropped(drop_reason::ether_not_contiguous), 1U);
    EXPECT_EQ(l.dropped(drop_reason::runt), 0U);
    rte_mbuf* const with_room = l.packet_of(byte_vector(f.begin(), f.begin() + 10));
    ASSERT_EQ(rte_pktmbuf_chain(with_room, l.packet_of(byte_vector(f.begin() + 10, f.end()))), 0);
    ASSERT_TRUE(l.offer_packet(0, with_room));
    l.settle();
    EXPECT_EQ(l.sent(1).size(), 1U) << "it is linearized";
}

/// Where some driver would truncate such a packet, or lose its later buffers, it does not come so far. A patch looks at no
/// length.
TEST(drop_reasons, several_buffers_where_a_port_sends_one) {
    const byte_vector f = datagram(0x0a00'0202);
    bridge_lab patch(ports(2) + "xconnects: [[p0, p1]]\n");
    EXPECT_FALSE(patch.snapshot().one_buffer) << "rings carry any packet";
    const_cast<datapath::snapshot&>(patch.snapshot()).one_buffer = true;
    ASSERT_TRUE(patch.offer_packet(0, without_tailroom(patch, f, 20)));
    patch.settle();
    EXPECT_EQ(patch.dropped(drop_reason::frame_too_long), 1U);
    EXPECT_EQ(patch.sent(1).size(), 0U);
    // The driver did not fill the buffer.
    rte_mbuf* const with_room = patch.packet_of(byte_vector(f.begin(), f.begin() + 20));
    ASSERT_EQ(rte_pktmbuf_chain(with_room, patch.packet_of(byte_vector(f.begin() + 20, f.end()))),
              0);
    ASSERT_EQ(rte_pktmbuf_chain(with_room, patch.packet_of({})), 0);
    ASSERT_TRUE(patch.offer_packet(0, with_room));
    patch.settle();
    rte_mbuf* const whole = patch.next_sent(1);
    ASSERT_NE(whole, nullptr);
    EXPECT_EQ(whole->nb_segs, 1U);
    EXPECT_EQ(patch.bytes_of(whole), f);
    rte_pktmbuf_free(whole);
}

/// Some NICs' queues stop for good at frames of less than 17 bytes. Only virtual peers send them.
TEST(drop_reasons, no_frame_is_sent_shorter_than_nics_can) {
    {
        bridge_lab l(ports(2) + bridge("{port: p0}, {port: p1}"));
        EXPECT_EQ(l.snapshot().min_tx_bytes, 0U) << "rings carry any frame";
        const_cast<datapath::snapshot&>(l.snapshot()).min_tx_bytes = 17;
        for (const size_t bytes : {14U, 15U, 16U, 17U, 18U, 60U}) {
            byte_vector f = frame(everybody, fdb_entry(1));
            f.resize(bytes, 0xab);
            ASSERT_TRUE(l.offer(0, f));
            l.settle();
            f.resize(std::max<size_t>(bytes, 17), 0);
            EXPECT_EQ(l.sent(1), one(f)) << bytes;
        }
    }
    bridge_lab tags(ports(2) +
                    bridge("{port: p0, mode: trunk}, {port: p1, mode: access, vlan: 5}"));
    const_cast<datapath::snapshot&>(tags.snapshot()).min_tx_bytes = 17;
    byte_vector f = frame(everybody, fdb_entry(1));
    f.resize(15, 0xab);
    ASSERT_TRUE(tags.offer(0, tagged(f, 5)));
    tags.settle();
    f.resize(17, 0);
    EXPECT_EQ(tags.sent(1), one(f)) << "without its tag";
}

/// Neither may a tag be missed: the frame would be taken for an untagged one.
TEST(drop_reasons, a_vlan_tag_in_two_segments) {
    bridge_lab vlans(ports(2) + bridge("{port: p0, mode: trunk}, {port: p1, mode: trunk}"));
    const byte_vector tagged = ethernet(0x8100, byte_vector{0, 7, 8, 0} + ipv4({}, udp({})));
    ASSERT_TRUE(vlans.offer_packet(0, without_tailroom(vlans, tagged, 16)));
    vlans.settle();
    EXPECT_EQ(vlans.dropped(drop_reason::bridge_vlan), 1U);
    EXPECT_EQ(vlans.sent(1).size(), 0U);
}

TEST(drop_reasons, a_patch_reads_no_headers) {
    const byte_vector f = datagram(0x0a00'0202);
    bridge_lab patch(ports(2) + "xconnects: [[p0, p1]]\n");
    ASSERT_TRUE(patch.offer_packet(0, without_tailroom(patch, f, 20)));
    patch.settle();
    EXPECT_EQ(patch.sent(1), one(f));
}

TEST(drop_reasons, neighbour_discovery_in_two_segments) {
    lab l(router());
    const byte_vector us{0x20, 1, 0xd, 0xb8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfe};
    const byte_vector link_address{1, 1, 2, 0, 0, 0, 0, 0x0d};
    const byte_vector solicitation =
        ethernet(0x86dd,
                 ipv6({.next_header = 58, .hop_limit = 255, .source = v6_b, .destination = us},
                      icmp6(135, 0, zeros(4) + us + link_address, v6_b, us)),
                 {2, 0, 0, 0, 0, 0x0c}, {2, 0, 0, 0, 0, 0x0d});
    const auto headers = static_cast<uint16_t>(solicitation.size() - link_address.size());
    ASSERT_TRUE(l.offer_packet(1, without_tailroom(l, solicitation, headers)));
    l.settle();
    EXPECT_EQ(l.dropped(drop_reason::nd_not_contiguous), 1U);
    EXPECT_EQ(l.sent(1).size(), 0U);
    rte_mbuf* const together =
        l.packet_of(byte_vector(solicitation.begin(), solicitation.end() - 8));
    ASSERT_EQ(rte_pktmbuf_chain(together, l.packet_of(link_address)), 0);
    ASSERT_TRUE(l.offer_packet(1, together));
    l.settle();
    EXPECT_EQ(l.sent(1).size(), 1U) << "where the segments can be put together it is answered";
}

/// RFC 6583 section 6: neighbour replies are processed during a flood on a link.
TEST(drop_reasons, neighbour_messages_beyond_their_rate) {
    constexpr unsigned at_once = 20 / 10 / 2;  // of one host
    lab l(router("", "  rate: 20\n"));
    const byte_vector question = ethernet(0x0806, arp({}), byte_vector(6, 0xff));
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(l.offer(0, question));
    l.settle();
    EXPECT_EQ(l.sent(0).size(), at_once);
    EXPECT_EQ(l.dropped(drop_reason::neighbour_rate), 5 - at_once);
    byte_vector from_east = datagram(0x0a00'0109);
    from_east[5] = 0x0c;
    ASSERT_TRUE(l.offer(1, from_east));
    l.settle();
    ASSERT_EQ(l.sent(0).size(), 1U) << "10.0.1.9 is asked for";
    ASSERT_TRUE(l.offer(
        0, ethernet(0x0806, arp({.operation = 2, .sender_ip = 0x0a00'0109, .target_mac = mac_b}))));
    l.settle();
    EXPECT_EQ(l.sent(0).size(), 1U) << "its answer is heard, and the packet goes on";
    l.control(1000);
    ASSERT_TRUE(l.offer(0, question));
    l.settle();
    EXPECT_EQ(l.sent(0).size(), 1U) << "a second later there is room for others";
    EXPECT_EQ(l.dropped(drop_reason::neighbour_rate), 5 - at_once);
}

TEST(drop_reasons, storms_of_multicast_and_of_unknown_stations) {
    const struct {
        const char* kind;
        byte_vector to;
        drop_reason why;
    } rows[] = {{"multicast", {1, 0, 0x5e, 0, 0, 9}, drop_reason::bridge_storm_multicast},
                {"unknown", fdb_entry(50), drop_reason::bridge_storm_unknown}};
    for (const auto& row : rows) {
        bridge_lab l(ports(2) +
                     bridge("{port: p0, storm: {" + std::string(row.kind) + ": 1}}, {port: p1}"));
        size_t out = 0;
        for (int i = 0; i < 64; ++i) out += l.send(0, frame(row.to, fdb_entry(1)))[1].size();
        EXPECT_GE(out, 32U) << row.kind;
        EXPECT_LE(out, 34U) << row.kind << ": a burst, and no more within a moment";
        EXPECT_EQ(l.dropped(row.why), 64 - out) << row.kind;
        EXPECT_EQ(l.egress_ports(0, frame(everybody, fdb_entry(1))), "1")
            << "another kind, another limit";
    }
}

TEST(drop_reasons, a_frame_without_room_for_a_tag) {
    bridge_lab l(ports(2) + bridge("{port: p0, mode: access, vlan: 5}, {port: p1, mode: trunk}"));
    const byte_vector f = frame(everybody, fdb_entry(1));
    rte_mbuf* const m = l.packet_of(f);
    m->data_off = 0;
    std::copy(f.begin(), f.end(), rte_pktmbuf_mtod(m, uint8_t*));
    ASSERT_TRUE(l.offer_packet(0, m));
    l.settle();
    EXPECT_EQ(l.dropped(drop_reason::vlan_no_headroom), 1U);
    const byte_vector with_tag = tagged(f, 5);
    EXPECT_EQ(l.egress_ports(0, f, &with_tag), "1");
}

/// The driver stripped the tag, and left no room for it.
TEST(drop_reasons, a_frame_without_room_for_its_own_tag) {
    bridge_lab l(ports(2) + bridge("{port: p0}, {port: p1}"));
    const byte_vector f = frame(everybody, fdb_entry(1));
    for (const uint16_t headroom : {uint16_t{3}, uint16_t{4}}) {
        rte_mbuf* const m = l.packet_of(f);
        m->data_off = headroom;
        std::copy(f.begin(), f.end(), rte_pktmbuf_mtod(m, uint8_t*));
        m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
        m->vlan_tci = 5;
        ASSERT_TRUE(l.offer_packet(0, m));
        l.settle();
    }
    EXPECT_EQ(l.sent(1), one(tagged(f, 5)));
    EXPECT_EQ(l.dropped(drop_reason::stripped_tag_no_headroom), 1U);
}

TEST(drop_reasons, more_for_control_than_its_ring_holds) {
    lab l(router() + "punt_rate: {local: 10000000}\n");
    constexpr unsigned beyond = 50;
    byte_vector echo = ethernet(
        0x0800, ipv4({.protocol = 1, .destination = 0x0a00'01fe}, icmp4(8, 0, counted(12))));
    for (unsigned i = 0; i < control::punt_ring_packets + beyond; ++i) {
        ASSERT_TRUE(l.offer(0, echo)) << i;
        l.worker().poll();  // control makes no round meanwhile
    }
    ASSERT_TRUE(l.offer(0, ethernet(0x0806, arp({}), byte_vector(6, 0xff))));
    l.worker().poll();
    EXPECT_EQ(l.dropped(drop_reason::punt_ring_full), beyond);
    for (unsigned i = 0; i < control::punt_ring_packets; i += 32) l.settle();
    unsigned arp_answers = 0;
    for (const byte_vector& f : l.sent(0)) arp_answers += f[12] == 0x08 && f[13] == 0x06;
    EXPECT_EQ(arp_answers, 1U) << "ARP has a separate ring";
    EXPECT_EQ(l.dropped(drop_reason::punt_ring_full), beyond);
}

TEST(drop_reasons, messages_of_ours_that_no_route_leads_to) {
    lab l(router());
    constexpr uint32_t stranger = 0x0909'0909;
    ASSERT_TRUE(l.offer(
        0, ethernet(0x0800, ipv4({.protocol = 1, .source = stranger, .destination = 0x0a00'01fe},
                                 icmp4(8, 0, counted(12))))));
    ASSERT_TRUE(
        l.offer(0, ethernet(0x0800, ipv4({.ttl = 1, .source = stranger}, udp(counted(4))))));
    l.settle();
    EXPECT_EQ(l.dropped(drop_reason::originated_no_route), 2U) << "a reply and an error";
    EXPECT_EQ(l.dropped(drop_reason::ipv4_ttl), 1U);
    EXPECT_EQ(l.sent(0).size() + l.sent(1).size(), 0U);
}

/// Another holder of the buffer, as an application has that multicasts by net_ring: each gives back its own reference. Also
/// where the packet is fragmented, waits for its neighbour or is dropped.
TEST(shared_buffers, are_forwarded_and_stay_the_other_holders) {
    lab l(router());
    const byte_vector waits = datagram(0x0a00'02c8), known = datagram(0x0a00'0202),
                      nowhere = datagram(0x0909'0909);
    std::vector<rte_mbuf*> held;
    for (const byte_vector& f : {known, waits, nowhere}) {
        rte_mbuf* const m = l.packet_of(f);
        rte_mbuf_refcnt_update(m, 1);
        held.push_back(m);
        ASSERT_TRUE(l.offer_packet(0, m));
        held.push_back(l.packet_of(f));
        ASSERT_TRUE(l.offer_packet(0, rte_pktmbuf_clone(held.back(), l.controller().pool())));
    }
    l.settle();
    EXPECT_EQ(l.dropped(drop_reason::no_route), 2U);
    unsigned forwarded = 0;
    for (const byte_vector& f : l.sent(1)) forwarded += f.size() == known.size() ? 1 : 0;
    EXPECT_EQ(forwarded, 2U);
    for (rte_mbuf* m : held) rte_pktmbuf_free(m);
}

byte_vector numbered(unsigned n) {
    return {2, 0, 0, 5, static_cast<uint8_t>(n >> 8), static_cast<uint8_t>(n)};
}

/// A worker learns more stations than its ring to control holds between two rounds: the excess is
/// counted, and reported later.
TEST(messages_lost, fdb_entries_beyond_the_ring) {
    bridge_lab l(ports(2) + bridge("{port: p0}, {port: p1}"));
    const auto& bridges = l.controller().bridges();
    unsigned met = 0;
    while (bridges.messages_lost() == 0 && met < 20'000) {
        ASSERT_TRUE(l.offer(0, frame(everybody, numbered(met))));
        l.worker().poll();
        ++met;
        l.sent(1);
    }
    ASSERT_GT(bridges.messages_lost(), 0U);
    EXPECT_EQ(bridges.numbers_of("lan").learnt, 0U) << "control made no round";
    for (int i = 0; i < 3; ++i) l.settle();  // control takes some in each round
    l.sent(1);
    EXPECT_EQ(bridges.numbers_of("lan").learnt, met - 1);
    EXPECT_EQ(l.send(0, frame(everybody, numbered(met - 1)))[1].size(), 1U);
    EXPECT_EQ(bridges.numbers_of("lan").learnt, met) << "it is learnt when it sends again";
}

}  // namespace
}  // namespace turnpike
