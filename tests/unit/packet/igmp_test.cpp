// SPDX-License-Identifier: BSD-3-Clause
// IGMP byte by byte, as RFC 3376, RFC 2236 and RFC 1112 draw it; and queries as routers and strangers write them.
#include "packet/igmp.hpp"

#include <gtest/gtest.h>

#include "lib/packet_bytes.hpp"
#include "packet/checksum.hpp"
#include "packet/ipv4.hpp"
#include "whole.hpp"

namespace turnpike::packet {
namespace {

using test::byte_vector;

constexpr igmp_host igmp_us{{{2, 0, 0, 0, 0, 0x0d}}, 0x0a000901};
constexpr uint32_t joined_group = 0xef01'0203;  // 239.1.2.3
const byte_vector alert_option{0x94, 4, 0, 0};

/// Ethernet's and IPv4's headers, with a checksum of their own making.
byte_vector igmp_frame(const byte_vector& to_mac, uint32_t to, const byte_vector& message,
                       uint32_t from = igmp_us.address, const byte_vector& options = alert_option,
                       uint8_t ttl = 1) {
    byte_vector out = test::ethernet(0x0800,
                                     test::ipv4({.id = 0,
                                                 .fragment = 0x4000,
                                                 .ttl = ttl,
                                                 .protocol = 2,
                                                 .source = from,
                                                 .destination = to,
                                                 .options = options},
                                                message),
                                     to_mac, byte_vector(igmp_us.mac.bytes, igmp_us.mac.bytes + 6));
    out[15] = 0xc0;
    store_be(&out[24], uint16_t{0});
    store_be(&out[24], checksum(std::span(out).subspan(14, 20 + options.size())));
    return out;
}
byte_vector igmp_message(byte_vector m) {
    store_be(&m[2], uint16_t{0});
    store_be(&m[2], checksum(m));
    return m;
}

TEST(igmp, groups_have_addresses_of_ethernet_s) {
    EXPECT_EQ(multicast_mac(joined_group), (mac_address{{1, 0, 0x5e, 1, 2, 3}}));
    EXPECT_EQ(multicast_mac(0xefff'ffff), (mac_address{{1, 0, 0x5e, 0x7f, 0xff, 0xff}}));
}

TEST(igmp, a_report_is_what_routers_expect) {
    const uint32_t groups[] = {joined_group, 0xe100'0001};
    byte_vector frame(igmp_report_bytes(2));
    ASSERT_EQ(write_igmp_report(frame, igmp_us, groups, group_record::to_exclude), frame.size());
    EXPECT_EQ(frame, igmp_frame({1, 0, 0x5e, 0, 0, 0x16}, 0xe000'0016,
                                igmp_message({0x22, 0, 0, 0, 0,   0, 0, 2,  //
                                              4,    0, 0, 0, 239, 1, 2, 3,  //
                                              4,    0, 0, 0, 225, 0, 0, 1})));
    EXPECT_EQ(frame.size(), 14U + 24 + 8 + 16);
    EXPECT_EQ(parse_whole(frame).l3_drop, drop_reason::none);
    frame.resize(igmp_report_bytes(1));
    ASSERT_EQ(write_igmp_report(frame, igmp_us, {groups, 1}, group_record::to_include),
              frame.size());
    EXPECT_EQ(frame[46], 3);
    EXPECT_EQ(write_igmp_report(frame, igmp_us, groups, group_record::is_exclude), 0U) << "no room";
    EXPECT_EQ(write_igmp_report(frame, igmp_us, {}, group_record::is_exclude), 0U) << "no groups";
}

TEST(igmp, older_messages_go_to_the_group_or_to_all_routers) {
    byte_vector frame(igmp_older_bytes);
    const byte_vector group_mac{1, 0, 0x5e, 1, 2, 3}, routers_mac{1, 0, 0x5e, 0, 0, 2};
    const auto is = [&](igmp_older kind, uint8_t type) {
        EXPECT_EQ(write_igmp_older(frame, igmp_us, joined_group, kind), frame.size());
        const bool leaves = kind == igmp_older::leave_2;
        EXPECT_EQ(frame,
                  igmp_frame(leaves ? routers_mac : group_mac, leaves ? 0xe000'0002 : joined_group,
                             igmp_message({type, 0, 0, 0, 239, 1, 2, 3})));
    };
    is(igmp_older::report_1, 0x12);
    is(igmp_older::report_2, 0x16);
    is(igmp_older::leave_2, 0x17);
    frame.pop_back();
    EXPECT_EQ(write_igmp_older(frame, igmp_us, joined_group, igmp_older::report_2), 0U)
        << "no room";
}

std::optional<igmp_query> read_query(const byte_vector& message,
                                     const byte_vector& options = alert_option, uint8_t ttl = 1) {
    const byte_vector frame =
        igmp_frame({1, 0, 0x5e, 0, 0, 1}, ipv4_all_hosts, message, 0x0a000909, options, ttl);
    return read_igmp_query(frame, parse_whole(frame));
}

TEST(igmp, queries_say_their_version_their_group_and_how_long_an_answer_may_take) {
    const auto is = [](byte_vector message, uint8_t version, uint32_t ms, uint32_t asked) {
        const auto q = read_query(igmp_message(std::move(message)));
        return q && q->version == version && q->max_response_ms == ms && q->group == asked;
    };
    EXPECT_TRUE(is({0x11, 0, 0, 0, 0, 0, 0, 0}, 1, 10'000, 0));
    EXPECT_TRUE(is({0x11, 100, 0, 0, 0, 0, 0, 0}, 2, 10'000, 0));
    EXPECT_TRUE(is({0x11, 255, 0, 0, 239, 1, 2, 3}, 2, 25'500, joined_group));
    EXPECT_TRUE(is({0x11, 0x7f, 0, 0, 0, 0, 0, 0, 2, 125, 0, 0}, 3, 12'700, 0));
    EXPECT_TRUE(
        is({0x11, 0x80, 0, 0, 239, 1, 2, 3, 2, 125, 0, 0}, 3, (0x10U << 3) * 100, joined_group));
    EXPECT_TRUE(is({0x11, 0xff, 0, 0, 239, 1, 2, 3, 2, 125, 0, 1, 10, 0, 0, 9}, 3,
                   (0x1fU << 10) * 100, joined_group));
}

TEST(igmp, queries_that_are_none) {
    const byte_vector two{0x11, 100, 0, 0, 239, 1, 2, 3};
    EXPECT_TRUE(read_query(igmp_message(two)));
    EXPECT_FALSE(read_query(igmp_message(two), {})) << "no router alert: from afar, perhaps";
    EXPECT_TRUE(read_query(igmp_message({0x11, 0, 0, 0, 0, 0, 0, 0}), {})) << "version 1 has none";
    for (const uint8_t ttl : {uint8_t{2}, uint8_t{64}}) {
        EXPECT_FALSE(read_query(igmp_message(two), alert_option, ttl)) << "of a remote node";
        EXPECT_FALSE(read_query(igmp_message({0x11, 0, 0, 0, 0, 0, 0, 0}), {}, ttl));
    }
    EXPECT_FALSE(read_query(two)) << "its checksum is wrong";
    EXPECT_FALSE(read_query(igmp_message({0x16, 100, 0, 0, 239, 1, 2, 3}))) << "a report";
    EXPECT_FALSE(read_query(igmp_message({0x11, 100, 0, 0, 10, 1, 2, 3}))) << "of no group";
    EXPECT_FALSE(read_query(igmp_message({0x11, 100, 0, 0}))) << "cut";
    EXPECT_FALSE(read_query(igmp_message({0x11, 100, 0, 0, 0, 0, 0, 0, 0, 0}))) << "of no version";
    const byte_vector whole =
        igmp_frame({1, 0, 0x5e, 0, 0, 1}, ipv4_all_hosts, igmp_message(two), 0x0a000909);
    EXPECT_FALSE(read_igmp_query(std::span(whole).first(whole.size() - 1), parse_whole(whole)))
        << "in several buffers";
}

}  // namespace
}  // namespace turnpike::packet
