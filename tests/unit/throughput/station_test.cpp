// SPDX-License-Identifier: BSD-3-Clause
// The station answers what lib/packet's writers ask, with answers that its checks accept.
#include "station.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "packet/arp.hpp"
#include "packet/nd.hpp"

namespace turnpike::throughput {
namespace {

constexpr mac_address ours{{2, 0, 0, 0, 0, 1}}, device{{2, 0, 0, 0, 0, 9}},
    another{{2, 0, 0, 0, 0, 8}};

struct talk {
    explicit talk(station& s) : at(s) {}
    station::answer answer_to(uint32_t bytes) {
        return at.receive(std::span(question).first(bytes), reply);
    }

    station& at;
    std::array<uint8_t, 256> question{};
    std::array<uint8_t, max_reply_bytes> reply{};
};

station ipv4_station(uint16_t vlan = 0) {
    run_port p{.name = "left",
               .address = *parse_address("10.0.0.2"),
               .gateway = *parse_address("10.0.0.1")};
    return {traffic{.flows = 100, .vlan = vlan}, p, 1, ours};
}

TEST(station_test, answers_arp_for_itself_and_for_the_flows_behind_its_port) {
    station s = ipv4_station();
    talk t(s);
    const auto answered = [&](const char* target) {
        const uint32_t ip = parse_address(target)->v4();
        const auto a = t.answer_to(packet::write_arp_request(t.question, {device, 0x0a000001}, ip));
        EXPECT_TRUE(a.control);
        if (a.reply_bytes == 0) return false;
        const auto& m = *reinterpret_cast<const packet::arp_message*>(t.reply.data() + 14);
        EXPECT_EQ(m.operation, packet::arp_reply);
        EXPECT_EQ(m.sender_mac, ours);
        EXPECT_EQ(m.sender_ip, ip);
        EXPECT_EQ(m.target_mac, device);
        return true;
    };
    EXPECT_TRUE(answered("10.0.0.2"));
    EXPECT_TRUE(answered("198.19.0.0"));
    EXPECT_TRUE(answered("198.19.0.99"));
    EXPECT_FALSE(answered("198.19.0.100"));
    EXPECT_FALSE(answered("198.18.0.1"));  // behind the other port
    EXPECT_FALSE(answered("10.0.0.1"));
}

TEST(station_test, answers_with_the_tag_of_the_question) {
    station s = ipv4_station(7);
    talk t(s);
    const uint32_t bytes = packet::write_arp_request(t.question, {device, 0x0a000001}, 0x0a000002);
    std::memmove(t.question.data() + 16, t.question.data() + 12, bytes - 12);
    store_be(t.question.data() + 12, uint32_t{0x8100'0007});
    const auto a = t.answer_to(bytes + 4);
    EXPECT_EQ(a.reply_bytes, bytes + 4);
    EXPECT_EQ(load_be<uint32_t>(t.reply.data() + 12), 0x8100'0007u);
    EXPECT_EQ(load_be<uint16_t>(t.reply.data() + 16), packet::ether_type_arp);
}

TEST(station_test, learns_its_gateway_from_the_answer) {
    station s = ipv4_station();
    talk t(s);
    std::array<uint8_t, 128> request;
    EXPECT_EQ(s.write_request(request), packet::arp_frame_bytes);
    EXPECT_FALSE(s.gateway_mac());
    (void)t.answer_to(
        packet::write_arp_reply(t.question, {another, 0x0a000003}, {ours, 0x0a000002}));
    EXPECT_FALSE(s.gateway_mac());
    (void)t.answer_to(
        packet::write_arp_reply(t.question, {device, 0x0a000001}, {ours, 0x0a000002}));
    ASSERT_TRUE(s.gateway_mac());
    EXPECT_EQ(*s.gateway_mac(), device);
}

/// A router's interface for a VLAN answers tagged requests only. A tunnel's outer frames have no tag.
TEST(station_test, requests_have_the_tag_of_the_traffic_except_in_a_tunnel) {
    const auto requested = [](run_port p, const char* address, const char* gateway, uint16_t vlan) {
        p.address = *parse_address(address);
        p.gateway = *parse_address(gateway);
        const station s(traffic{.flows = 100, .vlan = vlan}, p, 0, ours);
        std::vector<uint8_t> request(max_reply_bytes);
        request.resize(s.write_request(request));
        return request;
    };
    const run_port plain{.name = "left"};
    run_port in_tunnel = plain;
    in_tunnel.vxlan = vxlan_tunnel{.vni = 7};
    for (const auto& [address, gateway] :
         {std::pair{"10.0.0.2", "10.0.0.1"}, {"2001:db8::2", "2001:db8::1"}}) {
        const std::vector<uint8_t> untagged = requested(plain, address, gateway, 0);
        ASSERT_GE(untagged.size(), packet::arp_frame_bytes);
        std::vector<uint8_t> tagged = untagged;
        const uint8_t tag[] = {0x81, 0, 0, 7};
        tagged.insert(tagged.begin() + 12, std::begin(tag), std::end(tag));
        EXPECT_EQ(requested(plain, address, gateway, 7), tagged);
        EXPECT_EQ(requested(in_tunnel, address, gateway, 7), untagged);
    }
}

TEST(station_test, learns_its_gateway_from_a_tagged_answer) {
    station s = ipv4_station(7);
    talk t(s);
    const uint32_t bytes =
        packet::write_arp_reply(t.question, {device, 0x0a000001}, {ours, 0x0a000002});
    std::memmove(t.question.data() + 16, t.question.data() + 12, bytes - 12);
    store_be(t.question.data() + 12, uint32_t{0x8100'0007});
    (void)t.answer_to(bytes + 4);
    ASSERT_TRUE(s.gateway_mac());
    EXPECT_EQ(*s.gateway_mac(), device);
}

TEST(station_test, speaks_neighbour_discovery) {
    run_port p{.name = "left",
               .address = *parse_address("2001:db8::2"),
               .gateway = *parse_address("2001:db8::1")};
    station s(traffic{.ipv6 = true, .flows = 100}, p, 0, ours);
    talk t(s);
    const packet::nd_host asking{device, parse_address("2001:db8::1")->v6_bytes()};
    const auto answered = [&](const ipv6_address& target) {
        return t.answer_to(packet::write_neighbour_solicitation(t.question, asking, target))
                   .reply_bytes != 0;
    };
    EXPECT_TRUE(answered(parse_address("2001:db8::2")->v6_bytes()));
    EXPECT_TRUE(answered(ipv6_of(0, 99)));
    EXPECT_FALSE(answered(ipv6_of(0, 100)));
    EXPECT_FALSE(answered(ipv6_of(1, 1)));
    std::array<uint8_t, 128> request;
    EXPECT_GT(s.write_request(request), 0u);
    (void)t.answer_to(packet::write_neighbour_advertisement(
        t.question, asking, {ours, p.address->v6_bytes()}, packet::nd_flag_solicited));
    ASSERT_TRUE(s.gateway_mac());
    EXPECT_EQ(*s.gateway_mac(), device);
}

TEST(station_test, short_and_other_frames_have_no_answer) {
    station s = ipv4_station();
    talk t(s);
    for (uint32_t n = 0; n < packet::arp_frame_bytes; ++n) {
        (void)packet::write_arp_request(t.question, {device, 0x0a000001}, 0x0a000002);
        EXPECT_EQ(t.answer_to(n).reply_bytes, 0u) << n;
    }
    t.question.fill(0);
    EXPECT_FALSE(t.answer_to(60).control);
}

}  // namespace
}  // namespace turnpike::throughput
