// SPDX-License-Identifier: BSD-3-Clause
// The rate limit of unsolicited ARP messages: the messages that it applies to.
#include <gtest/gtest.h>

#include "lib/eal.hpp"
#include "lib/path_lab.hpp"
#include "observe/log.hpp"

namespace turnpike {
namespace {

using namespace test;
using datapath::drop_reason;

std::vector<observe::log_line> conflicts() {
    std::vector<observe::log_line> out;
    for (const observe::log_line& line : observe::recent_log_lines(observe::log_history))
        for (const auto& [name, value] : line.fields)
            if (name == "what" && value == "conflict") out.push_back(line);
    return out;
}

class neighbour_rate : public ::testing::Test {
  protected:
    static constexpr unsigned rate = 100, burst = rate / 10;  ///< a tenth of a second's worth
    static constexpr unsigned share = burst / 2;              ///< of one host
    /// The number of answered requests from a host at west for `target`.
    unsigned answered(uint32_t target, unsigned times = 1, uint8_t last_of_mac = 0x0a) {
        const byte_vector host{2, 0, 0, 0, 0, last_of_mac};
        unsigned replies = 0;
        while (times-- != 0) {
            EXPECT_TRUE(l.offer(0, ethernet(0x0806,
                                            arp({.operation = 1,
                                                 .sender_mac = host,
                                                 .sender_ip = 0x0a000101,
                                                 .target_mac = byte_vector(6),
                                                 .target_ip = target}),
                                            byte_vector(6, 0xff), host)));
            l.settle();
            for (const byte_vector& f : l.sent(0)) replies += f[12] == 0x08 && f[21] == 2;
        }
        return replies;
    }
    static constexpr uint32_t ours = 0x0a0001fe, others = 0x0a00014d;
    running_lab l{
        "ports:\n"
        "  - {name: west, device: d0, addresses: [10.0.1.254/24]}\n"
        "  - {name: east, device: d1, addresses: [10.0.2.254/24]}\n"
        "neighbours: {rate: " +
        std::to_string(rate) + "}\n"};
};

TEST_F(neighbour_rate, is_of_requests_for_us) {
    EXPECT_EQ(answered(ours, 3 * burst), share);
    EXPECT_EQ(l.dropped(drop_reason::neighbour_rate), 3 * burst - share);
}

/// The others have other buckets, except one in 32 of them.
TEST_F(neighbour_rate, a_flood_by_one_host_silences_no_other) {
    EXPECT_EQ(answered(ours, 3 * burst), share);
    unsigned others_answered = 0;
    for (const uint8_t host : {uint8_t{0x21}, uint8_t{0x22}, uint8_t{0x23}, uint8_t{0x24}})
        others_answered += answered(ours, 1, host);
    EXPECT_GE(others_answered, 1U);
    unsigned many = 0;
    for (uint8_t host = 0x40; host < 0x40 + 3 * burst; ++host) many += answered(ours, 1, host);
    EXPECT_EQ(many + others_answered, burst - share) << "of the interface";
}

/// A host that scans the link keeps no other from the address of its gateway.
TEST_F(neighbour_rate, is_not_of_requests_for_others) {
    EXPECT_EQ(answered(others, 3 * burst), 0U);
    EXPECT_EQ(answered(ours), 1U);
    EXPECT_EQ(l.dropped(drop_reason::neighbour_rate), 0U);
}

/// RFC 5227 section 2.4: the operator is told who has our address, but not of our own frames that a loop returns.
TEST_F(neighbour_rate, a_host_with_our_address_is_logged) {
    const size_t before = conflicts().size();
    const auto announce = [&](const byte_vector& from) {
        ASSERT_TRUE(l.offer(
            0, ethernet(0x0806, arp({.sender_mac = from, .sender_ip = ours, .target_ip = ours}),
                        byte_vector(6, 0xff), from)));
        l.settle();
    };
    announce({2, 0, 0, 0, 0, 0x0b});
    EXPECT_EQ(conflicts().size(), before) << "our own";
    for (unsigned i = 0; i < 30; ++i) announce({2, 0, 0, 0, 0, 0x99});
    const auto logged = conflicts();
    ASSERT_EQ(logged.size(), before + 10) << "per second";
    EXPECT_EQ(logged.back().level, observe::log_level::warning);
    EXPECT_EQ(logged.back().text, "west: our address 10.0.1.254 is used by 02:00:00:00:00:99, too");
    EXPECT_EQ(l.dropped(drop_reason::arp_sender_is_us), 31U);
}

/// The same of IPv6, by an advertisement; of both families not from a MAC address of extra_macs.
TEST(neighbour_messages, a_host_that_advertises_our_address_is_logged) {
    running_lab l(
        "ports:\n  - {name: west, device: d0, addresses: [10.0.1.254/24, \"2001:db8:1::fe/64\"],\n"
        "     extra_macs: [\"00:00:5e:00:02:0a\"]}\n");
    l.control(1001);
    const byte_vector us{0x20, 1, 0x0d, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfe},
        all{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, loop{2, 0, 0, 0, 0, 0x0b},
        virtual_router{0, 0, 0x5e, 0, 2, 0x0a}, host{2, 0, 0, 0, 0, 0x98};
    const auto advertises = [&](const byte_vector& from) {
        ASSERT_TRUE(l.offer(
            0,
            ethernet(0x86dd,
                     ipv6({.next_header = 58, .hop_limit = 255, .source = us, .destination = all},
                          icmp6(136, 0, byte_vector{0x20, 0, 0, 0} + us + byte_vector{2, 1} + from,
                                us, all)),
                     {0x33, 0x33, 0, 0, 0, 1}, from)));
        ASSERT_TRUE(l.offer(
            0, ethernet(0x0806,
                        arp({.sender_mac = from, .sender_ip = 0x0a0001fe, .target_ip = 0x0a0001fe}),
                        byte_vector(6, 0xff), from)));
        l.settle();
    };
    const size_t before = conflicts().size();
    advertises(loop);
    advertises(virtual_router);
    EXPECT_EQ(conflicts().size(), before);
    advertises(host);
    const auto logged = conflicts();
    ASSERT_EQ(logged.size(), before + 2);
    EXPECT_EQ(logged[before].text,
              "west: our address 2001:db8:1::fe is used by 02:00:00:00:00:98, too");
    EXPECT_EQ(logged.back().text, "west: our address 10.0.1.254 is used by 02:00:00:00:00:98, too");
}

/// The same of a solicitation's source; it makes no entry for our own address.
TEST(neighbour_messages, a_solicitation_from_our_address_is_dropped_and_logged) {
    running_lab l("ports:\n  - {name: west, device: d0, addresses: [\"2001:db8:1::fe/64\"]}\n");
    l.control(1001);
    const byte_vector us{0x20, 1, 0x0d, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfe},
        our_link_local{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0, 0, 0x0b},
        ours{2, 0, 0, 0, 0, 0x0b}, host{2, 0, 0, 0, 0, 0x98};
    (void)l.sent(0);
    const auto asks = [&](const byte_vector& from) {
        ASSERT_TRUE(l.offer(0, ethernet(0x86dd,
                                        ipv6({.next_header = 58,
                                              .hop_limit = 255,
                                              .source = our_link_local,
                                              .destination = us},
                                             icmp6(135, 0, zeros(4) + us + byte_vector{1, 1} + from,
                                                   our_link_local, us)),
                                        ours, from)));
        l.settle();
        EXPECT_EQ(l.sent(0).size(), 0U);
        EXPECT_EQ(l.controller().routing().neighbours().size(), 0U);
    };
    const size_t before = conflicts().size();
    asks(ours);
    EXPECT_EQ(conflicts().size(), before) << "a loop returned our frame";
    asks(host);
    const auto logged = conflicts();
    ASSERT_EQ(logged.size(), before + 1);
    EXPECT_EQ(logged.back().text,
              "west: our address fe80::ff:fe00:b is used by 02:00:00:00:00:98, too");
    EXPECT_EQ(l.dropped(drop_reason::nd_sender_is_us), 2U);
}

/// The log says that a gateway is lost while a host changes its MAC address all the time.
TEST(neighbour_messages, a_host_that_changes_its_mac_address_silences_no_gateway) {
    control::events e;
    const mac_address one{{2, 0, 0, 0, 0, 1}}, two{{2, 0, 0, 0, 0, 2}};
    const ip_address gateway = *parse_address("10.0.1.9");
    for (int i = 0; i < 100; ++i) e.neighbour("west", {{.address = gateway}, one, two}, 1000);
    e.neighbour("west", {{.address = gateway, .gateway = true}, one, std::nullopt}, 1000);
    const auto last = observe::recent_log_lines(1);
    ASSERT_EQ(last.size(), 1U);
    EXPECT_EQ(last[0].text, "gateway 10.0.1.9 on west does not answer");
    EXPECT_EQ(last[0].level, observe::log_level::warning);
}

/// RFC 4861 section 7.2.3: only a source link-layer address option makes an entry.
TEST(neighbour_messages, a_solicitation_without_an_option_makes_no_entry) {
    running_lab l("ports:\n  - {name: west, device: d0, addresses: [\"2001:db8:1::fe/64\"]}\n");
    const byte_vector us{0x20, 1, 0x0d, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfe},
        host{2, 0, 0, 0, 0, 0x0a}, ours{2, 0, 0, 0, 0, 0x0b};
    const auto asks = [&](const byte_vector& options) {
        ASSERT_TRUE(
            l.offer(0, ethernet(0x86dd,
                                ipv6({.next_header = 58, .hop_limit = 255, .destination = us},
                                     icmp6(135, 0, zeros(4) + us + options, v6_a, us)),
                                ours, host)));
        l.settle();
        EXPECT_EQ(l.sent(0).size(), 1U) << "it is answered";
    };
    asks({});
    EXPECT_EQ(l.controller().routing().neighbours().size(), 0U);
    asks(byte_vector{1, 1} + host);
    EXPECT_EQ(l.controller().routing().neighbours().size(), 1U);
}

/// RFC 4861 sections 6.2.6 and 6.3.4: the source of a router message has another MAC address. It makes no entry.
TEST(neighbour_messages, a_router_message_updates_an_entry) {
    running_lab l("ports:\n  - {name: west, device: d0, addresses: [\"2001:db8:1::fe/64\"]}\n");
    const byte_vector near{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9},
        all_routers{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2},
        all_nodes{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    const auto says = [&](uint8_t type, uint8_t last_of_mac) {
        const byte_vector& to = type == 133 ? all_routers : all_nodes;
        const byte_vector mac{2, 0, 0, 0, 0, last_of_mac};
        const byte_vector body = zeros(type == 133 ? 4 : 12) + byte_vector{1, 1} + mac;
        ASSERT_TRUE(l.offer(
            0,
            ethernet(0x86dd,
                     ipv6({.next_header = 58, .hop_limit = 255, .source = near, .destination = to},
                          icmp6(type, 0, body, near, to)),
                     {0x33, 0x33, 0, 0, 0, to[15]}, mac)));
        l.settle();
    };
    auto& neighbours = l.controller().routing().neighbours();
    const uint16_t west = l.controller().interfaces().indexes().at("west");
    const auto host = ip_address::from_v6(near.data());
    says(133, 0x0a);
    says(134, 0x0a);
    EXPECT_EQ(neighbours.size(), 0U);
    neighbours.learn(west, host, mac_address{{2, 0, 0, 0, 0, 0x0a}}, true, 0);
    neighbours.confirm(west, host, {.mac = mac_address{{2, 0, 0, 0, 0, 0x0a}}, .solicited = true},
                       0);
    const auto known = [&] {
        control::known_neighbour out{};
        neighbours.for_each(west, host, [&](const control::known_neighbour& n) {
            out = n;
            return false;
        });
        return out;
    };
    says(134, 0x0a);
    EXPECT_EQ(known().state, control::neighbour_state::reachable) << "the same";
    for (const uint8_t type : {uint8_t{134}, uint8_t{133}}) {
        says(type, type);
        EXPECT_EQ(known().mac, (mac_address{{2, 0, 0, 0, 0, type}}));
        EXPECT_EQ(known().state, control::neighbour_state::stale);
    }
}

/// A host that only pings us is probed when its entry is stale.
TEST(neighbour_messages, a_reply_of_ours_uses_a_neighbour) {
    running_lab l(
        "ports:\n  - {name: west, device: d0, addresses: [10.0.1.254/24]}\n"
        "neighbours: {reachable_ms: 1000, retransmit_ms: 100}\n");
    const byte_vector host{2, 0, 0, 0, 0, 0x0a}, ours{2, 0, 0, 0, 0, 0x0b};
    ASSERT_TRUE(l.offer(0, ethernet(0x0806, arp({.sender_mac = host, .target_ip = 0x0a0001fe}),
                                    byte_vector(6, 0xff), host)));
    l.settle();
    l.sent(0);
    const auto probes = [&] {
        l.control(150);
        l.settle();
        size_t n = 0;
        for (const byte_vector& f : l.sent(0))
            n += f[12] == 0x08 && f[13] == 0x06 && f[21] == 1 &&
                 byte_vector(f.begin(), f.begin() + 6) == host;
        return n;
    };
    EXPECT_EQ(probes(), 0U) << "it is unused";
    ASSERT_TRUE(l.offer(
        0,
        ethernet(0x0800, ipv4({.protocol = 1, .destination = 0x0a0001fe}, icmp4(8, 0, counted(12))),
                 ours, host)));
    l.settle();
    ASSERT_EQ(l.sent(0).size(), 1U);
    EXPECT_EQ(probes(), 1U);
}

/// The sender of a packet to a silent neighbour is unknown itself, and the table is full: the entry of its address takes the place
/// of the one that the error is about.
TEST(neighbour_messages, an_error_whose_receiver_evicts_the_neighbour_that_failed) {
    running_lab l(
        "ports:\n"
        "  - {name: west, device: d0, addresses: [10.0.1.254/24]}\n"
        "  - {name: east, device: d1, addresses: [10.0.2.254/24]}\n"
        "neighbours: {max_entries: 16, reachable_ms: 60000, retransmit_ms: 100, attempts: 2}\n");
    constexpr uint32_t sender = 0x0a000163, silent = 0x0a00024d;
    const byte_vector host{2, 0, 0, 0, 0, 0x0a}, west{2, 0, 0, 0, 0, 0x0b};
    for (uint32_t n = 1; n < 15; ++n)
        ASSERT_TRUE(
            l.offer(1, ethernet(0x0806, arp({.sender_ip = 0x0a000200 + n, .target_ip = 0x0a0002fe}),
                                byte_vector(6, 0xff), mac_a)));
    l.settle();
    ASSERT_EQ(l.controller().routing().neighbours().size(), 14U) << "as many as there may be";
    ASSERT_TRUE(l.offer(
        0, ethernet(0x0800, ipv4({.source = sender, .destination = silent}, udp(counted(12))), west,
                    host)));
    l.settle();
    unsigned asked = 0, errors = 0;
    for (int n = 0; n < 10; ++n) {
        l.control(110);
        l.settle();
        for (const byte_vector& f : l.sent(0)) {
            errors += f[12] == 0x08 && f[13] == 0 && f[23] == 1 && f[34] == 3;
            if (f[13] != 6 || f[21] != 1 || f[41] != 0x63) continue;
            ++asked;
            ASSERT_TRUE(l.offer(0, ethernet(0x0806,
                                            arp({.operation = 2,
                                                 .sender_mac = host,
                                                 .sender_ip = sender,
                                                 .target_mac = west,
                                                 .target_ip = 0x0a0001fe}),
                                            west, host)));
            l.settle();
        }
    }
    EXPECT_EQ(asked, 1U);
    EXPECT_EQ(errors, 1U);
    EXPECT_LE(l.controller().routing().neighbours().size(), 16U);
    (void)l.sent(1);
    l.check_balance();
}

}  // namespace
}  // namespace turnpike
