// SPDX-License-Identifier: BSD-3-Clause
// Originated ICMP has separate rate limits for echo replies and for errors, at each interface.
#include <gtest/gtest.h>

#include "lib/eal.hpp"
#include "lib/path_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using datapath::drop_reason;

constexpr uint32_t rate = 100, burst = rate / 10;  // a tenth of a second's worth at once
constexpr uint32_t too_big_share = rate / 4 / 10;  // of one receiver

const byte_vector us6{0x20, 1, 0x0d, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfe};
const byte_vector echo4 =
    ethernet(0x0800, ipv4({.protocol = 1, .destination = 0x0a0001fe}, icmp4(8, 0, counted(12))));
const byte_vector echo6 = ethernet(
    0x86dd, ipv6({.next_header = 58, .destination = us6}, icmp6(128, 0, counted(12), v6_a, us6)));
const byte_vector expired4 = ethernet(0x0800, ipv4({.ttl = 1}, udp(counted(4))));
const byte_vector expired6 = ethernet(0x86dd, ipv6({.hop_limit = 1}, udp(counted(4))));
const byte_vector echo4_at_east =
    ethernet(0x0800,
             ipv4({.protocol = 1, .source = 0x0a000202, .destination = 0x0a0002fe},
                  icmp4(8, 0, counted(12))),
             {2, 0, 0, 0, 0, 0x0c}, {2, 0, 0, 0, 0, 0x0d});
const byte_vector expired4_at_east = ethernet(
    0x0800, ipv4({.ttl = 1, .source = 0x0a000202, .destination = 0x0a000101}, udp(counted(4))),
    {2, 0, 0, 0, 0, 0x0c}, {2, 0, 0, 0, 0, 0x0d});
byte_vector too_big4(uint32_t source) {
    return ethernet(0x0800, ipv4({.fragment = 0x4000, .source = source}, udp(zeros(1500))));
}
const byte_vector too_big6 = ethernet(0x86dd, ipv6({}, udp(zeros(1500))));

/// Counts of the ICMP messages that hosts received.
struct answers {
    unsigned echo4 = 0, echo6 = 0, expired4 = 0, too_big4 = 0, too_big6 = 0;
    bool operator==(const answers&) const = default;
};

class icmp_rate : public ::testing::Test {
  protected:
    answers answers_to(const byte_vector& frame, unsigned times = 1, uint16_t port = 0) {
        answers got;
        while (times-- != 0) {
            EXPECT_TRUE(l.offer(port, frame));
            l.settle();
            for (const byte_vector& f : l.sent(port)) {
                if (f[12] == 0x08 && f[13] == 0 && f[23] == 1)
                    ++(f[34] == 0    ? got.echo4
                       : f[34] == 11 ? got.expired4
                       : f[34] == 3  ? got.too_big4
                                     : other);
                else if (f[12] == 0x86 && f[20] == 58)
                    ++(f[54] == 129 ? got.echo6 : f[54] == 2 ? got.too_big6 : other);
            }
        }
        return got;
    }
    unsigned other = 0;  ///< unsolicited ICMP

    const std::string config =
        "ports:\n"
        "  - {name: west, device: d0, addresses: [10.0.1.254/24, \"2001:db8:1::fe/64\"]}\n"
        "  - {name: east, device: d1, addresses: [10.0.2.254/24, \"2001:db8:2::fe/64\"]}\n"
        "icmp: {rate: " +
        std::to_string(rate) +
        "}\n"
        "neighbours:\n  static:\n"
        "    - {address: 10.0.1.1, mac: \"02:00:00:00:00:0a\"}\n"
        "    - {address: 10.0.1.2, mac: \"02:00:00:00:00:0a\"}\n"
        "    - {address: 10.0.1.3, mac: \"02:00:00:00:00:0a\"}\n"
        "    - {address: 10.0.1.4, mac: \"02:00:00:00:00:0a\"}\n"
        "    - {address: \"2001:db8:1::1\", mac: \"02:00:00:00:00:0a\"}\n"
        "    - {address: 10.0.2.2, mac: \"02:00:00:00:00:0d\"}\n"
        "    - {address: \"2001:db8:2::2\", mac: \"02:00:00:00:00:0d\"}\n";
    running_lab l{config};
};

/// Any program that changes a route would refill the buckets otherwise.
TEST_F(icmp_rate, a_change_of_something_else_gives_no_more) {
    EXPECT_EQ(answers_to(echo4, 2 * burst), answers{.echo4 = burst});
    EXPECT_EQ(answers_to(expired4, 2 * burst), answers{.expired4 = burst});
    EXPECT_EQ(answers_to(too_big6, 2 * burst), answers{.too_big6 = too_big_share});
    ASSERT_TRUE(l.apply(config + "routes: [{to: 10.9.0.0/16, via: 10.0.2.2}]\n"));
    EXPECT_EQ(answers_to(echo4, burst), answers{});
    EXPECT_EQ(answers_to(expired4, burst), answers{});
    EXPECT_EQ(answers_to(too_big6, burst), answers{});
}

TEST_F(icmp_rate, a_flood_of_pings_silences_no_error) {
    EXPECT_EQ(answers_to(echo4, 6 * burst), answers{.echo4 = burst});
    EXPECT_EQ(l.dropped(drop_reason::icmp_rate), 5U * burst);
    EXPECT_EQ(answers_to(echo6, burst), answers{}) << "both families together";
    EXPECT_EQ(l.dropped(drop_reason::icmp_rate), 6U * burst);
    EXPECT_EQ(answers_to(too_big6), answers{.too_big6 = 1});
    EXPECT_EQ(answers_to(expired4), answers{.expired4 = 1});
    EXPECT_EQ(other, 0U);
}

TEST_F(icmp_rate, a_flood_of_errors_silences_no_ping) {
    EXPECT_EQ(answers_to(expired4, 6 * burst), answers{.expired4 = burst});
    EXPECT_EQ(answers_to(expired6, burst), answers{}) << "both families together";
    EXPECT_EQ(l.dropped(drop_reason::ipv4_ttl), 6U * burst) << "told or not";
    EXPECT_EQ(l.dropped(drop_reason::ipv6_hop_limit), burst);
    EXPECT_EQ(answers_to(echo4), answers{.echo4 = 1});
    EXPECT_EQ(answers_to(echo6), answers{.echo6 = 1});
    EXPECT_EQ(l.dropped(drop_reason::icmp_rate), 0U);
    EXPECT_EQ(other, 0U);
}

/// A lost Packet Too Big is a black hole for its sender.
TEST_F(icmp_rate, a_flood_of_other_errors_silences_no_packet_too_big) {
    EXPECT_EQ(answers_to(expired4, 6 * burst), answers{.expired4 = burst});
    EXPECT_EQ(answers_to(too_big6, 6 * burst), answers{.too_big6 = too_big_share});
    EXPECT_EQ(l.dropped(drop_reason::ipv6_too_big), 6U * burst);
}

/// The others have other buckets, except one in 32 of them.
TEST_F(icmp_rate, one_receiver_of_packet_too_big_silences_no_other) {
    EXPECT_EQ(answers_to(too_big6, 6 * burst), answers{.too_big6 = too_big_share});
    unsigned others = 0;
    for (uint32_t last = 1; last <= 4; ++last)
        others += answers_to(too_big4(0x0a00'0100 + last)).too_big4;
    EXPECT_GE(others, 1U);
    for (uint32_t last = 1; last <= 4; ++last)
        others += answers_to(too_big4(0x0a00'0100 + last), 6 * burst).too_big4;
    EXPECT_LE(others, burst - too_big_share) << "both families together, of the interface";
}

TEST_F(icmp_rate, a_flood_on_one_interface_silences_no_other_interface) {
    EXPECT_EQ(answers_to(echo4, 6 * burst), answers{.echo4 = burst});
    EXPECT_EQ(answers_to(expired4, 6 * burst), answers{.expired4 = burst});
    EXPECT_EQ(answers_to(echo4_at_east, 1, 1), answers{.echo4 = 1});
    EXPECT_EQ(answers_to(expired4_at_east, 1, 1), answers{.expired4 = 1});
}

/// Wherever it is cut behind its headers: what it carries has a checksum.
TEST_F(icmp_rate, a_ping_in_two_buffers_is_answered) {
    const std::pair<byte_vector, long> pings[] = {
        {ethernet(0x0800,
                  ipv4({.protocol = 1, .destination = 0x0a0001fe}, icmp4(8, 0, counted(612)))),
         42},
        {ethernet(0x86dd, ipv6({.next_header = 58, .destination = us6},
                               icmp6(128, 0, counted(612), v6_a, us6))),
         62}};
    for (const auto& [ping, headers] : pings)
        for (const long first : {headers, headers + 1, headers + 300, headers + 301}) {
            rte_mbuf *head = l.packet_of(byte_vector(ping.begin(), ping.begin() + first)),
                     *tail = l.packet_of(byte_vector(ping.begin() + first, ping.end()));
            ASSERT_EQ(rte_pktmbuf_chain(head, tail), 0);
            ASSERT_TRUE(l.offer_packet(0, head));
            l.settle();
            EXPECT_EQ(l.sent(0).size(), 1U) << first;
        }
    EXPECT_EQ(l.dropped(drop_reason::icmp_checksum), 0U);
}

/// A second in twentieths, more of both in each than there may be.
TEST_F(icmp_rate, each_has_its_rate_in_a_second) {
    unsigned echoes = 0, errors = 0;
    for (int twentieth = 0; twentieth <= 20; ++twentieth) {
        echoes += answers_to(echo4, burst).echo4;
        errors += answers_to(expired4, burst).expired4;
        l.control(50);
    }
    EXPECT_EQ(echoes, burst + rate);
    EXPECT_EQ(errors, burst + rate);
}

/// Between links without addresses of a family: RFC 7600 section 4.8, and as Linux' ipv6_dev_get_saddr().
TEST(icmp_errors, come_from_routers_without_addresses) {
    const auto answer = [](const std::string& config, const byte_vector& expired) {
        running_lab l(config);
        l.settle();
        for (const uint16_t port : {uint16_t{0}, uint16_t{1}}) l.sent(port);
        EXPECT_TRUE(l.offer(0, expired));
        l.settle();
        const auto all = l.sent(0);
        EXPECT_EQ(all.size(), 1U);
        return all.empty() ? byte_vector(100) : all.front();
    };
    const byte_vector of_v4 = answer(
        "ports:\n"
        "  - {name: west, device: d0, addresses: [\"2001:db8:9::fe/64\"]}\n"
        "  - {name: east, device: d1, addresses: [\"2001:db8:8::fe/64\"]}\n"
        "routes: [{to: 10.0.0.0/16, via: \"2001:db8:9::1\", port: west}]\n"
        "neighbours:\n  static:\n"
        "    - {address: \"2001:db8:9::1\", mac: \"02:00:00:00:00:0a\"}\n",
        expired4);
    EXPECT_EQ(of_v4[34], 11) << "time exceeded";
    EXPECT_EQ(load_be<uint32_t>(&of_v4[26]), 0xc000'0008U);
    const byte_vector of_v6 = answer(
        "ports:\n"
        "  - {name: west, device: d0, addresses: [10.0.9.254/24]}\n"
        "  - {name: east, device: d1, addresses: [10.0.8.254/24]}\n"
        "routes: [{to: \"2001:db8::/32\", via: \"fe80::1\", port: west}]\n"
        "neighbours:\n  static: [{port: west, address: \"fe80::1\", mac: \"02:00:00:00:00:0a\"}]\n",
        expired6);
    EXPECT_EQ(of_v6[54], 3) << "time exceeded";
    EXPECT_EQ(byte_vector(of_v6.begin() + 22, of_v6.begin() + 38),
              (byte_vector{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0, 0, 0x0b}));
}

}  // namespace
}  // namespace turnpike
