// SPDX-License-Identifier: BSD-3-Clause
// Unnumbered interfaces: they share another interface's address, and their gateways are on-link
// without a connected network.
#include <gtest/gtest.h>

#include "lib/eal.hpp"
#include "unit/turnpike/neighbour_lab.hpp"

namespace turnpike::control {
namespace {

using namespace test;
using datapath::drop_reason;

/// East and north borrow west's address; behind each is a router 10.255.0.x. A /31 to south.
constexpr const char* borrowing =
    "ports:\n"
    "  - {name: west, device: d0, addresses: [10.0.1.254/24]}\n"
    "  - {name: east, device: d1, addresses: [10.0.1.254/32]}\n"
    "  - {name: north, device: d2, addresses: [10.0.1.254/32]}\n"
    "  - {name: south, device: d3, addresses: [10.0.4.0/31, \"2001:db8:4::1/127\"]}\n"
    "routes:\n"
    "  - {to: 10.9.0.0/16, via: 10.255.0.2, port: east, onlink: true}\n"
    "  - {to: 10.8.0.0/16, via: 10.255.0.3, port: north, onlink: true}\n"
    "  - {to: 10.255.0.2/32, type: blackhole}\n";

constexpr uint32_t ours = 0x0a0001fe;

class unnumbered : public neighbour_lab {
  protected:
    unnumbered() : neighbour_lab(borrowing) {}
    void offer_v4(uint32_t to) {
        lab_.offer(
            0, ethernet(0x0800, ipv4({.source = 0x0a000101, .destination = to}, udp(counted(20)))));
        lab_.settle();
    }
    void answer(uint16_t port, uint32_t from, const byte_vector& mac) {
        neighbour_lab::answer(port, from, ours, mac);
    }
};

TEST_F(unnumbered, a_gateway_is_asked_for_by_the_borrowed_address) {
    for (const auto& [port, gateway, to] :
         {std::tuple<uint16_t, uint32_t, uint32_t>{1, 0x0aff0002, 0x0a090001},
          {2, 0x0aff0003, 0x0a080001}}) {
        offer_v4(to);
        const auto asked = lab_.sent(port);
        ASSERT_EQ(asked.size(), 1U) << port;
        const byte_vector who =
            ethernet(0x0806, arp({.sender_mac = us(port), .sender_ip = ours, .target_ip = gateway}),
                     byte_vector(6, 0xff), us(port));
        EXPECT_TRUE(std::equal(who.begin(), who.end(), asked[0].begin())) << port;
        const byte_vector mac{2, 0, 0, 0, 0xaa, static_cast<uint8_t>(port)};
        answer(port, gateway, mac);
        EXPECT_EQ(lab_.sent(port).size(), 1U) << "what waited";
        offer_v4(to);
        const auto sent = lab_.sent(port);
        ASSERT_EQ(sent.size(), 1U);
        EXPECT_TRUE(std::equal(mac.begin(), mac.end(), sent[0].begin()));
    }
    // A gateway that is beyond the networks is no host of them: what its own address means, routes
    // say.
    offer_v4(0x0aff0002);
    EXPECT_EQ(lab_.sent(1).size(), 0U);
    EXPECT_EQ(lab_.dropped(drop_reason::route_blackhole), 1U);
}

TEST_F(unnumbered, answers_for_the_borrowed_address) {
    for (const uint16_t port : std::array<uint16_t, 2>{1, 2}) {
        lab_.offer(port,
                   ethernet(0x0806, arp({.sender_ip = 0x0aff0002U + port - 1, .target_ip = ours}),
                            byte_vector(6, 0xff)));
        lab_.settle();
        const auto sent = lab_.sent(port);
        ASSERT_EQ(sent.size(), 1U) << port;
        EXPECT_EQ(byte_vector(sent[0].begin() + 6, sent[0].begin() + 12), us(port));
    }
    // A host that is the gateway of no route does not become a neighbour there.
    lab_.offer(1, ethernet(0x0806, arp({.sender_ip = 0x0aff0009, .target_ip = ours}),
                           byte_vector(6, 0xff)));
    lab_.settle();
    EXPECT_EQ(lab_.sent(1).size(), 1U);
    EXPECT_FALSE(lab_.controller().routing().neighbours().knows(
        lab_.controller().interfaces().indexes().at("east"), ip_address::from_v4(0x0aff0009)));
}

/// RFC 3021, RFC 6164: both addresses of such a network are hosts'.
/// East has no IPv4 address, and hosts of IPv4 on its link.
class addressless : public neighbour_lab {
  protected:
    explicit addressless(const char* west = "10.0.1.254/24")
        : neighbour_lab(std::string("ports:\n"
                                    "  - {name: west, device: d0, addresses: [") +
                        west +
                        "]}\n"
                        "  - {name: east, device: d1, addresses: [\"2001:db8:2::fe/64\"]}\n"
                        "  - {name: north, device: d2, addresses: [\"2001:db8:3::fe/64\"]}\n"
                        "  - {name: south, device: d3, addresses: [\"2001:db8:4::fe/64\"]}\n"
                        "routes: [{to: 10.9.0.0/24, port: east}]\n") {}
    void asks_by(uint32_t who) {
        const byte_vector mac{2, 0, 0, 0, 0xaa, 7};
        const auto offer_one = [&] {
            lab_.offer(0, ethernet(0x0800, ipv4({.source = 0x0a000101, .destination = 0x0a090007},
                                                udp(counted(20)))));
            lab_.settle();
        };
        offer_one();
        const auto asked = lab_.sent(1);
        ASSERT_EQ(asked.size(), 1U);
        const byte_vector question =
            ethernet(0x0806, arp({.sender_mac = us(1), .sender_ip = who, .target_ip = 0x0a090007}),
                     byte_vector(6, 0xff), us(1));
        EXPECT_TRUE(std::equal(question.begin(), question.end(), asked[0].begin()));
        answer(1, 0x0a090007, who, mac);
        EXPECT_EQ(lab_.sent(1).size(), 1U) << "what waited";
        const auto states = lab_.controller().routing().neighbours().by_state();
        EXPECT_EQ(states[static_cast<size_t>(neighbour_state::reachable)], 1U)
            << "an answer, not an unsolicited message";
        offer_one();
        EXPECT_EQ(lab_.sent(1).size(), 1U);
    }
};

TEST_F(addressless, hosts_are_asked_for_by_another_address) {
    asks_by(0x0a0001fe);
    // A host may send a request for our address before it replies.
    lab_.offer(1, ethernet(0x0806, arp({.sender_ip = 0x0a090008, .target_ip = 0x0a0001fe}),
                           byte_vector(6, 0xff)));
    lab_.settle();
    EXPECT_EQ(lab_.sent(1).size(), 1U);
}

class addressless_router : public addressless {
  protected:
    addressless_router() : addressless("\"2001:db8:1::fe/64\"") {}
};

TEST_F(addressless_router, hosts_are_asked_for_by_nobody) { asks_by(0); }

TEST_F(unnumbered, networks_of_two) {
    offer_v4(0x0a000401);
    ASSERT_EQ(lab_.sent(3).size(), 1U) << "asked for";
    EXPECT_EQ(lab_.dropped(drop_reason::directed_broadcast), 0U);
    const auto to = *parse_address("2001:db8:4::");
    lab_.offer(
        3,
        ethernet(0x86dd, ipv6({.destination = {to.bytes.begin(), to.bytes.end()}}, udp(counted(4))),
                 us(3)));
    lab_.settle();
    EXPECT_EQ(lab_.sent(3).size(), 1U) << "asked for";
}

}  // namespace
}  // namespace turnpike::control
