// SPDX-License-Identifier: BSD-3-Clause
// IPv4 packets that exceed the egress MTU, through the real stages: fragmented at once, after neighbour resolution,
// behind an egress ACL, from several segments; and without free mbufs.
#include <gtest/gtest.h>

#include "lib/eal.hpp"
#include "lib/path_lab.hpp"
#include "packet/headers.hpp"

namespace turnpike::datapath {
namespace {

using namespace test;
using datapath::drop_reason;

constexpr const char* thin_link =
    "ports:\n"
    "  - {name: west, device: d0, mtu: 9000, addresses: [10.0.1.254/24]}\n"
    "  - {name: east, device: d1, mtu: 600, addresses: [10.0.2.254/24]ACL}\n"
    "routes: [{to: 10.9.0.0/16, via: 10.0.2.2}, {to: 10.8.0.0/16, via: 10.0.2.7}]\n"
    "neighbours:\n  static: [{address: 10.0.1.1, mac: \"02:00:00:00:00:0a\"},\n   {address: "
    "10.0.2.2, mac: \"02:00:00:00:00:21\"}]\nMORE";

std::string thin(const std::string& acl = "", const std::string& more = "") {
    std::string out = thin_link;
    out.replace(out.find("ACL"), 3, acl);
    out.replace(out.find("MORE"), 4, more);
    return out;
}

byte_vector datagram(size_t data, uint32_t to = 0x0a090001, uint16_t fragment = 0) {
    return ethernet(0x0800, ipv4({.fragment = fragment, .destination = to}, counted(data)));
}

/// The payload of the fragments, reassembled; fails where they overlap, leave a gap or are too
/// long.
byte_vector data_of(const std::vector<byte_vector>& pieces, uint8_t ttl = 63) {
    byte_vector out;
    for (size_t n = 0; n < pieces.size(); ++n) {
        const auto& ip = packet::header_at<packet::ipv4_header>(pieces[n].data() + 14);
        EXPECT_LE(ip.total_bytes, 600);
        EXPECT_EQ(pieces[n].size(), 14U + ip.total_bytes);
        EXPECT_EQ((ip.fragment & packet::ipv4_fragment_offset) * 8U, out.size());
        EXPECT_EQ((ip.fragment & packet::ipv4_more_fragments) != 0, n + 1 < pieces.size());
        EXPECT_EQ(ip.ttl, ttl);
        out.insert(out.end(), pieces[n].begin() + 34, pieces[n].end());
    }
    return out;
}

class fragments : public ::testing::Test {
  protected:
    explicit fragments(const std::string& configuration = thin()) : lab_(configuration) {}
    void TearDown() override {
        (void)lab_.sent(0);  // ICMP errors to senders
        lab_.check_balance();
    }
    std::vector<byte_vector> sent_of(const byte_vector& frame) {
        (void)lab_.sent(1);
        lab_.offer(0, frame);
        lab_.settle();
        return lab_.sent(1);
    }
    /// A packet that is longer than a buffer.
    void offer_chained(const byte_vector& whole) {
        rte_mbuf* first = lab_.packet_of({whole.begin(), whole.begin() + 1700});
        for (size_t at = 1700; at < whole.size(); at += 1700)
            ASSERT_EQ(rte_pktmbuf_chain(
                          first, lab_.packet_of({whole.begin() + static_cast<ptrdiff_t>(at),
                                                 whole.begin() + static_cast<ptrdiff_t>(std::min(
                                                                     at + 1700, whole.size()))})),
                      0);
        ASSERT_TRUE(lab_.offer_packet(0, first));
        lab_.settle();
    }
    running_lab lab_;
};

TEST_F(fragments, carry_the_datagram) {
    for (const size_t data : {581, 1160, 1161, 1500, 1900}) {
        const auto pieces = sent_of(datagram(data));
        EXPECT_EQ(pieces.size(), (data + 575) / 576);
        EXPECT_EQ(data_of(pieces), counted(data)) << data;
        for (const byte_vector& p : pieces) EXPECT_EQ(p[5], 0x21) << "to the neighbour";
    }
    EXPECT_EQ(sent_of(datagram(580)).size(), 1U) << "packets that fit are sent whole";
    EXPECT_TRUE(sent_of(datagram(581, 0x0a090001, packet::ipv4_dont_fragment)).empty());
    EXPECT_EQ(lab_.dropped(drop_reason::ipv4_too_big), 1U);
}

/// The offset of a piece has 13 bits: cut where they end, a later fragment would become one at 0,
/// with ports that its sender chose, behind all lists (RFC 1858).
TEST_F(fragments, never_begin_again_at_the_start) {
    for (const size_t data : {1132, 1152, 1500}) {
        // 64,384 + 1,132 + 20 of header is one more than a datagram has.
        EXPECT_TRUE(sent_of(datagram(data, 0x0a090001, 0x1f70)).empty()) << data;
    }
    EXPECT_TRUE(sent_of(datagram(1152, 0x0a090001, 0x1fb8)).empty());
    EXPECT_TRUE(sent_of(datagram(556, 0x0a090001, 0x1fb8)).empty()) << "whole or cut";
    EXPECT_EQ(lab_.dropped(drop_reason::ipv4_fragment_beyond_end), 5U);
    const auto pieces = sent_of(datagram(1131, 0x0a090001, 0x1f70));
    ASSERT_EQ(pieces.size(), 2U);
    for (size_t n = 0; n < 2; ++n)
        EXPECT_EQ(packet::header_at<packet::ipv4_header>(pieces[n].data() + 14).fragment,
                  n == 0 ? 0x3f70 : 0x1fb8);
}

TEST_F(fragments, out_of_several_buffers) {
    offer_chained(datagram(5000));
    EXPECT_EQ(data_of(lab_.sent(1)), counted(5000));
}

/// By a path with the smallest MTU: 48 bytes in a piece.
class many_fragments : public fragments {
  protected:
    many_fragments() : fragments(by_a_narrow_path()) {}
    static std::string by_a_narrow_path() {
        std::string out = thin();
        const std::string last = "via: 10.0.2.7}";
        out.replace(out.find(last), last.size(),
                    last + ", {to: 10.7.0.0/16, via: 10.0.2.2, mtu: 68}");
        return out;
    }
    std::vector<byte_vector> pieces_of(size_t data) {
        offer_chained(datagram(data, 0x0a070001));
        return lab_.sent(1);
    }
};

TEST_F(many_fragments, are_at_most_120) {
    const auto pieces = pieces_of(120 * 48);
    EXPECT_EQ(pieces.size(), 120U);
    EXPECT_EQ(data_of(pieces), counted(120 * 48));
    EXPECT_EQ(lab_.dropped(drop_reason::ipv4_needs_fragmenting), 0U);
    for (const size_t data : {120 * 48 + 1, 8900}) EXPECT_TRUE(pieces_of(data).empty()) << data;
    EXPECT_EQ(lab_.dropped(drop_reason::ipv4_needs_fragmenting), 2U);
}

TEST_F(fragments, of_what_waited_for_its_neighbour) {
    EXPECT_EQ(sent_of(datagram(1500, 0x0a080001)).size(), 1U) << "we ask who has 10.0.2.7";
    byte_vector answer =
        ethernet(0x0806, be(uint16_t{1}) + be(uint16_t{0x0800}) + byte_vector{6, 4, 0, 2} + mac_a +
                             byte_vector{10, 0, 2, 7});
    const auto& mac = lab_.snapshot().port[1].mac;
    answer = answer + byte_vector(mac.bytes, mac.bytes + 6) + byte_vector{10, 0, 2, 254};
    std::copy_n(mac.bytes, 6, answer.begin());
    lab_.offer(1, answer);
    lab_.settle();
    EXPECT_EQ(data_of(lab_.sent(1)), counted(1500));
}

/// Routes with an MTU: one next hop, several, and a recursive one. The link has 9,000 bytes.
class routes_with_an_mtu : public fragments {
  protected:
    routes_with_an_mtu()
        : fragments(
              "ports:\n"
              "  - {name: west, device: d0, mtu: 9000, addresses: [10.0.1.254/24, "
              "\"2001:db8:1::fe/64\"]}\n"
              "  - {name: east, device: d1, mtu: 9000, addresses: [10.0.2.254/24, "
              "\"2001:db8:2::fe/64\"]}\n"
              "routes:\n"
              "  - {to: 10.9.0.0/16, via: 10.0.2.2, mtu: 600}\n"
              "  - {to: 10.8.0.0/16, via: 10.0.2.7, mtu: 600}\n"
              "  - {to: 10.7.0.0/16, via: 10.0.2.2}\n"
              "  - {to: 10.6.0.0/16, via: [10.0.2.2, 10.0.2.3], mtu: 600}\n"
              "  - {to: 10.5.0.0/16, via: 10.7.0.1, recursive: true, mtu: 600}\n"
              "  - {to: 10.4.0.0/16, via: 10.0.2.2, mtu: 9500}\n"
              "  - {to: \"2001:db8:9::/48\", via: \"2001:db8:2::2\", mtu: 1300}\n"
              "neighbours:\n  static:\n"
              "    - {address: 10.0.1.1, mac: \"02:00:00:00:00:0a\"}\n"
              "    - {address: \"2001:db8:1::1\", mac: \"02:00:00:00:00:0a\"}\n"
              "    - {address: 10.0.2.2, mac: \"02:00:00:00:00:21\"}\n"
              "    - {address: 10.0.2.3, mac: \"02:00:00:00:00:21\"}\n"
              "    - {address: \"2001:db8:2::2\", mac: \"02:00:00:00:00:21\"}\n") {}
    /// The MTU in the ICMP error to the sender; 0: no error.
    uint32_t told_mtu(const byte_vector& frame) {
        (void)lab_.sent(0);
        EXPECT_TRUE(sent_of(frame).empty());
        const auto errors = lab_.sent(0);
        if (errors.size() != 1) return 0;
        return errors[0][12] == 8 ? load_be<uint16_t>(&errors[0][40])
                                  : load_be<uint32_t>(&errors[0][58]);
    }
};

TEST_F(routes_with_an_mtu, fragment_and_tell_it) {
    for (const uint32_t to : {0x0a090001U, 0x0a060001U, 0x0a050001U}) {
        EXPECT_EQ(data_of(sent_of(datagram(1500, to))), counted(1500)) << to;
        EXPECT_EQ(sent_of(datagram(580, to)).size(), 1U) << "fits";
        EXPECT_EQ(told_mtu(datagram(581, to, packet::ipv4_dont_fragment)), 600U) << to;
    }
    for (const uint32_t to : {0x0a070001U, 0x0a040001U})
        EXPECT_EQ(sent_of(datagram(1500, to, packet::ipv4_dont_fragment)).size(), 1U)
            << "the link's MTU counts";
    const auto six = [](size_t data) {
        const auto to = *parse_address("2001:db8:9::1"), from = *parse_address("2001:db8:1::1");
        return ethernet(0x86dd, ipv6({.source = {from.bytes.begin(), from.bytes.end()},
                                      .destination = {to.bytes.begin(), to.bytes.end()}},
                                     counted(data)));
    };
    EXPECT_EQ(sent_of(six(1260)).size(), 1U);
    EXPECT_EQ(told_mtu(six(1261)), 1300U);
}

TEST_F(routes_with_an_mtu, of_a_gateway_that_is_resolved_first) {
    EXPECT_EQ(sent_of(datagram(1500, 0x0a080001)).size(), 1U) << "we ask who has 10.0.2.7";
    lab_.controller().routing().neighbours().confirm(
        lab_.controller().interfaces().indexes().at("east"), *parse_address("10.0.2.7"),
        {.mac = mac_address{{2, 0, 0, 0, 0, 0x21}}, .solicited = true}, 0);
    lab_.settle();
    EXPECT_EQ(data_of(lab_.sent(1)), counted(1500));
}

/// An echo reply of ours is fragmented as a forwarded packet is (RFC 791), by the MTU of its link or of its route; with DF
/// it is dropped.
class fragmented_replies : public routes_with_an_mtu {
  protected:
    static byte_vector echo(uint32_t from, uint16_t fragment = 0) {
        return ethernet(
            0x0800,
            ipv4({.fragment = fragment, .protocol = 1, .source = from, .destination = 0x0a0001fe},
                 icmp4(8, 0, counted(1500))));
    }
    const byte_vector reply_ = icmp4(0, 0, counted(1500));
};
TEST_F(fragmented_replies, by_the_mtu_of_the_route) {
    for (const uint32_t from : {0x0a090001U, 0x0a060001U})
        EXPECT_EQ(data_of(sent_of(echo(from)), 64), reply_) << from;
    EXPECT_EQ(sent_of(echo(0x0a070001)).size(), 1U) << "fits";
    EXPECT_TRUE(sent_of(echo(0x0a090001, packet::ipv4_dont_fragment)).empty());
    EXPECT_EQ(lab_.dropped(drop_reason::originated_too_big), 1U);
}
TEST_F(fragmented_replies, of_a_gateway_that_is_resolved_first) {
    EXPECT_EQ(sent_of(echo(0x0a080001)).size(), 1U) << "we ask who has 10.0.2.7";
    lab_.controller().routing().neighbours().confirm(
        lab_.controller().interfaces().indexes().at("east"), *parse_address("10.0.2.7"),
        {.mac = mac_address{{2, 0, 0, 0, 0, 0x21}}, .solicited = true}, 0);
    lab_.settle();
    EXPECT_EQ(data_of(lab_.sent(1), 64), reply_);
}
TEST_F(fragments, of_a_reply_by_the_mtu_of_the_link) {
    const byte_vector request =
        ethernet(0x0800, ipv4({.protocol = 1, .source = 0x0a090001, .destination = 0x0a0001fe},
                              icmp4(8, 0, counted(1500))));
    EXPECT_EQ(data_of(sent_of(request), 64), icmp4(0, 0, counted(1500)));
}

/// Injected by control, as the kernel's stack hands over frames: longer than the MTU, and not as
/// long as their headers state.
TEST_F(fragments, of_frames_that_lie) {
    const auto send = [&](byte_vector frame) {
        (void)lab_.sent(1);
        const uint16_t east = lab_.controller().interfaces().indexes().at("east");
        rte_mbuf* m = lab_.controller().egress().originate(1, frame);
        ASSERT_NE(m, nullptr);
        lab_.controller().egress().send(m, lab_.snapshot().interfaces[east].out());
        lab_.settle();
    };
    send(ethernet(0x0800, ipv4({.total_bytes = 60000}, counted(1000))));
    EXPECT_TRUE(lab_.sent(1).empty());
    EXPECT_EQ(lab_.dropped(drop_reason::ipv4_truncated), 1U);
    send(ethernet(0x0800, ipv4({.ihl = 3}, counted(1000))));
    EXPECT_TRUE(lab_.sent(1).empty());
    send(ethernet(0x86dd, ipv6({}, counted(1000))));
    EXPECT_TRUE(lab_.sent(1).empty());
    // Padding is removed, and is no reason to fragment or drop a packet that fits, down to a header
    // without data.
    for (const uint16_t flags : {uint16_t{0}, packet::ipv4_dont_fragment})
        for (const size_t data : {0, 1, 100, 580}) {
            const byte_vector fits = ethernet(0x0800, ipv4({.fragment = flags}, counted(data)));
            send(fits + zeros(1000));
            EXPECT_EQ(lab_.sent(1), std::vector<byte_vector>{fits}) << data;
        }
    const byte_vector fits6 = ethernet(0x86dd, ipv6({}, counted(100)));
    send(fits6 + zeros(900));
    EXPECT_EQ(lab_.sent(1), std::vector<byte_vector>{fits6});
    send(datagram(1000) + zeros(100));
    EXPECT_EQ(lab_.sent(1).size(), 2U);
}

TEST_F(fragments, no_buffers) {
    std::vector<rte_mbuf*> all;
    const byte_vector big = datagram(1500);
    ASSERT_TRUE(lab_.offer(0, big));
    while (rte_mbuf* m = rte_pktmbuf_alloc(lab_.controller().pool())) all.push_back(m);
    lab_.settle();
    rte_pktmbuf_free_bulk(all.data(), static_cast<unsigned>(all.size()));
    EXPECT_TRUE(lab_.sent(1).empty());
    EXPECT_EQ(lab_.dropped(drop_reason::fragment_memory), 1U);
}

/// A list classifies the datagram, once, and not its fragments.
class judged_fragments : public fragments {
  protected:
    judged_fragments()
        : fragments(thin(", acl: {out: edge}",
                         "acl: [{name: edge, rules: [{action: permit, fragments: false}]}]\n")) {}
};
TEST_F(judged_fragments, behind_a_list) {
    EXPECT_EQ(data_of(sent_of(datagram(1500))), counted(1500));
    EXPECT_TRUE(sent_of(datagram(1496, 0x0a090001, 185)).empty());
    EXPECT_EQ(lab_.dropped(drop_reason::acl_deny_out), 1U);
}

}  // namespace
}  // namespace turnpike::datapath
