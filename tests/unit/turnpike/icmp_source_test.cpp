// SPDX-License-Identifier: BSD-3-Clause
// The source address of an ICMP error belongs to the interface that the error leaves by (RFC 1812 section 4.3.2.4,
// RFC 4443 section 2.2 d), also if that is not the one that the packet arrived at.
#include <gtest/gtest.h>

#include "lib/eal.hpp"
#include "lib/own_namespace.hpp"
#include "lib/path_lab.hpp"

namespace turnpike {
namespace {

using namespace test;

byte_vector v6(const char* text) {
    const auto bytes = parse_address(text)->v6_bytes();
    return {std::begin(bytes.bytes), std::end(bytes.bytes)};
}

class icmp_source : public ::testing::Test {
  protected:
    /// The ICMP error about a packet with an expired TTL that arrives at west, and the port that it leaves by.
    struct error_seen {
        unsigned port = 9;
        byte_vector source{};
        bool operator==(const error_seen&) const = default;
    };
    error_seen about(const byte_vector& frame) {
        EXPECT_TRUE(l.offer(0, frame));
        l.settle();
        error_seen out;
        for (uint16_t port = 0; port < 2; ++port)
            for (const byte_vector& f : l.sent(port)) {
                if (f[12] == 0x08 && f[13] == 0 && f[23] == 1 && f[34] == 11)
                    out = {port, {&f[26], &f[30]}};
                else if (f[12] == 0x86 && f[20] == 58 && f[54] == 3)
                    out = {port, {&f[22], &f[38]}};
            }
        return out;
    }
    error_seen about_v4(uint32_t source) {
        return about(ethernet(0x0800, ipv4({.ttl = 1, .source = source}, udp(counted(4)))));
    }
    error_seen about_v6(const char* source) {
        return about(
            ethernet(0x86dd, ipv6({.hop_limit = 1, .source = v6(source)}, udp(counted(4)))));
    }

    running_lab l{
        "ports:\n"
        "  - {name: west, device: d0, addresses: [10.0.1.254/24, \"2001:db8:1::fe/64\"]}\n"
        "  - {name: east, device: d1, addresses: [10.0.2.254/24, \"2001:db8:2::fe/64\"]}\n"
        "routes: [{to: 10.9.0.0/16, via: 10.0.2.2}, {to: \"2001:db8:9::/48\", via: "
        "\"2001:db8:2::2\"},\n"
        "         {to: 10.8.0.0/16, via: [10.0.2.2, 10.0.1.1]}]\n"
        "neighbours:\n  static:\n"
        "    - {address: 10.0.1.1, mac: \"02:00:00:00:00:0a\"}\n"
        "    - {address: \"2001:db8:1::1\", mac: \"02:00:00:00:00:0a\"}\n"
        "    - {address: 10.0.2.2, mac: \"02:00:00:00:00:0d\"}\n"
        "    - {address: \"2001:db8:2::2\", mac: \"02:00:00:00:00:0d\"}\n"};
    const byte_vector west4{10, 0, 1, 254}, east4{10, 0, 2, 254}, west6 = v6("2001:db8:1::fe"),
                                                                  east6 = v6("2001:db8:2::fe");
};

TEST_F(icmp_source, is_of_the_interface_that_the_error_leaves_by) {
    EXPECT_EQ(about_v4(0x0a000101), (error_seen{0, west4}));
    EXPECT_EQ(about_v4(0x0a090007), (error_seen{1, east4}));
    EXPECT_EQ(about_v6("2001:db8:1::1"), (error_seen{0, west6}));
    EXPECT_EQ(about_v6("2001:db8:9::7"), (error_seen{1, east6}));
}

TEST_F(icmp_source, is_of_the_ingress_interface_if_a_group_has_it) {
    for (uint32_t host = 1; host < 9; ++host)
        EXPECT_EQ(about_v4(0x0a080000 + host).source, west4) << host;
}

/// RFC 1122 section 3.2.1.3: a group is no source, also where the frame is to our own MAC address.
TEST(echo_source, is_no_group) {
    own_namespace apart;
    running_lab l(
        "control_plane: {netlink: true}\nports:\n"
        "  - {name: west, device: d0, addresses: [10.0.1.254/24], host_interface: true}\n"
        "neighbours:\n  static: [{address: 10.0.1.1, mac: \"02:00:00:00:00:0a\"}]\n");
    l.control(300);  // the TAP is set up
    l.settle();
    l.sent(0);
    const auto replies_of = [&](uint32_t destination) {
        EXPECT_TRUE(l.offer(0, ethernet(0x0800, ipv4({.protocol = 1, .destination = destination},
                                                     icmp4(8, 0, counted(12))))));
        l.settle();
        size_t n = 0;
        for (const byte_vector& f : l.sent(0))
            n += size_t{f[12] == 0x08 && f[13] == 0 && f[23] == 1 && f[34] == 0};
        return n;
    };
    EXPECT_EQ(replies_of(0x0a0001fe), 1U);
    const uint64_t consumed = l.controller().report().total().consumed;
    EXPECT_EQ(replies_of(0xe0000001), 0U);
    EXPECT_GE(l.controller().report().total().consumed - consumed, 1U) << "by the kernel";
    l.sent(0);
    l.check_balance();
}

}  // namespace
}  // namespace turnpike
