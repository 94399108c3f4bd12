// SPDX-License-Identifier: BSD-3-Clause
// ARP and neighbour discovery: tables of valid and invalid messages, and the messages that we write
// pass our own checks.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "lib/packet_bytes.hpp"
#include "packet/arp.hpp"
#include "packet/icmp.hpp"
#include "packet/ipv6.hpp"
#include "packet/mld.hpp"
#include "packet/nd.hpp"
#include "whole.hpp"

namespace turnpike::packet {
namespace {

using enum drop_reason;
using test::byte_vector;
using test::operator+;

mac_address mac(const byte_vector& bytes) { return header_at<mac_address>(bytes.data()); }
ipv6_address address(const byte_vector& bytes) { return header_at<ipv6_address>(bytes.data()); }

constexpr uint32_t ours[] = {0xc0000201, our_ip};

TEST(arp, table) {
    const struct {
        const char* description;
        drop_reason expected;
        test::arp_fields fields;
    } rows[] = {
        {"request", none, {}},
        {"reply", none, {.operation = 2}},
        {"announcement", none, {.target_ip = 0x0a000101}},
        {"probe", none, {.sender_ip = 0}},
        {"link-local sender", none, {.sender_ip = 0xa9fe0101}},
        {"hardware type", arp_format, {.hardware_type = 6}},
        {"protocol type", arp_format, {.protocol_type = 0x86dd}},
        {"hlen", arp_format, {.hardware_bytes = 8}},
        {"hlen 0", arp_format, {.hardware_bytes = 0}},
        {"plen", arp_format, {.protocol_bytes = 16}},
        {"operation 0", arp_operation, {.operation = 0}},
        {"reverse ARP", arp_operation, {.operation = 3}},
        {"broadcast sender", arp_sender_mac, {.sender_mac = byte_vector(6, 0xff)}},
        {"multicast sender", arp_sender_mac, {.sender_mac = {1, 0, 0x5e, 0, 0, 1}}},
        {"zero sender", arp_sender_mac, {.sender_mac = byte_vector(6)}},
        {"reply from address 0", arp_sender_ip, {.operation = 2, .sender_ip = 0}},
        {"loopback sender", arp_sender_ip, {.sender_ip = 0x7f000001}},
        {"multicast sender IP", arp_sender_ip, {.sender_ip = 0xe0000001}},
        {"broadcast sender IP", arp_sender_ip, {.sender_ip = 0xffffffff}},
        {"our own address", arp_sender_is_us, {.sender_ip = our_ip}},
    };
    for (const auto& row : rows)
        EXPECT_EQ(name(check_arp(header_at<arp_message>(test::arp(row.fields).data()), ours)),
                  name(row.expected))
            << row.description;
}

TEST(arp, what_we_write_is_what_the_rfc_draws) {
    const arp_host us{mac(test::mac_b), our_ip};
    byte_vector frame(arp_frame_bytes);
    ASSERT_EQ(write_arp_request(frame, us, 0x0a000101), arp_frame_bytes);
    EXPECT_EQ(
        frame,
        test::ethernet(
            0x0806,
            test::arp({.sender_mac = test::mac_b, .sender_ip = our_ip, .target_ip = 0x0a000101}),
            byte_vector(6, 0xff), test::mac_b));

    // A reply in place of the request it answers.
    frame = test::ethernet(0x0806, test::arp({}), byte_vector(6, 0xff));
    const auto& asked = header_at<arp_message>(&frame[sizeof(ethernet_header)]);
    ASSERT_EQ(write_arp_reply(frame, us, {asked.sender_mac, asked.sender_ip}), arp_frame_bytes);
    EXPECT_EQ(frame, test::ethernet(0x0806,
                                    test::arp({.operation = 2,
                                               .sender_mac = test::mac_b,
                                               .sender_ip = our_ip,
                                               .target_mac = test::mac_a,
                                               .target_ip = 0x0a000101}),
                                    test::mac_a, test::mac_b));
    byte_vector small(arp_frame_bytes - 1);
    EXPECT_EQ(write_arp_request(small, us, 0x0a000101), 0u);
}

const byte_vector link_a{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0a};
const byte_vector nowhere = test::zeros(16);
const byte_vector all_nodes{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
const byte_vector group_b{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 2};
const byte_vector source_link = byte_vector{1, 1} + test::mac_a;
const byte_vector target_link = byte_vector{2, 1} + test::mac_a;
const byte_vector flags = test::zeros(4);
const byte_vector solicited{0x40, 0, 0, 0};

struct nd_row {
    const char* description;
    drop_reason expected;
    uint8_t type;
    byte_vector body;  ///< after the checksum
    byte_vector source = test::v6_a;
    byte_vector destination = test::v6_b;
    uint8_t hop_limit = 255;
    uint8_t code = 0;
};

byte_vector frame_of(const nd_row& row) {
    const byte_vector message =
        test::icmp6(row.type, row.code, row.body, row.source, row.destination);
    return test::ethernet(0x86dd, test::ipv6({.next_header = 58,
                                              .hop_limit = row.hop_limit,
                                              .source = row.source,
                                              .destination = row.destination},
                                             message));
}

drop_reason check(const byte_vector& frame, const mac_address** link = nullptr) {
    const byte_vector exact(frame);  // its own allocation, for ASan
    const mac_address* found = nullptr;
    const drop_reason why = check_nd(exact, parse_whole(exact), found);
    if (link != nullptr && found != nullptr)
        *link = &header_at<mac_address>(frame.data() + (found->bytes - exact.data()));
    return why;
}

std::vector<nd_row> nd_rows() {
    const byte_vector& b = test::v6_b;
    const byte_vector on_link = flags + link_a + b;  // a redirect's target and destination
    return {
        {"solicitation", none, 135, flags + b + source_link},
        {"solicitation without options", none, 135, flags + b},
        {"solicitation, unknown option", none, 135,
         flags + b + byte_vector{14, 1} + test::zeros(6)},
        {"duplicate detection", none, 135, flags + b, nowhere, group_b},
        {"advertisement", none, 136, solicited + b + target_link},
        {"announcement", none, 136, flags + b + target_link, test::v6_a, all_nodes},
        {"router solicitation", none, 133, flags + source_link, link_a, all_nodes},
        {"router advertisement", none, 134, test::zeros(12) + source_link, link_a, all_nodes},
        {"redirect", none, 137, on_link, link_a},
        {"hop limit 254", nd_hop_limit, 135, flags + b, test::v6_a, b, 254},
        {"code", nd_code, 135, flags + b, test::v6_a, b, 255, 1},
        {"cut", icmp_truncated, 135, flags + byte_vector(b.begin(), b.end() - 1)},
        {"router advertisement cut", icmp_truncated, 134, test::zeros(11), link_a},
        {"redirect cut", icmp_truncated, 137, flags + b, link_a},
        {"option length 0", nd_option_empty, 135, flags + b + byte_vector{1, 0} + test::mac_a},
        {"second option length 0", nd_option_empty, 136, flags + b + target_link + test::zeros(8)},
        {"option past the end", nd_option_truncated, 135,
         flags + b + byte_vector{1, 2} + test::mac_a},
        {"option of one byte", nd_option_truncated, 135, flags + b + byte_vector{1}},
        {"option of 255", nd_option_truncated, 135, flags + b + byte_vector{14, 255}},
        {"multicast target", nd_target, 135, flags + all_nodes},
        {"advertised multicast", nd_target, 136, flags + all_nodes},
        {"duplicate detection to one host", nd_destination, 135, flags + b, nowhere, b},
        {"duplicate detection with a MAC", nd_option_source, 135, flags + b + source_link, nowhere,
         group_b},
        {"router solicitation from nobody with a MAC", nd_option_source, 133, flags + source_link,
         nowhere, all_nodes},
        {"solicited to all", nd_solicited, 136, solicited + b, test::v6_a, all_nodes},
        {"router advertisement, global source", nd_source, 134, test::zeros(12)},
        {"redirect, global source", nd_source, 137, on_link},
        {"redirect of multicast", nd_destination, 137, flags + link_a + all_nodes, link_a},
        {"redirect to a stranger", nd_target, 137, flags + test::v6_a + b, link_a},
        {"from a group", nd_source, 135, flags + b, all_nodes},
        {"broadcast MAC", nd_link_address, 135,
         flags + b + byte_vector{1, 1} + byte_vector(6, 0xff)},
        {"zero MAC", nd_link_address, 136, flags + b + byte_vector{2, 1} + test::zeros(6)},
        {"long MAC", nd_link_address, 135, flags + b + byte_vector{1, 2} + test::zeros(14)},
        {"echo is not one of them", nd_type, 128, flags},
    };
}

TEST(nd, table) {
    for (const auto& row : nd_rows())
        EXPECT_EQ(name(check(frame_of(row))), name(row.expected)) << row.description;
}

TEST(nd, finds_the_link_address) {
    for (const auto& row : nd_rows()) {
        if (row.expected != none || row.body.size() < 8) continue;
        const byte_vector frame = frame_of(row);
        const byte_vector end(row.body.end() - 8, row.body.end());
        const mac_address* link = nullptr;
        check(frame, &link);
        ASSERT_EQ(link != nullptr, end == source_link || end == target_link) << row.description;
        if (link == nullptr) continue;
        EXPECT_EQ(*link, mac(test::mac_a)) << row.description;
    }
}

TEST(nd, wrong_checksum_and_fragments) {
    byte_vector frame = frame_of(nd_rows().front());
    frame.back() ^= 1;
    EXPECT_EQ(check(frame), icmp_checksum);
    const byte_vector message = test::icmp6(135, 0, flags + test::v6_b);
    frame = test::ethernet(
        0x86dd, test::ipv6({.next_header = 44, .hop_limit = 255}, test::fragment(58, 0, message)));
    EXPECT_EQ(check(frame), nd_fragment);
}

TEST(nd, cut_at_every_byte_is_never_believed) {
    for (const auto& row : nd_rows()) {
        const byte_vector frame = frame_of(row);
        for (size_t n = 0; n < frame.size(); ++n)
            EXPECT_NE(check(byte_vector(frame.begin(), frame.begin() + static_cast<ptrdiff_t>(n))),
                      none);
    }
}

TEST(nd, what_we_write_is_believed) {
    const nd_host a{mac(test::mac_a), address(test::v6_a)};
    const nd_host b{mac(test::mac_b), address(test::v6_b)};
    byte_vector frame(nd_frame_bytes);
    const mac_address* link = nullptr;

    ASSERT_EQ(write_neighbour_solicitation(frame, a, b.address), nd_frame_bytes);
    EXPECT_EQ(check(frame, &link), none);
    EXPECT_EQ(*link, a.mac);
    EXPECT_EQ(
        frame,
        test::ethernet(
            0x86dd,
            test::ipv6({.next_header = 58, .hop_limit = 255, .destination = group_b},
                       test::icmp6(135, 0, flags + test::v6_b + source_link, test::v6_a, group_b)),
            {0x33, 0x33, 0xff, 0, 0, 2}));

    // The answer in the question's place.
    const nd_host asker{header_at<ethernet_header>(frame.data()).source, a.address};
    ASSERT_EQ(write_neighbour_advertisement(frame, b, asker, nd_flag_solicited | nd_flag_override),
              nd_frame_bytes);
    EXPECT_EQ(check(frame, &link), none);
    EXPECT_EQ(*link, b.mac);
    EXPECT_EQ(header_at<ethernet_header>(frame.data()).destination, a.mac);

    ASSERT_EQ(write_neighbour_probe(frame, a, b), nd_frame_bytes);
    EXPECT_EQ(check(frame), none);

    // An unsolicited advertisement goes to all nodes, without the solicited flag.
    ASSERT_EQ(write_neighbour_advertisement(frame, b, {}, nd_flag_solicited), nd_frame_bytes);
    EXPECT_EQ(check(frame), none);
    EXPECT_EQ(header_at<ethernet_header>(frame.data()).destination, multicast_mac(ipv6_all_nodes));

    const uint32_t bytes = write_neighbour_solicitation(frame, {a.mac, {}}, b.address);
    ASSERT_EQ(bytes, nd_frame_bytes - sizeof(nd_link_option));
    frame.resize(bytes);
    EXPECT_EQ(check(frame), none);
    EXPECT_EQ(write_neighbour_probe(frame, a, b), 0u) << "no room for the option";
}

/// RFC 3810 section 5.2, read back by our own parser: a chain with a router alert before it.
TEST(mld, a_report_is_what_routers_expect) {
    const ipv6_address groups[] = {address(test::v6_a), address(test::v6_b)};
    const ipv6_address own{{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
    byte_vector frame(mld_report_bytes(2));
    ASSERT_EQ(
        write_mld_report(frame, {{{2, 0, 0, 0, 0, 1}}, own}, groups, group_record::to_exclude),
        frame.size());
    const parsed p = parse_whole(frame);
    EXPECT_EQ(p.l3_drop, none);
    EXPECT_TRUE(p.is(flag_hop_by_hop));
    EXPECT_EQ(p.icmp_type, 143);
    EXPECT_EQ(check_icmp(frame, p), none);
    EXPECT_EQ(frame[5], 0x16);
    EXPECT_EQ(frame[21], 1) << "hop limit";
    const byte_vector alert{58, 0, 5, 2, 0, 0, 1, 0};
    EXPECT_TRUE(std::equal(alert.begin(), alert.end(), &frame[54]));
    EXPECT_EQ(load_be<uint16_t>(&frame[68]), 2) << "records";
    for (size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(frame[70 + 20 * i], 4);
        EXPECT_EQ(header_at<ipv6_address>(&frame[74 + 20 * i]), groups[i]);
    }
    EXPECT_EQ(write_mld_report(frame, {}, {}, group_record::is_exclude), 0U) << "no groups";
    frame.pop_back();
    EXPECT_EQ(write_mld_report(frame, {}, groups, group_record::is_exclude), 0U) << "no room";
}

/// RFC 2710 section 3: to the group itself.
TEST(mld, a_version_1_report_goes_to_its_group) {
    const ipv6_address group = solicited_node(address(test::v6_a));
    const ipv6_address own{{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
    byte_vector frame(mld1_report_bytes);
    ASSERT_EQ(write_mld1_report(frame, {{{2, 0, 0, 0, 0, 1}}, own}, group), frame.size());
    const parsed p = parse_whole(frame);
    EXPECT_EQ(p.l3_drop, none);
    EXPECT_TRUE(p.is(flag_hop_by_hop));
    EXPECT_EQ(p.icmp_type, 131);
    EXPECT_EQ(check_icmp(frame, p), none);
    EXPECT_EQ(p.l2_bytes + p.l3_bytes - p.upper_offset, 24U);
    EXPECT_EQ(header_at<ipv6_header>(&frame[14]).destination, group);
    EXPECT_EQ(header_at<ipv6_header>(&frame[14]).hop_limit, 1);
    EXPECT_EQ(header_at<ipv6_address>(&frame[70]), group);
    // Section 3.7: to all routers, of one that is left.
    ASSERT_EQ(write_mld1_done(frame, {{{2, 0, 0, 0, 0, 1}}, own}, group), frame.size());
    const parsed done = parse_whole(frame);
    EXPECT_EQ(done.icmp_type, 132);
    EXPECT_EQ(check_icmp(frame, done), none);
    EXPECT_EQ(frame[5], 2);
    EXPECT_EQ(header_at<ipv6_header>(&frame[14]).destination,
              (ipv6_address{{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}}));
    EXPECT_EQ(header_at<ipv6_address>(&frame[70]), group);
    frame.pop_back();
    EXPECT_EQ(write_mld1_report(frame, {}, group), 0U) << "no room";
}

class mld_queries : public ::testing::Test {
  protected:
    struct shape {
        uint16_t code = 1000;
        size_t bytes = 24;
        uint8_t hop_limit = 1, type = 130;
        bool router_alert = true;
        byte_vector group = byte_vector(16);
        byte_vector source{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9};
    };
    static std::optional<mld_query> read(const shape& s) {
        const byte_vector all{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
        byte_vector rest(s.bytes - 4);
        store_be(rest.data(), s.code);
        std::copy_n(s.group.begin(), std::min(s.group.size(), rest.size() - 4), rest.begin() + 4);
        const byte_vector options =
            s.router_alert ? test::mld_router_alert : byte_vector{58, 0, 1, 4, 0, 0, 0, 0};
        const byte_vector frame = test::ethernet(
            0x86dd, test::ipv6({.next_header = 0,
                                .hop_limit = s.hop_limit,
                                .source = s.source,
                                .destination = all},
                               options + test::icmp6(s.type, 0, rest, s.source, all)));
        return read_mld_query(frame, parse_whole(frame));
    }
};

TEST_F(mld_queries, come_from_this_link) {
    EXPECT_TRUE(read({}));
    EXPECT_FALSE(read({.hop_limit = 64})) << "over a router";
    EXPECT_FALSE(read({.source = test::v6_a})) << "from no link-local address";
    EXPECT_FALSE(read({.type = 131})) << "a report";
    EXPECT_FALSE(read({.router_alert = false})) << "RFC 3810 section 6.2";
}

/// RFC 3810 sections 5.1.3 and 8.1.
TEST_F(mld_queries, say_their_version_and_how_long_an_answer_may_take) {
    const auto is = [](const shape& s, uint8_t version, uint32_t ms) {
        const auto query = read(s);
        return query && query->version == version && query->max_response_ms == ms;
    };
    EXPECT_TRUE(is({.code = 10'000}, 1, 10'000));
    EXPECT_TRUE(is({.code = 0xffff}, 1, 65'535));
    EXPECT_TRUE(is({.code = 10'000, .bytes = 28}, 2, 10'000));
    EXPECT_TRUE(is({.code = 0x8000, .bytes = 28}, 2, 0x1000 << 3));
    EXPECT_TRUE(is({.code = 0xffff, .bytes = 44}, 2, 0x1fff << 10));
    EXPECT_EQ(read({.bytes = 28})->group, ipv6_unspecified);
    EXPECT_EQ(read({.group = test::v6_a})->group, address(test::v6_a));
    EXPECT_FALSE(read({.bytes = 27})) << "of no version";
    EXPECT_FALSE(read({.bytes = 20})) << "cut";
}

}  // namespace
}  // namespace turnpike::packet
