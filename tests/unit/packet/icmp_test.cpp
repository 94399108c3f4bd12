// SPDX-License-Identifier: BSD-3-Clause
#include "packet/icmp.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "frames.hpp"
#include "packet/checksum.hpp"
#include "packet/ipv6.hpp"
#include "whole.hpp"

namespace turnpike::packet {
namespace {

using test::byte_vector;
using test::operator+;

constexpr icmp_error expired4{icmp4_time_exceeded, 0};
constexpr icmp_error expired6{icmp6_time_exceeded, 0};
constexpr icmp_error too_big6{icmp6_too_big, 0, 1400};
const ipv6_address our_ip6{{0x20, 1, 0x0d, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfe}};

/// The error about `frame`, written into a heap buffer of exactly `room`; empty where there is
/// none.
byte_vector error_about(const byte_vector& frame, const icmp_error& error, size_t room = 2000) {
    const parsed p = parse_whole(frame);
    const std::unique_ptr<uint8_t[]> buffer(new uint8_t[room]);
    const std::span packet(buffer.get(), room);
    const uint32_t n = p.l3 == l3_kind::ipv6 ? write_icmp6_error(packet, frame, p, error, our_ip6)
                                             : write_icmp4_error(packet, frame, p, error, our_ip);
    return {buffer.get(), buffer.get() + n};
}

byte_vector eth4(const test::ipv4_fields& f, const byte_vector& payload) {
    return test::ethernet(0x0800, test::ipv4(f, payload));
}
byte_vector eth6(const test::ipv6_fields& f, const byte_vector& payload) {
    return test::ethernet(0x86dd, test::ipv6(f, payload));
}

/// The message parses as a frame, and its checksums are right.
parsed expect_sound(const byte_vector& packet, bool four) {
    const byte_vector frame = test::ethernet(four ? 0x0800 : 0x86dd, packet);
    const parsed p = parse_whole(frame);
    EXPECT_EQ(p.l3_drop, drop_reason::none);
    EXPECT_EQ(p.padding_bytes, 0u);
    EXPECT_EQ(check_icmp(frame, p), drop_reason::none);
    if (four) {
        EXPECT_EQ(fold(sum_bytes(std::span(packet).first(20))), 0xffff);
    }
    return p;
}

TEST(icmp_error, quotes_what_fits_in_576_bytes) {
    for (size_t payload : {0, 7, 8, 512, 520, 521, 1472}) {
        const byte_vector frame = eth4({.ttl = 1}, test::udp(test::counted(payload)));
        const byte_vector packet = error_about(frame, expired4);
        const size_t quoted = std::min<size_t>(frame.size() - 14, 576 - 28);
        ASSERT_EQ(packet.size(), 28 + quoted);
        EXPECT_EQ(0, memcmp(&packet[28], &frame[14], quoted));
        const parsed p = expect_sound(packet, true);
        EXPECT_EQ(p.icmp_type, icmp4_time_exceeded);
        EXPECT_EQ(header_at<ipv4_header>(packet.data()).source, our_ip);
        EXPECT_EQ(header_at<ipv4_header>(packet.data()).destination, 0x0a000101u);
    }
}

TEST(icmp_error, quotes_what_fits_in_1280_bytes) {
    for (size_t payload : {0, 8, 1000, 1184, 1185, 1452}) {
        const byte_vector frame = eth6({.hop_limit = 1}, test::udp(test::counted(payload)));
        const byte_vector packet = error_about(frame, too_big6);
        const size_t quoted = std::min<size_t>(frame.size() - 14, 1280 - 48);
        ASSERT_EQ(packet.size(), 48 + quoted);
        EXPECT_EQ(0, memcmp(&packet[48], &frame[14], quoted));
        const parsed p = expect_sound(packet, false);
        EXPECT_EQ(p.icmp_type, icmp6_too_big);
        EXPECT_EQ(header_at<icmp_header>(&packet[40]).rest, 1400u);
    }
}

TEST(icmp_error, does_not_quote_padding) {
    const byte_vector frame = eth4({}, test::udp({})) + test::zeros(18);
    EXPECT_EQ(error_about(frame, expired4).size(), 28u + 28u);
}

TEST(icmp_error, fills_any_room_and_no_more) {
    const byte_vector four = eth4({}, test::udp(test::counted(100)));
    const byte_vector six = eth6({}, test::udp(test::counted(100)));
    for (size_t room = 0; room < 200; ++room) {
        EXPECT_EQ(error_about(four, expired4, room).size(),
                  room < 28 + 28 ? 0 : std::min<size_t>(room, 156));
        EXPECT_EQ(error_about(six, expired6, room).size(),
                  room < 48 + 48 ? 0 : std::min<size_t>(room, 196));
    }
}

TEST(icmp_error, quotes_no_more_than_the_first_segment_has) {
    const byte_vector frame = eth4({}, test::udp(test::counted(100)));
    const parsed p = parse_whole(frame);
    byte_vector packet(600);
    const auto lead = std::span(frame).first(14 + 50);
    EXPECT_EQ(write_icmp4_error(packet, lead, p, expired4, our_ip), 28u + 50u);
    EXPECT_EQ(write_icmp4_error(packet, std::span(frame).first(14 + 27), p, expired4, our_ip), 0u);
}

TEST(icmp_error, never_about_these) {
    const byte_vector udp = test::udp(test::counted(20));
    const byte_vector quoting = test::icmp4(11, 0, test::zeros(4) + test::ipv4({}, udp));
    const byte_vector group(16, 0xff), local6 = test::zeros(15) + byte_vector{1};
    const byte_vector late = test::fragment(58, 8, udp);
    const struct {
        const char* description;
        byte_vector frame;
    } rows[] = {
        {"an error", eth4({.protocol = 1}, quoting)},
        {"an error that quotes nothing", eth4({.protocol = 1}, test::icmp4(3, 1, test::zeros(4)))},
        {"an error about an error",
         eth4({.protocol = 1},
              test::icmp4(3, 1, test::zeros(4) + test::ipv4({.protocol = 1}, quoting)))},
        {"a redirect", eth4({.protocol = 1}, test::icmp4(5, 1, test::zeros(4)))},
        {"an ICMP message cut short", eth4({.protocol = 1}, {11, 0, 0})},
        {"a later fragment", eth4({.fragment = 5}, udp)},
        {"to broadcast", eth4({.destination = 0xffffffff}, udp)},
        {"to multicast", eth4({.destination = 0xe0000001}, udp)},
        {"to a link-layer group",
         test::ethernet(0x0800, test::ipv4({}, udp), byte_vector(6, 0xff))},
        {"from 0.0.0.0", eth4({.source = 0}, udp)},
        {"from loopback", eth4({.source = 0x7f000001}, udp)},
        {"from multicast", eth4({.source = 0xe0000001}, udp)},
        {"from broadcast", eth4({.source = 0xffffffff}, udp)},
        {"the header that failed validation", eth4({.ihl = 4}, udp)},
        {"ARP", test::ethernet(0x0806, test::arp({}))},
        {"an ICMPv6 error", eth6({.next_header = 58}, test::icmp6(1, 0, test::zeros(4)))},
        {"an unknown ICMPv6 error", eth6({.next_header = 58}, test::icmp6(127, 0, test::zeros(4)))},
        {"an ICMPv6 redirect", eth6({.next_header = 58}, test::icmp6(137, 0, test::zeros(36)))},
        {"a later ICMPv6 fragment", eth6({.next_header = 44}, late)},
        {"from ::", eth6({.source = test::zeros(16)}, udp)},
        {"from ::1", eth6({.source = local6}, udp)},
        {"from a group", eth6({.source = group}, udp)},
        {"to a group", eth6({.destination = group}, udp)},
        {"to a group of the link",
         test::ethernet(0x86dd, test::ipv6({}, udp), {0x33, 0x33, 0, 0, 0, 1})},
    };
    for (const auto& row : rows) {
        const parsed p = parse_whole(row.frame);
        const icmp_error error = p.l3 == l3_kind::ipv6 ? expired6 : expired4;
        EXPECT_FALSE(may_report(row.frame, p, error)) << row.description;
        EXPECT_TRUE(error_about(row.frame, error).empty()) << row.description;
    }
    const byte_vector big = eth6({.destination = group}, udp);
    EXPECT_FALSE(error_about(big, too_big6).empty()) << "RFC 4443 section 2.4 e.3";
    EXPECT_FALSE(error_about(eth4({.protocol = 1}, test::icmp4(8, 0, udp)), expired4).empty());
    EXPECT_FALSE(error_about(eth4({.fragment = 0x2000}, udp), expired4).empty());
}

TEST(echo, reply_in_place_keeps_checksums_right) {
    for (size_t payload : {4, 5, 60, 1400}) {
        byte_vector frame =
            eth4({.ttl = 3, .protocol = 1}, test::icmp4(8, 0, test::counted(payload)));
        ASSERT_TRUE(write_echo_reply(frame, parse_whole(frame)));
        EXPECT_EQ(frame,
                  eth4({.ttl = 64, .protocol = 1, .source = 0x0a000202, .destination = 0x0a000101},
                       test::icmp4(0, 0, test::counted(payload))));
        frame =
            eth6({.next_header = 58, .hop_limit = 3}, test::icmp6(128, 0, test::counted(payload)));
        ASSERT_TRUE(write_echo_reply(frame, parse_whole(frame)));
        EXPECT_EQ(frame, eth6({.next_header = 58, .source = test::v6_b, .destination = test::v6_a},
                              test::icmp6(129, 0, test::counted(payload))));
    }
}

/// RFC 1624's update presupposes a message with a bit set: the checksum of zeros is 0xffff.
TEST(echo, reply_to_zeros) {
    byte_vector frame = eth4({.protocol = 1}, test::icmp4(8, 0, test::zeros(24)));
    ASSERT_TRUE(write_echo_reply(frame, parse_whole(frame)));
    EXPECT_EQ(frame,
              eth4({.ttl = 64, .protocol = 1, .source = 0x0a000202, .destination = 0x0a000101},
                   test::icmp4(0, 0, test::zeros(24))));
    EXPECT_EQ(check_icmp(frame, parse_whole(frame)), drop_reason::none);
}

TEST(echo, of_nothing_else) {
    const byte_vector echo = test::icmp4(8, 0, test::counted(12));
    const byte_vector frames[] = {
        eth4({.protocol = 1}, test::icmp4(0, 0, test::counted(12))),
        eth4({.protocol = 1}, test::icmp4(8, 1, test::counted(12))),
        eth4({.fragment = 0x2000, .protocol = 1}, echo),
        eth4({.protocol = 1, .options = test::zeros(4)}, echo),
        eth4({.protocol = 1}, {8, 0, 0, 0}),
        eth4({}, test::udp({})),
        eth6({.next_header = 58}, test::icmp6(8, 0, test::counted(12))),
        // RFC 8200 section 8.4: no reply has the routing header of its request.
        eth6({.next_header = 43}, test::routing(58, 2, 0, test::icmp6(128, 0, test::counted(12)))),
        test::ethernet(0x0806, test::arp({})),
    };
    for (const byte_vector& frame : frames) {
        byte_vector written = frame;
        EXPECT_FALSE(write_echo_reply(written, parse_whole(frame)));
        EXPECT_EQ(written, frame);
    }
}

TEST(icmp, wrong_checksum_and_cut) {
    byte_vector frame = eth4({.protocol = 1}, test::icmp4(8, 0, test::counted(13)));
    EXPECT_EQ(check_icmp(frame, parse_whole(frame)), drop_reason::none);
    EXPECT_EQ(check_icmp(std::span(frame).first(frame.size() - 1), parse_whole(frame)),
              drop_reason::icmp_truncated);
    frame.back() ^= 1;
    EXPECT_EQ(check_icmp(frame, parse_whole(frame)), drop_reason::icmp_checksum);
    frame = eth4({.protocol = 1}, test::counted(7));
    EXPECT_EQ(check_icmp(frame, parse_whole(frame)), drop_reason::icmp_truncated);
}

}  // namespace
}  // namespace turnpike::packet
