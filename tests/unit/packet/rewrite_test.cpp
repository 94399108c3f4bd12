// SPDX-License-Identifier: BSD-3-Clause
#include "packet/rewrite.hpp"

#include <gtest/gtest.h>

#include "lib/packet_bytes.hpp"
#include "lib/sanitized.hpp"
#include "packet/ipv4.hpp"
#include "packet/ipv6.hpp"

namespace turnpike::packet {
namespace {

using test::byte_vector;

TEST(rewrite, ttl_of_every_value_and_protocol_keeps_the_checksum_right) {
    for (int ttl = 0; ttl < 256; ++ttl)
        for (int protocol = 0; protocol < 256; protocol += turnpike::test::slow ? 5 : 1) {
            byte_vector packet = test::ipv4({.id = static_cast<uint16_t>(ttl * 257 ^ protocol * 31),
                                             .ttl = static_cast<uint8_t>(ttl),
                                             .protocol = static_cast<uint8_t>(protocol)},
                                            {});
            const byte_vector before = packet;
            auto& header = header_at<ipv4_header>(packet.data());
            const drop_reason why = decrement_ttl(header);
            if (ttl <= 1) {
                EXPECT_EQ(why, drop_reason::ipv4_ttl);
                EXPECT_EQ(packet, before);
                continue;
            }
            ASSERT_EQ(why, drop_reason::none);
            ASSERT_EQ(header.ttl, ttl - 1);
            ASSERT_EQ(fold(sum_bytes(packet)), 0xffff) << ttl << " " << protocol;
        }
}

// A wrong checksum must not become a right one on the way.
TEST(rewrite, a_wrong_checksum_stays_wrong) {
    byte_vector packet = test::ipv4({.checksum = uint16_t{0x1234}}, {});
    ASSERT_EQ(decrement_ttl(header_at<ipv4_header>(packet.data())), drop_reason::none);
    EXPECT_NE(fold(sum_bytes(packet)), 0xffff);
}

TEST(rewrite, hop_limit) {
    for (int limit = 0; limit < 256; ++limit) {
        byte_vector packet = test::ipv6({.hop_limit = static_cast<uint8_t>(limit)}, {});
        auto& header = header_at<ipv6_header>(packet.data());
        const bool forwarded = decrement_hop_limit(header) == drop_reason::none;
        EXPECT_EQ(forwarded, limit > 1);
        EXPECT_EQ(header.hop_limit, forwarded ? limit - 1 : limit);
    }
}

constexpr uint32_t dotted(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    return a << 24 | b << 16 | c << 8 | d;
}

TEST(ipv4_addresses, martians) {
    const uint32_t host = dotted(10, 0, 0, 1);
    const uint32_t martians[] = {
        dotted(0, 0, 0, 0),     dotted(0, 1, 2, 3),     dotted(127, 0, 0, 1),
        dotted(127, 255, 0, 9), dotted(169, 254, 0, 1), dotted(224, 0, 0, 1),
        dotted(239, 255, 1, 1), dotted(240, 0, 0, 1),   dotted(255, 255, 255, 255)};
    for (const uint32_t martian : martians) {
        EXPECT_EQ(check_ipv4_addresses(martian, host), drop_reason::ipv4_source) << martian;
        EXPECT_EQ(check_ipv4_addresses(host, martian), drop_reason::ipv4_destination) << martian;
    }
    const uint32_t hosts[] = {dotted(1, 0, 0, 0),     dotted(126, 255, 255, 255),
                              dotted(128, 0, 0, 1),   dotted(169, 253, 255, 255),
                              dotted(169, 255, 0, 0), dotted(192, 0, 2, 1),
                              dotted(192, 168, 1, 1), dotted(223, 255, 255, 255)};
    for (const uint32_t other : hosts) {
        EXPECT_EQ(check_ipv4_addresses(other, host), drop_reason::none) << other;
        EXPECT_EQ(check_ipv4_addresses(host, other), drop_reason::none) << other;
    }
    EXPECT_EQ(check_ipv4_addresses(host, host), drop_reason::ipv4_source_is_destination);
}

ipv6_address address(std::initializer_list<uint8_t> head, std::initializer_list<uint8_t> tail) {
    ipv6_address a{};
    std::copy(head.begin(), head.end(), a.bytes);
    std::copy(tail.begin(), tail.end(), a.bytes + 16 - tail.size());
    return a;
}

TEST(ipv6_addresses, martians) {
    const ipv6_address host = address({0x20, 1, 0x0d, 0xb8}, {1});
    const ipv6_address martians[] = {ipv6_unspecified,
                                     address({}, {1}),
                                     address({0xfe, 0x80}, {1}),
                                     address({0xfe, 0xbf, 0xff}, {1}),
                                     ipv6_all_nodes,
                                     address({0xff, 0x0e}, {1}),
                                     address({}, {0xff, 0xff, 10, 0, 0, 1})};
    for (const auto& martian : martians) EXPECT_TRUE(is_ipv6_martian(martian));
    const ipv6_address hosts[] = {address({0xfc}, {1}),       address({0xfe, 0xc0}, {1}),
                                  address({0xfe, 0x7f}, {1}), address({0, 0x64, 0xff, 0x9b}, {1}),
                                  address({0, 0, 0, 1}, {1}), address({}, {2})};
    for (const auto& other : hosts) EXPECT_FALSE(is_ipv6_martian(other));
    EXPECT_FALSE(is_ipv6_martian(host));
}

// RFC 4291 section 2.7.1 and appendix A, RFC 2464 section 7 have these examples or their like.
TEST(ipv6_addresses, derived_ones) {
    const ipv6_address host = address({0x40, 0x37}, {1, 8, 0, 0x20, 0x0e, 0x8c, 0x6c});
    EXPECT_EQ(solicited_node(host), address({0xff, 2}, {1, 0xff, 0x0e, 0x8c, 0x6c}));
    EXPECT_EQ(multicast_mac(solicited_node(host)),
              (mac_address{{0x33, 0x33, 0xff, 0x0e, 0x8c, 0x6c}}));
    EXPECT_EQ(packet::link_local({{0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde}}),
              address({0xfe, 0x80}, {0x36, 0x56, 0x78, 0xff, 0xfe, 0x9a, 0xbc, 0xde}));
}

}  // namespace
}  // namespace turnpike::packet
