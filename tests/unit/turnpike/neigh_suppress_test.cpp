// SPDX-License-Identifier: BSD-3-Clause
// ARP and ND suppression: suppressed requests, their replies, and frames that are still flooded (RFC 9161).
#include <rte_cycles.h>

#include <nlohmann/json.hpp>

#include "control/management/requests.hpp"
#include "packet/arp.hpp"
#include "packet/ipv6.hpp"
#include "packet/nd.hpp"
#include "tunnel_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using datapath::drop_reason;
using lab = tunnel_lab;

const std::string suppressed_tunnels =
    "tunnels:\n" + one_tunnel("t2", "10.0.9.2") + one_tunnel("t3", "10.0.9.3");
const std::string suppressed = underlay() + suppressed_tunnels +
                               bridge(
                                   "{port: p0}, {port: p1}, {port: t2, neigh_suppress: true}, "
                                   "{port: t3, neigh_suppress: true}");

uint32_t ip_of(uint8_t n) { return 0x0a010000U + n; }
ipv6_address ip6_of(uint8_t n) {
    return {.bytes = {0x20, 1, 0xd, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, n}};
}
mac_address mac_of(uint8_t n) { return {.bytes = {2, 0, 0, 1, 0, n}}; }

byte_vector arp_frame(uint16_t operation, uint8_t from, uint32_t sender, uint32_t target,
                      const byte_vector& to = everybody, const byte_vector& named = zeros(6)) {
    return ethernet(0x0806,
                    arp({.operation = operation,
                         .sender_mac = fdb_entry(from),
                         .sender_ip = sender,
                         .target_mac = named,
                         .target_ip = target}),
                    to, fdb_entry(from));
}
byte_vector question(uint8_t from, uint8_t whom) {
    return arp_frame(1, from, ip_of(from), ip_of(whom));
}
byte_vector arp_answer(uint8_t from, uint8_t to) {
    return arp_frame(2, from, ip_of(from), ip_of(to), fdb_entry(to), fdb_entry(to));
}
byte_vector solicitation_frame(uint8_t from, uint8_t whom, bool probe = false) {
    byte_vector out(packet::nd_frame_bytes);
    out.resize(packet::write_neighbour_solicitation(
        out, {mac_of(from), probe ? packet::ipv6_unspecified : ip6_of(from)}, ip6_of(whom)));
    return out;
}
byte_vector advertisement_frame(uint8_t from, uint8_t to, uint32_t flags) {
    byte_vector out(packet::nd_frame_bytes);
    out.resize(packet::write_neighbour_advertisement(out, {mac_of(from), ip6_of(from)},
                                                     {mac_of(to), ip6_of(to)}, flags));
    return out;
}
/// The number of frames sent by each port.
std::string counted_out(const lab::outputs& out) {
    std::string text;
    for (const auto& port : out) text += std::to_string(port.size());
    return text;
}

TEST(neigh_suppress, who_is_known_is_answered_for) {
    lab l(suppressed);
    EXPECT_EQ(counted_out(l.send(0, question(1, 2))), "012") << "nobody knows";
    // The reply is forwarded, and its binding is learnt.
    EXPECT_EQ(l.send(2, in_ipv4(vxlan(arp_answer(2, 1))))[0], one(arp_answer(2, 1)));
    for (int again = 0; again < 3; ++again) {
        const auto out = l.send(1, question(4, 2));
        EXPECT_EQ(out, (lab::outputs{one(question(4, 2)), one(arp_answer(2, 4)), {}}));
    }
    EXPECT_EQ(l.learnt(), "p0 01, p1 04, t2 02");
    // A host behind a port answers for itself; tunnels are suppressed nevertheless.
    EXPECT_EQ(counted_out(l.send(0, question(1, 4))), "010");
    // Requests out of a tunnel are flooded to local ports only.
    EXPECT_EQ(counted_out(l.send(2, in_ipv4(vxlan(question(7, 4))))), "110");
    EXPECT_EQ(counted_out(l.send(2, in_ipv4(vxlan(question(7, 2)), {.source = three4}))), "110");
}

/// A VTEP behind a multicast group gets flooded frames by the group: its neigh_suppress is the group's.
TEST(neigh_suppress, of_a_group_is_of_its_vteps) {
    const auto with_group = [](const char* of_vtep, const char* of_group) {
        return underlay() + suppressed_tunnels + one_tunnel("g", "239.1.2.3", ", interface: up") +
               bridge(std::string("{port: p0}, {port: p1}, {port: t2") + of_vtep +
                      "}, {port: t3}, {port: g" + of_group + "}");
    };
    lab l(with_group("", ", neigh_suppress: true"));
    EXPECT_EQ(counted_out(l.send(0, question(1, 2))), "011") << "nobody knows";
    l.send(2, in_ipv4(vxlan(arp_answer(2, 1))));
    EXPECT_EQ(l.send(1, question(4, 2)),
              (lab::outputs{one(question(4, 2)), one(arp_answer(2, 4)), {}}));
    // The group alone gets floods: nothing is gained by the VTEP's.
    ASSERT_TRUE(l.apply(with_group(", neigh_suppress: true", "")));
    l.send(2, in_ipv4(vxlan(arp_answer(2, 1))));
    EXPECT_EQ(counted_out(l.send(1, question(4, 2))), "111");
}

/// An address of VRRP whose owner is behind a tunnel, while this router has the virtual MAC address as backup.
TEST(neigh_suppress, requests_for_another_owner_of_our_mac_are_flooded) {
    const std::string virtual_mac = "00:00:5e:00:01:0a";
    lab l(underlay() + suppressed_tunnels +
          bridge("{port: p0}, {port: p1}, {port: t2, neigh_suppress: true}, {port: t3, "
                 "neigh_suppress: true}",
                 "    addresses: [10.1.0.253/24]\n    extra_macs: [\"" + virtual_mac + "\"]\n"));
    const mac_address mac = *parse_mac(virtual_mac);
    const byte_vector from(mac.bytes, mac.bytes + sizeof mac.bytes);
    l.send(2, in_ipv4(vxlan(ethernet(0x0806,
                                     arp({.operation = 1,
                                          .sender_mac = from,
                                          .sender_ip = ip_of(10),
                                          .target_mac = zeros(6),
                                          .target_ip = ip_of(10)}),
                                     everybody, from))));
    EXPECT_EQ(counted_out(l.send(0, question(1, 10))), "012");
}

TEST(neigh_suppress, probes_and_announcements_go_to_all) {
    lab l(suppressed);
    EXPECT_EQ(counted_out(l.send(2, in_ipv4(vxlan(arp_frame(1, 2, ip_of(2), ip_of(2)))))), "110");
    EXPECT_EQ(counted_out(l.send(0, arp_frame(1, 1, 0, ip_of(2)))), "012");
    EXPECT_EQ(counted_out(l.send(0, arp_frame(1, 1, ip_of(1), ip_of(1)))), "012");
    EXPECT_EQ(counted_out(l.send(0, arp_frame(2, 1, ip_of(1), ip_of(1)))), "012");
    EXPECT_EQ(counted_out(l.send(0, question(1, 2))), "110") << "by its announcement";
    EXPECT_EQ(counted_out(l.send(0, solicitation_frame(1, 2, true))), "012");
}

/// The pages show all learnt bindings, in order.
TEST(neigh_suppress, learnt_bindings_are_shown) {
    using nlohmann::json;
    lab l(suppressed);
    const auto shown = [&](json request, const char* name = "neigh-suppress") {
        request["request"] = "show";
        request["what"] = name;
        control::requests r(l.controller(), "none.yaml");
        return json::parse(r.answer(request.dump(), {}))["result"];
    };
    EXPECT_EQ(shown({{"bridge", "lan"}})["bindings"], json::array());
    l.send(2, in_ipv4(vxlan(arp_answer(2, 1))));
    l.send(0, question(1, 7));
    const json all = shown({{"bridge", "lan"}});
    ASSERT_EQ(all["bindings"].size(), 2U) << all.dump();
    EXPECT_EQ(all["bindings"][0]["port"], "p0");
    EXPECT_EQ(all["bindings"][0]["mac"], "02:00:00:01:00:01");
    EXPECT_EQ(all["bindings"][0]["address"], ip_address::from_v4(ip_of(1)).text());
    EXPECT_EQ(all["bindings"][1]["port"], "t2");
    EXPECT_EQ(all["bindings"][1]["address"], ip_address::from_v4(ip_of(2)).text());
    EXPECT_EQ(shown({}, "heard")["heard"], all["bindings"]) << "the name in earlier releases";
    const json first = shown({{"most", 1}});
    EXPECT_EQ(first["bindings"].size(), 1U);
    EXPECT_EQ(shown({{"most", 1}, {"from", first["next"]}})["bindings"][0], all["bindings"][1]);
}

/// A station that announces addresses without end leaves room for others, and a domain for other domains.
TEST(neigh_suppress, bindings_of_a_station_and_of_a_domain_are_limited) {
    constexpr uint16_t here = 1, elsewhere = 2;
    constexpr uint32_t least_of_station = 64, of_domain = 32768;
    const auto readers = *rcu::qsbr::create("bindings", 1);
    const auto table = *control::neigh_binding_table::create(*readers);
    const auto mac_at = [](uint32_t n) {
        return mac_address{{2, 0, 1, static_cast<uint8_t>(n >> 16), static_cast<uint8_t>(n >> 8),
                            static_cast<uint8_t>(n)}};
    };
    const auto learns = [&](uint32_t address, uint16_t domain, const mac_address& mac) {
        const auto key = datapath::address_key_of(address, domain);
        const datapath::bound_address who(mac, 0);
        table->learn(key, who);
        return table->find(key).value() == who.value();
    };
    const auto learnt_by = [&](uint32_t from, uint32_t n, uint16_t domain, const mac_address& mac) {
        uint32_t learnt = 0;
        for (uint32_t i = 0; i < n; ++i) learnt += learns(from + i, domain, mac);
        return learnt;
    };
    const uint32_t of_one = learnt_by(0x0a00'0000, of_domain, here, mac_at(0));
    EXPECT_GT(of_one, 3000U) << "a router, a proxy, or a container host";
    EXPECT_LT(of_one, of_domain / 8);
    EXPECT_EQ(table->refused(), of_domain - of_one);
    EXPECT_TRUE(learns(0x0a00'0000, here, mac_at(0))) << "again";
    for (const uint32_t address : {0x0a00'0000U, 0x0a00'0001U})
        EXPECT_TRUE(learns(address, here, mac_at(1))) << "another has the address now";
    EXPECT_TRUE(learns(0x0a00'ffff, here, mac_at(0))) << "in its place";
    EXPECT_FALSE(learns(0x0a00'0000, here, mac_at(0)));
    EXPECT_FALSE(table->find(datapath::address_key_of(0x0a00'0000, here)))
        << "nor has the other host it";
    uint32_t learnt = of_one;
    for (uint32_t n = 2; n < 34; ++n)
        learnt += learnt_by(0x0b00'0000 + 0x1'0000 * n, 0x8000, here, mac_at(n));
    EXPECT_GT(learnt, of_domain / 2);
    EXPECT_EQ(learnt_by(0x0c00'0000, least_of_station, here, mac_at(1)), least_of_station)
        << "beside 33 such stations, and one address that it had";
    learnt += least_of_station;
    for (uint32_t n = 34; n < 1024; ++n)
        learnt += learnt_by(0x0d00'0000 + 64 * n, 64, here, mac_at(n));
    EXPECT_EQ(learnt, of_domain);
    EXPECT_TRUE(learns(0x0a00'0000, elsewhere, mac_at(1)));
    table->drop_domains([](uint16_t domain) { return domain == here; });
    EXPECT_EQ(learnt_by(0x0a00'0000, of_domain, here, mac_at(0)), of_one);
}

TEST(neigh_suppress, copies_to_the_control_thread_are_limited_by_ingress_interface) {
    const auto worker = std::make_unique<datapath::bridge_worker_state>(nullptr);
    const uint64_t now = 1000 * rte_get_tsc_hz();
    const auto passed = [&](uint16_t ifindex, uint64_t at) {
        uint32_t n = 0;
        for (int i = 0; i < 300; ++i) n += uint32_t{worker->may_tell(ifindex, at)};
        return n;
    };
    EXPECT_NEAR(passed(1, now), 64, 1);
    EXPECT_NEAR(passed(2, now), 64, 1) << "another port's";
    EXPECT_NEAR(passed(1, now + rte_get_tsc_hz() / 100), 20, 1);
}

/// An entry lasts as long as its station; an address that moved to another host belongs to that
/// host.
TEST(neigh_suppress, is_as_old_as_its_station) {
    lab l(suppressed);
    const byte_vector asks = question(1, 2);
    l.send(2, in_ipv4(vxlan(arp_answer(2, 1))));
    EXPECT_EQ(counted_out(l.send(0, asks)), "110");
    l.send(2, in_ipv4(vxlan(arp_frame(1, 9, ip_of(2), ip_of(2)))));
    EXPECT_EQ(l.send(0, asks)[0],
              one(arp_frame(2, 9, ip_of(2), ip_of(1), fdb_entry(1), fdb_entry(1))));
    l.controller().bridges().forget({.mac = mac_of(9)});
    EXPECT_EQ(counted_out(l.send(0, asks)), "012");
    l.seconds(1);
    l.send(2, in_ipv4(vxlan(arp_frame(1, 9, ip_of(2), ip_of(2)))));
    EXPECT_EQ(counted_out(l.send(0, asks)), "110");
    // Answers in its name do not keep it.
    for (int s = 0; s < 302; ++s) {
        l.seconds(1);
        if (s % 20 == 0) l.send(0, asks);
    }
    EXPECT_EQ(counted_out(l.send(0, asks)), "012");
}

/// Nobody is believed who speaks for another.
TEST(neigh_suppress, believes_who_speaks_for_himself) {
    lab l(suppressed);
    byte_vector false_arp = arp_answer(2, 1), bad = arp_answer(2, 1);
    false_arp[11] = 9;  // Ethernet's source
    bad[15] = 2;        // no Ethernet
    l.send(2, in_ipv4(vxlan(false_arp)));
    l.send(2, in_ipv4(vxlan(bad)));
    byte_vector false_nd = advertisement_frame(2, 1, packet::nd_flag_solicited);
    false_nd[11] = 9;
    l.send(2, in_ipv4(vxlan(false_nd)));
    byte_vector wrong_sum = advertisement_frame(2, 1, packet::nd_flag_solicited);
    wrong_sum[57] ^= 1;
    l.send(2, in_ipv4(vxlan(wrong_sum)));
    EXPECT_EQ(counted_out(l.send(0, question(1, 2))), "012");
    EXPECT_EQ(counted_out(l.send(0, solicitation_frame(1, 2))), "012");
}

TEST(neigh_suppress, over_ipv6) {
    lab l(suppressed);
    EXPECT_EQ(counted_out(l.send(0, solicitation_frame(1, 2))), "012");
    l.send(2, in_ipv4(vxlan(
                  advertisement_frame(2, 1, packet::nd_flag_solicited | packet::nd_flag_router))));
    EXPECT_EQ(l.send(1, solicitation_frame(4, 2)),
              (lab::outputs{one(solicitation_frame(4, 2)),
                            one(advertisement_frame(
                                2, 4, packet::nd_flag_solicited | packet::nd_flag_router)),
                            {}}));
    // An advertisement without the R flag: the host is not a router any more.
    l.send(2, in_ipv4(vxlan(advertisement_frame(2, 1, packet::nd_flag_override))));
    EXPECT_EQ(l.send(1, solicitation_frame(4, 2))[1],
              one(advertisement_frame(2, 4, packet::nd_flag_solicited | packet::nd_flag_override)));
}

/// Each domain has its own bindings; a reply has the VLAN tag of its request.
TEST(neigh_suppress, in_vlans) {
    lab l(underlay() + suppressed_tunnels +
          bridge("{port: p0, mode: trunk}, {port: p1, mode: access, vlan: 10}, {port: t2, mode: "
                 "access, vlan: 10, neigh_suppress: true}, {port: t3, mode: trunk, neigh_suppress: "
                 "true}"));
    l.send(2, in_ipv4(vxlan(arp_answer(2, 1))));
    const byte_vector asks = question(1, 2);
    EXPECT_EQ(l.send(0, tagged(asks, 10)),
              (lab::outputs{one(tagged(arp_answer(2, 1), 10)), one(asks), {}}));
    EXPECT_EQ(counted_out(l.send(0, tagged(asks, 20))), "001");
    l.send(2, in_ipv4(vxlan(tagged(arp_answer(5, 1), 20)), {.source = three4}));
    EXPECT_EQ(l.send(0, tagged(question(1, 5), 20)),
              (lab::outputs{one(tagged(arp_answer(5, 1), 20)), {}, {}}));
    EXPECT_EQ(l.send(1, question(4, 2)),
              (lab::outputs{one(tagged(question(4, 2), 10)), one(arp_answer(2, 4)), {}}));
}

/// In a flood, requests beyond control's rate are flooded without suppression, and none is lost.
TEST(neigh_suppress, in_a_flood) {
    lab l(suppressed);
    l.send(2, in_ipv4(vxlan(arp_answer(2, 1))));
    size_t flooded = 0, answered = 0;
    constexpr size_t asked = 20 * 30;
    for (int n = 0; n < 20; ++n) {
        for (uint8_t i = 0; i < 30; ++i) ASSERT_TRUE(l.offer(0, question(1, 2)));
        l.settle();
        answered += l.sent(0).size();
        EXPECT_EQ(l.sent(1).size(), 30U);
        flooded += l.sent(2).size();
    }
    EXPECT_EQ(answered + flooded / 2, asked);
    EXPECT_GT(answered, 0U);
}

/// The new bridge may have the number of the removed one, and the station behind both.
TEST(neigh_suppress, bindings_go_with_their_bridge) {
    lab l(suppressed);
    const byte_vector hello = ethernet(0x88b5, zeros(46), everybody, fdb_entry(2));
    l.send(2, in_ipv4(vxlan(arp_answer(2, 1))));
    EXPECT_EQ(counted_out(l.send(0, question(1, 2))), "110");
    std::string other = suppressed;
    other.replace(other.find("name: lan"), 9, "name: wan");
    ASSERT_TRUE(l.apply(other));
    l.send(2, in_ipv4(vxlan(hello)));
    EXPECT_EQ(counted_out(l.send(0, question(1, 2))), "012");
}

TEST(neigh_suppress, comes_and_goes) {
    lab l(two_tunnels);
    l.send(2, in_ipv4(vxlan(arp_answer(2, 1))));
    EXPECT_EQ(counted_out(l.send(0, question(1, 2))), "012");
    ASSERT_TRUE(l.apply(suppressed));
    l.send(2, in_ipv4(vxlan(arp_answer(2, 1))));
    EXPECT_EQ(counted_out(l.send(0, question(1, 2))), "110");
    ASSERT_TRUE(l.apply(two_tunnels));
    EXPECT_EQ(counted_out(l.send(0, question(1, 2))), "012");
    // Meanwhile the address moves to another host, which is not recorded.
    l.send(2, in_ipv4(vxlan(arp_frame(1, 9, ip_of(2), ip_of(2)))));
    ASSERT_TRUE(l.apply(suppressed));
    EXPECT_EQ(l.learnt(), "p0 01, t2 02, t2 09");
    EXPECT_EQ(counted_out(l.send(0, question(1, 2))), "012");
    l.send(2, in_ipv4(vxlan(arp_answer(9, 1))));
    EXPECT_EQ(counted_out(l.send(0, question(1, 9))), "110");
}

}  // namespace
}  // namespace turnpike
