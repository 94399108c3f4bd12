// SPDX-License-Identifier: BSD-3-Clause
// uRPF (RFC 3704): packets pass if the path back to their source satisfies the interface's mode.
#include <gtest/gtest.h>

#include <map>

#include "lib/eal.hpp"
#include "lib/own_namespace.hpp"
#include "lib/path_lab.hpp"

namespace turnpike::control {
namespace {

using namespace test;
using datapath::drop_reason;

/// A configuration with uRPF mode `how` at west; sources 10.1/16 are behind west, 10.2/16 behind
/// north, 10.3/16 behind both.
std::string asks(const std::string& how, const std::string& more = "") {
    return "ports:\n"
           "  - {name: west, device: d0, urpf: " +
           how +
           ", addresses: [10.0.1.254/24, 169.254.10.1/29, "
           "\"2001:db8:1::fe/64\"]" +
           more +
           "}\n"
           "  - {name: east, device: d1, addresses: [10.0.2.254/24, \"2001:db8:2::fe/64\"]}\n"
           "  - {name: north, device: d2, addresses: [10.0.3.254/24, \"2001:db8:3::fe/64\"]}\n"
           "routes:\n"
           "  - {to: 10.9.0.0/16, via: 10.0.2.2}\n  - {to: 10.1.0.0/16, via: 10.0.1.2}\n"
           "  - {to: 10.2.0.0/16, via: 10.0.3.2}\n  - {to: 10.3.0.0/16, via: [10.0.1.2, "
           "10.0.3.2]}\n"
           "  - {to: 10.4.0.0/16, type: blackhole}\n  - {to: 169.254.5.0/24, via: 10.0.1.2}\n"
           "  - {to: 10.11.0.0/16, via: 10.1.0.9, recursive: true}\n"
           "  - {to: 10.12.0.0/16, via: 10.2.0.9, recursive: true}\n"
           "  - {to: 10.13.0.0/16, via: 10.4.0.9, recursive: true}\n"
           "  - {to: 10.14.0.0/16, via: 10.99.0.9, recursive: true}\n"
           "  - {to: 10.5.0.0/16, via: [10.0.2.2, 10.0.3.2]}\n"
           "  - {to: \"2001:db8:9::/48\", via: \"2001:db8:2::2\"}\n"
           "  - {to: \"2001:db8:a::/48\", via: \"2001:db8:1::2\"}\n"
           "  - {to: \"2001:db8:b::/48\", via: \"2001:db8:3::2\"}\n"
           "neighbours:\n  static:\n"
           "    - {address: 10.0.2.2, mac: \"02:00:00:00:00:11\"}\n"
           "    - {address: \"2001:db8:2::2\", mac: \"02:00:00:00:00:16\"}\n"
           "    - {address: 10.0.1.2, mac: \"02:00:00:00:00:0a\"}\n"
           "    - {address: 169.254.10.2, mac: \"02:00:00:00:00:0a\"}\n"
           "    - {address: \"2001:db8:1::2\", mac: \"02:00:00:00:00:0a\"}\n"
           "    - {address: \"fe80::77\", port: west, mac: \"02:00:00:00:00:0a\"}\n";
}

class urpf : public ::testing::Test {
  protected:
    void TearDown() override {
        for (uint16_t p = 0; p < 3; ++p) (void)lab_.sent(p);
        lab_.check_balance();
    }
    void apply(const std::string& configuration) {
        auto applied = lab_.apply(configuration);
        ASSERT_TRUE(applied) << applied.error().message();
    }
    /// Sends the packet by the fast path, and with a priority tag by the slow path. True: both are
    /// forwarded.
    bool goes_on(uint16_t type, const byte_vector& packet, const char* text) {
        const uint64_t before = lab_.dropped(drop_reason::urpf);
        (void)lab_.sent(1);
        lab_.offer(0, ethernet(type, packet));
        lab_.offer(0, ethernet(0x8100, tag(0, type, packet)));
        lab_.settle();
        size_t on = 0;
        for (const byte_vector& frame : lab_.sent(1)) on += frame[5] == 0x11 || frame[5] == 0x16;
        const uint64_t dropped = lab_.dropped(drop_reason::urpf) - before;
        EXPECT_TRUE(on == 0 || on == 2) << text;
        EXPECT_EQ(dropped, 2 - on) << text;
        return on == 2;
    }
    bool from(const char* source) {
        const auto a = *parse_address(source);
        if (!a.v6)
            return goes_on(0x0800,
                           ipv4({.source = a.v4(), .destination = 0x0a090001}, udp(counted(20))),
                           source);
        const auto to = *parse_address("2001:db8:9::1");
        return goes_on(0x86dd,
                       ipv6({.source = {a.bytes.begin(), a.bytes.end()},
                             .destination = {to.bytes.begin(), to.bytes.end()}},
                            udp(counted(20))),
                       source);
    }
    running_lab lab_{asks("off")};
};

TEST_F(urpf, strict_takes_what_is_behind_the_interface) {
    EXPECT_TRUE(from("10.2.0.1")) << "it does not ask";
    apply(asks("strict"));
    for (const char* good :
         {"10.0.1.77", "10.1.0.1", "10.3.0.1", "10.11.0.1", "2001:db8:1::77", "2001:db8:a::1"})
        EXPECT_TRUE(from(good)) << good;
    for (const char* bad :
         {"10.2.0.1", "10.4.0.1", "10.5.0.1", "10.6.0.1", "10.12.0.1", "10.13.0.1", "10.14.0.1",
          "10.0.3.7", "2001:db8:b::1", "2001:db8:c::1", "2001:db8:3::7"})
        EXPECT_FALSE(from(bad)) << bad;
}

/// RFC 5880 section 6.4, RFC 9747: an echo packet has its sender's address as destination, too, and returns to it.
TEST_F(urpf, bfd_echo_is_forwarded_back_and_nothing_else_that_is_from_its_destination) {
    const auto back = [&](uint16_t type, const byte_vector& packet) {
        (void)lab_.sent(0);
        lab_.offer(0, ethernet(type, packet));
        lab_.settle();
        const auto frames = lab_.sent(0);
        EXPECT_LE(frames.size(), 1U) << "and no redirect";
        return frames.size() == 1 && frames[0][5] == 0x0a && frames[0].size() >= 14 + packet.size();
    };
    const auto echo = [](uint32_t host, uint16_t port) {
        return ipv4({.ttl = 255, .source = host, .destination = host},
                    be(uint16_t{49152}) + be(port) + be(uint16_t{20}) + zeros(2) + counted(12));
    };
    const auto six = [](const char* host, uint16_t port) {
        const auto a = *parse_address(host);
        const byte_vector bytes{a.bytes.begin(), a.bytes.end()};
        return ipv6({.hop_limit = 255, .source = bytes, .destination = bytes},
                    be(uint16_t{49152}) + be(port) + be(uint16_t{20}) + zeros(2) + counted(12));
    };
    for (const char* how : {"off", "strict", "loose"}) {
        apply(asks(how, ", send_redirects: true"));
        for (const uint32_t host : {0x0a000102U, 0x0a010007U, 0xa9fe0a02U})
            EXPECT_TRUE(back(0x0800, echo(host, 3785))) << how << ' ' << host;
        const uint64_t same = lab_.dropped(drop_reason::ipv4_source_is_destination);
        EXPECT_FALSE(back(0x0800, echo(0x0a000102, 3784))) << "BFD control";
        EXPECT_FALSE(back(0x0800, echo(0x0a000202, 3785))) << "of another link";
        EXPECT_FALSE(back(0x0800, echo(0x0a630001, 3785))) << "no route";
        EXPECT_EQ(lab_.dropped(drop_reason::ipv4_source_is_destination) - same, 3U);
        const uint64_t from_us = lab_.dropped(drop_reason::ipv4_source);
        EXPECT_FALSE(back(0x0800, echo(0xa9fe0505, 3785))) << "link-local, and no neighbour";
        EXPECT_FALSE(back(0x0800, echo(0x0a0001fe, 3785)));
        EXPECT_EQ(lab_.dropped(drop_reason::ipv4_source) - from_us +
                      lab_.dropped(drop_reason::ipv4_source_is_destination) - same,
                  5U)
            << "our own address, and a link-local one";
        for (const char* host : {"2001:db8:1::2", "2001:db8:a::1"})
            EXPECT_TRUE(back(0x86dd, six(host, 3785))) << how << ' ' << host;
        const uint64_t same6 = lab_.dropped(drop_reason::ipv6_source_is_destination);
        EXPECT_FALSE(back(0x86dd, six("2001:db8:2::2", 3785)));
        EXPECT_FALSE(back(0x86dd, six("2001:db8:a::1", 53)));
        EXPECT_EQ(lab_.dropped(drop_reason::ipv6_source_is_destination) - same6, 2U);
    }
}

/// The neighbour sends back the echoes of a daemon here, which reads them from its host interface.
TEST(bfd_echo, of_a_daemon_here_is_passed_to_the_kernel) {
    own_namespace apart;
    running_lab l("control_plane: {netlink: true}\n" + asks("strict", ", host_interface: true"));
    const auto returned = [&](uint16_t type, const byte_vector& packet) {
        l.offer(0, ethernet(type, packet));
        l.settle();
    };
    const auto data = [](uint16_t port) {
        return be(uint16_t{49152}) + be(port) + be(uint16_t{20}) + zeros(2) + counted(12);
    };
    l.control(300);  // the TAP is set up
    l.settle();
    for (uint16_t p = 0; p < 3; ++p) (void)l.sent(p);
    const auto before = l.controller().report().total();
    for (const uint16_t port : {uint16_t{3785}, uint16_t{3784}}) {
        returned(0x0800,
                 ipv4({.ttl = 254, .source = 0x0a0001fe, .destination = 0x0a0001fe}, data(port)));
        const auto us = *parse_address("2001:db8:1::fe");
        const byte_vector bytes{us.bytes.begin(), us.bytes.end()};
        returned(0x86dd,
                 ipv6({.hop_limit = 254, .source = bytes, .destination = bytes}, data(port)));
    }
    const auto after = l.controller().report().total();
    EXPECT_GE(after.consumed - before.consumed, 2U);
    EXPECT_EQ(l.dropped(drop_reason::host_if_refused), 0U);
    EXPECT_EQ(l.dropped(drop_reason::ipv4_source_is_destination), 1U) << "BFD control";
    EXPECT_EQ(l.dropped(drop_reason::ipv6_source_is_destination), 1U);
    for (uint16_t p = 0; p < 3; ++p) (void)l.sent(p);
    l.check_balance();
}

TEST_F(urpf, loose_takes_what_is_anywhere) {
    apply(asks("loose"));
    for (const char* good :
         {"10.0.1.77", "10.1.0.1", "10.2.0.1", "10.3.0.1", "10.5.0.1", "10.11.0.1", "10.12.0.1",
          "10.0.3.7", "2001:db8:1::77", "2001:db8:b::1"})
        EXPECT_TRUE(from(good)) << good;
    for (const char* bad : {"10.4.0.1", "10.6.0.1", "10.13.0.1", "10.14.0.1", "2001:db8:c::1"})
        EXPECT_FALSE(from(bad)) << bad;
}

/// uRPF applies to packets for us as to forwarded packets; packets from neighbours, which need no
/// route, pass.
TEST_F(urpf, packets_for_us) {
    apply(asks("strict"));
    const auto echo = [&](uint32_t source) {
        (void)lab_.sent(0);
        lab_.offer(
            0, ethernet(0x0800, ipv4({.protocol = 1, .source = source, .destination = 0x0a0001fe},
                                     icmp4(8, 0, zeros(8)))));
        lab_.settle();
        return lab_.sent(0).size();
    };
    lab_.offer(0, ethernet(0x0806, arp({.sender_ip = 0x0a000103}), byte_vector(6, 0xff)));
    lab_.settle();
    EXPECT_EQ(lab_.sent(0).size(), 1U) << "an answer";
    EXPECT_EQ(echo(0x0a010001), 1U);
    EXPECT_EQ(echo(0x0a020001), 0U);
    EXPECT_EQ(lab_.dropped(drop_reason::urpf), 1U);
    // RFC 4861 needs no route; nor does what a link-local address says to us.
    const byte_vector near{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x77};
    const byte_vector us{0x20, 1, 0x0d, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfe};
    lab_.offer(0, ethernet(0x86dd, ipv6({.next_header = 58, .source = near, .destination = us},
                                        icmp6(128, 0, zeros(8), near, us))));
    lab_.settle();
    EXPECT_EQ(lab_.sent(0).size(), 1U) << "a reply";
    EXPECT_EQ(lab_.dropped(drop_reason::urpf), 1U);
}

/// An ingress list classifies packets that pass uRPF, on the fast path and on the slow path.
TEST_F(urpf, before_a_list) {
    apply(asks("strict", ", acl: {in: edge}") +
          "acl: [{name: edge, rules: [{name: first, action: permit, source: 10.1.0.0/16},"
          " {name: second, action: deny, source: 10.2.0.0/16}, {action: permit}]}]\n");
    EXPECT_TRUE(from("10.1.0.1"));
    EXPECT_FALSE(from("10.2.0.1"));
    EXPECT_EQ(lab_.dropped(drop_reason::acl_deny), 0U);
    std::map<std::string, uint64_t> matched;
    const auto lists = lab_.acls();
    for (const auto& r : lists.at(0).rules) matched[r.name] += r.packets;
    EXPECT_EQ(matched["first"], 2U);
    EXPECT_EQ(matched["second"], 0U);
}

}  // namespace
}  // namespace turnpike::control
