// SPDX-License-Identifier: BSD-3-Clause
// Router alert, found among other options, and in none that is cut or runs into itself.
#include "packet/router_alert.hpp"

#include <gtest/gtest.h>

#include "lib/packet_bytes.hpp"

namespace turnpike::packet {
namespace {

using namespace test;

bool asks(const byte_vector& packet, uint16_t type) {
    const byte_vector frame = ethernet(type, packet);
    const uint32_t bytes = static_cast<uint32_t>(frame.size());
    parsed p;
    EXPECT_EQ(parse(frame, bytes, p), parse_status::done);
    EXPECT_EQ(p.l3_drop, drop_reason::none);
    // Reads end where the upper layer begins: a sanitizer knows the end of a copy.
    const byte_vector headers(frame.begin() + p.l2_bytes, frame.begin() + p.upper_offset);
    return has_router_alert(headers.data(), static_cast<uint32_t>(headers.size()), p);
}
bool v4(const byte_vector& options) { return asks(ipv4({.options = options}, udp({})), 0x0800); }
bool v6(uint8_t units, const byte_vector& options) {
    return asks(ipv6({.next_header = 0}, byte_vector{17, units} + options + udp({})), 0x86dd);
}

TEST(router_alert, of_ipv4) {
    EXPECT_FALSE(v4({}));
    EXPECT_TRUE(v4({148, 4, 0, 0}));
    EXPECT_TRUE(v4({148, 4, 0, 65})) << "whatever it asks for";
    EXPECT_TRUE(v4({1, 1, 1, 1, 148, 4, 0, 0}));
    EXPECT_TRUE(v4({7, 8, 4, 0, 0, 0, 0, 0, 148, 4, 0, 0}));
    EXPECT_FALSE(v4({0, 0, 0, 0, 148, 4, 0, 0})) << "behind the end";
    EXPECT_FALSE(v4({7, 8, 4, 0, 148, 4, 0, 0})) << "another option's data";
    EXPECT_FALSE(v4({7, 0, 148, 4})) << "no length";
    EXPECT_FALSE(v4({1, 1, 1, 7})) << "cut";
}

TEST(router_alert, of_ipv6) {
    EXPECT_TRUE(v6(0, {5, 2, 0, 0, 1, 0}));
    EXPECT_TRUE(v6(0, {1, 0, 5, 2, 0, 7}));
    EXPECT_TRUE(v6(0, {0, 0, 5, 2, 0, 0}));
    EXPECT_TRUE(v6(1, {0x3e, 4, 0, 0, 0, 0, 0, 0, 0, 0, 5, 2, 0, 0}));
    EXPECT_FALSE(v6(0, {1, 4, 5, 2, 0, 0})) << "padding's data";
    EXPECT_FALSE(v6(0, {0, 0, 0, 0, 0, 1})) << "cut";
    EXPECT_FALSE(v6(0, {1, 200, 5, 2, 0, 0})) << "longer than it can be";
    // In another extension header the option has no meaning (RFC 2711 section 2.1).
    EXPECT_FALSE(
        asks(ipv6({.next_header = 60}, byte_vector{17, 0, 5, 2, 0, 0, 1, 0} + udp({})), 0x86dd));
}

/// A hop-by-hop header of 2,048 bytes, of which the first segment has 8: a sanitizer knows the end of the copy.
TEST(router_alert, is_looked_for_in_the_first_segment_only) {
    const byte_vector frame = ethernet(
        0x86dd, ipv6({.next_header = 0}, byte_vector{59, 255, 1, 4, 0, 0, 0, 0} + zeros(2040)));
    parsed p;
    ASSERT_EQ(parse(frame, static_cast<uint32_t>(frame.size()), p), parse_status::done);
    ASSERT_TRUE(p.is(flag_hop_by_hop));
    const byte_vector segment(frame.begin() + p.l2_bytes, frame.begin() + p.l2_bytes + 48);
    EXPECT_FALSE(has_router_alert(segment.data(), static_cast<uint32_t>(segment.size()), p));
}

}  // namespace
}  // namespace turnpike::packet
