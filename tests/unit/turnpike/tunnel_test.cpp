// SPDX-License-Identifier: BSD-3-Clause
// Encapsulation and decapsulation, byte by byte; drops and their reasons.
#include "lib/own_namespace.hpp"
#include "tunnel_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using datapath::drop_reason;
using lab = tunnel_lab;

TEST(tunnel, floods_to_each_endpoint_and_learns_from_them) {
    lab l(two_tunnels);
    const byte_vector ask = frame(everybody, fdb_entry(1));
    const auto out = l.send(0, ask);
    EXPECT_EQ(out[1], one(ask));
    ASSERT_EQ(out[2].size(), 2U);
    EXPECT_EQ(out[2][0], sent_to(ask, two4, two_mac, out[2][0]));
    EXPECT_EQ(out[2][1], sent_to(ask, three4, three_mac, out[2][1]));
    // An answer from behind the second; then it is known to be there.
    const byte_vector answer = frame(fdb_entry(1), fdb_entry(2)),
                      next = frame(fdb_entry(2), fdb_entry(1));
    EXPECT_EQ(l.send(2, in_ipv4(vxlan(answer))), (lab::outputs{one(answer), {}, {}}));
    EXPECT_EQ(l.learnt(), "p0 01, t2 02");
    const auto to_two = l.send(0, next);
    ASSERT_EQ(to_two[2].size(), 1U);
    EXPECT_EQ(to_two[2][0], sent_to(next, two4, two_mac, to_two[2][0]));
    EXPECT_TRUE(to_two[1].empty());
    const observe::traffic n = l.controller().tunnels().counted("t2").total;
    EXPECT_EQ(n.rx_packets, 1U);
    EXPECT_EQ(n.rx_bytes, answer.size());
    EXPECT_EQ(n.tx_packets, 2U);
    EXPECT_EQ(n.tx_bytes, ask.size() + next.size());
}

/// A frame from one endpoint is not forwarded to another: each endpoint sends to all endpoints
/// itself.
TEST(tunnel, forwards_nothing_from_one_endpoint_to_another) {
    lab l(two_tunnels);
    const byte_vector f = frame(everybody, fdb_entry(7));
    EXPECT_EQ(l.send(2, in_ipv4(vxlan(f))), (lab::outputs{one(f), one(f), {}}));
    l.send(2, in_ipv4(vxlan(frame(everybody, fdb_entry(8))), {.source = three4}));
    l.send(2, in_ipv4(vxlan(frame(fdb_entry(8), fdb_entry(7)))));
    EXPECT_EQ(l.dropped(drop_reason::bridge_isolated), 1U);
}

/// While the interface with the VTEP's address is set down, packets to it are forwarded as to any address.
TEST(tunnel, ends_at_no_address_of_an_interface_that_is_down) {
    own_namespace apart;
    lab l("control_plane: {netlink: true}\n" + ports(1) +
          "  - {name: other, device: d1, addresses: [10.0.8.1/24]}\n"
          "  - {name: up, device: d2, addresses: [10.0.9.1/24], host_interface: true}\n"
          "neighbours:\n  static: [{address: 10.0.8.2, mac: \"02:00:00:00:09:02\"}]\n"
          "tunnels:\n" +
          one_tunnel("far", "10.0.8.2") + bridge("{port: p0}, {port: far}"));
    const byte_vector f = frame(everybody, fdb_entry(7)),
                      in = in_ipv4(vxlan(f), {.source = 0x0a000802}, {2, 0, 0, 0, 0, 0x0c});
    const auto set_down = [&](const state::learned& kernel) {
        l.worker().pause();
        ASSERT_TRUE(l.controller().learn(kernel));
        l.worker().resume();
    };
    EXPECT_EQ(l.send(1, in)[0], one(f));
    state::learned kernel;
    kernel.admin_down = {"up"};
    set_down(kernel);
    EXPECT_TRUE(l.send(1, in)[0].empty());
    EXPECT_EQ(l.dropped(drop_reason::no_route), 1U);
    set_down({});
    EXPECT_EQ(l.send(1, in)[0], one(f));
}

/// A whole burst of several endpoints, with packets between that are in none.
TEST(tunnel, takes_bursts_apart) {
    lab l(two_tunnels);
    l.send(0, frame(everybody, fdb_entry(1)));
    std::vector<byte_vector> expected;
    for (uint8_t i = 0; i < 30; ++i) {
        const byte_vector f = frame(fdb_entry(1), fdb_entry(static_cast<uint8_t>(40 + i % 2)), i);
        ASSERT_TRUE(l.offer(2, in_ipv4(vxlan(f), {.source = i % 2 == 0 ? two4 : three4})));
        expected.push_back(f);
    }
    ASSERT_TRUE(
        l.offer(2, ethernet(type4, ipv4({.source = two4, .destination = us4}, udp(counted(8))),
                            up_mac, two_mac)));
    l.settle();
    EXPECT_EQ(l.sent(0), expected);
    EXPECT_EQ(l.dropped(drop_reason::local_protocol), 1U) << "another port is control's";
}

TEST(tunnel, tells_why_it_takes_nothing_out) {
    lab l(two_tunnels);
    const byte_vector f = frame(everybody, fdb_entry(7));
    const auto none = [&](const byte_vector& in, drop_reason why, uint64_t count = 1) {
        EXPECT_EQ(l.send(2, in), (lab::outputs{{}, {}, {}})) << datapath::name(why);
        EXPECT_EQ(l.dropped(why), count) << datapath::name(why);
    };
    none(in_ipv4(vxlan(f, {.network = 101 << 8})), drop_reason::vxlan_unknown_vni);
    none(in_ipv4(vxlan(f), {.source = 0x0a000904}), drop_reason::vxlan_unknown_vtep);
    none(in_ipv4(vxlan(f, {.flags = 0})), drop_reason::vxlan_flags);
    none(in_ipv4(vxlan(f, {.flags = 0x0c00'0000})), drop_reason::vxlan_reserved);
    none(in_ipv4(vxlan(f, {.network = vni << 8 | 1})), drop_reason::vxlan_reserved, 2);
    none(in_ipv4(vxlan(byte_vector(f.begin(), f.begin() + 13))), drop_reason::vxlan_inner_runt);
    none(in_ipv4(vxlan({})), drop_reason::vxlan_inner_runt, 2);
    none(in_ipv4(vxlan(f, {.sum = 0x1234})), drop_reason::vxlan_checksum);
    byte_vector longer = vxlan(f), shorter = longer;
    longer[5] = static_cast<uint8_t>(longer[5] + 1);
    none(in_ipv4(longer), drop_reason::vxlan_truncated);
    shorter[5] = 15;
    none(in_ipv4(shorter), drop_reason::vxlan_truncated, 2);
    none(in_ipv4(be(uint16_t{50000}) + be(uint16_t{4789}) + be(uint16_t{8}) + be(uint16_t{0}) +
                 zeros(20)),
         drop_reason::vxlan_truncated, 3);
    none(in_ipv4(vxlan(f), {.source = us4}), drop_reason::ipv4_source_is_destination);
    byte_vector wrong = in_ipv4(vxlan(f));
    wrong[24] ^= 1;
    none(wrong, drop_reason::ipv4_checksum);
    none(in_ipv4(vxlan(f), {.fragment = 0x2000}), drop_reason::local_fragment);
    // Congestion experienced (CE) in the outer header, and the inner packet is not ECN-capable.
    const byte_vector ip = ethernet(type4, ipv4({}, udp(counted(20))), everybody, fdb_entry(7));
    none(in_ipv4(vxlan(ip), {.tos = packet::ecn_congested}), drop_reason::ecn_decap);
}

/// Packets that the fast path does not handle take the slow path, with the same result.
TEST(tunnel, takes_out_what_is_not_plain) {
    const byte_vector f = frame(everybody, fdb_entry(7));
    {
        lab l(two_tunnels);
        EXPECT_EQ(l.send(2, in_ipv4(vxlan(f), {.options = byte_vector(4, 1)}))[0], one(f));
        EXPECT_EQ(l.send(2, in_ipv4(summed(vxlan(f), {10, 0, 9, 2}, {10, 0, 9, 1})))[0], one(f));
        // In several buffers, cut in every header; and with padding behind it.
        const byte_vector whole = in_ipv4(vxlan(f)) + zeros(6);
        for (const long at : {20L, 36L, 45L, 52L, 70L}) {
            rte_mbuf *head = l.packet_of(byte_vector(whole.begin(), whole.begin() + at)),
                     *tail = l.packet_of(byte_vector(whole.begin() + at, whole.end()));
            ASSERT_EQ(rte_pktmbuf_chain(head, tail), 0);
            ASSERT_TRUE(l.offer_packet(2, head));
            l.settle();
            EXPECT_EQ(l.sent(0), one(f)) << at;
            l.sent(1);
        }
    }
    lab judged(underlay(", acl: {in: edge}") +
               "acl:\n  - name: edge\n    rules: [{action: permit, source: 10.0.9.2/32}]\n" +
               "tunnels:\n" + one_tunnel("t2", "10.0.9.2") + one_tunnel("t3", "10.0.9.3") +
               bridge("{port: p0}, {port: p1}, {port: t2}, {port: t3}"));
    EXPECT_EQ(judged.send(2, in_ipv4(vxlan(f)))[0], one(f));
    EXPECT_EQ(judged.send(2, in_ipv4(vxlan(f), {.source = three4}))[0].size(), 0U);
    EXPECT_EQ(judged.dropped(drop_reason::acl_deny), 1U);
}

const std::string over_ipv6 = underlay() + "tunnels:\n" + one_tunnel("t2", "2001:db8:9::2") +
                              bridge("{port: p0}, {port: p1}, {port: t2}");

TEST(tunnel, over_ipv6_with_checksums) {
    lab l(over_ipv6);
    for (const size_t bytes : {46U, 47U, 1000U}) {
        const byte_vector f = ethernet(type_test, counted(bytes), everybody, fdb_entry(1));
        const auto out = l.send(0, f)[2];
        ASSERT_EQ(out.size(), 1U);
        const uint16_t port = load_be<uint16_t>(&out[0].at(54));
        EXPECT_EQ(out[0],
                  in_ipv6(summed(vxlan(f, {.port = port}), us6, two6), two_mac, up_mac, us6, two6));
    }
    const byte_vector f = frame(everybody, fdb_entry(7));
    EXPECT_EQ(l.send(2, in_ipv6(summed(vxlan(f), two6, us6)))[0], one(f));
    // In several buffers that begin at odd bytes, both ways.
    const byte_vector in = in_ipv6(summed(vxlan(f), two6, us6)),
                      back = frame(everybody, fdb_entry(1));
    for (const auto& [port, whole] : {std::pair{uint16_t{2}, in}, {uint16_t{0}, back}}) {
        const long at = static_cast<long>(whole.size()) - 23;
        rte_mbuf *head = l.packet_of(byte_vector(whole.begin(), whole.begin() + at)),
                 *tail = l.packet_of(byte_vector(whole.begin() + at, whole.end()));
        ASSERT_EQ(rte_pktmbuf_chain(head, tail), 0);
        ASSERT_TRUE(l.offer_packet(port, head));
        l.settle();
        EXPECT_EQ(l.sent(1).size(), 1U);
        EXPECT_EQ(l.sent(0), port == 2 ? one(f) : std::vector<byte_vector>{});
    }
    const auto odd = l.sent(2);
    ASSERT_EQ(odd.size(), 1U);
    const uint16_t odd_port = load_be<uint16_t>(&odd[0].at(54));
    EXPECT_EQ(odd[0], in_ipv6(summed(vxlan(back, {.port = odd_port}), us6, two6), two_mac, up_mac,
                              us6, two6));
    EXPECT_EQ(l.send(2, in_ipv6(vxlan(f)))[0].size(), 0U);
    EXPECT_EQ(l.dropped(drop_reason::vxlan_checksum), 1U) << "RFC 6936: 0 is agreed on, or dropped";
    EXPECT_EQ(l.send(2, in_ipv6(summed(vxlan(f, {.network = 7 << 8}), two6, us6)))[0].size(), 0U);
    EXPECT_EQ(l.dropped(drop_reason::vxlan_unknown_vni), 1U);
    EXPECT_EQ(l.send(2, in_ipv6(summed(vxlan(f), v6_a, us6), up_mac, two_mac, v6_a))[0].size(), 0U);
    EXPECT_EQ(l.dropped(drop_reason::vxlan_unknown_vtep), 1U);
    // A packet with an extension header takes the slow path.
    const byte_vector hidden =
        ethernet(0x86dd,
                 ipv6({.next_header = 60, .source = two6, .destination = us6},
                      extension(17, 0, summed(vxlan(f), two6, us6))),
                 up_mac, two_mac);
    EXPECT_EQ(l.send(2, hidden)[0], one(f));
}

TEST(tunnel, over_ipv6_without_checksums_where_that_is_agreed_on) {
    lab l(underlay() + "tunnels:\n" + one_tunnel("t2", "2001:db8:9::2", ", checksum: false") +
          bridge("{port: p0}, {port: p1}, {port: t2}"));
    const byte_vector f = frame(everybody, fdb_entry(1));
    const auto out = l.send(0, f)[2];
    ASSERT_EQ(out.size(), 1U);
    EXPECT_EQ(load_be<uint16_t>(&out[0].at(60)), 0U);
    EXPECT_EQ(l.send(2, in_ipv6(vxlan(frame(everybody, fdb_entry(7)))))[0].size(), 1U);
}

/// Sends a frame whose first segment has `first` bytes. Answers  the frames that leave port 0
std::vector<byte_vector> in_two_segments(lab& l, uint16_t port, const byte_vector& f,
                                         ptrdiff_t first) {
    rte_mbuf *const head = l.packet_of(byte_vector(f.begin(), f.begin() + first)),
                    *const tail = l.packet_of(byte_vector(f.begin() + first, f.end()));
    EXPECT_EQ(rte_pktmbuf_chain(head, tail), 0);
    EXPECT_TRUE(l.offer_packet(port, head));
    l.settle();
    return l.sent(0);
}

/// RFC 6864 section 4.3: datagrams that may be fragmented have different identifications, of all workers.
TEST(tunnel, identifications_of_workers_differ) {
    constexpr uint32_t workers = 7;
    datapath::snapshot snapshot;
    snapshot.queues.resize(workers);
    std::vector<bool> used(0x10000);
    for (uint32_t w = 0; w < workers; ++w) {
        const auto c = std::make_unique<datapath::context>();
        c->snapshot = &snapshot;
        c->worker = w;
        for (uint32_t n = 0; n < used.size() / 8; ++n) {
            const uint16_t id = c->next_identifier();
            ASSERT_FALSE(used[id]) << "worker " << w << ", packet " << n;
            used[id] = true;
        }
    }
}

/// RFC 6040, with the list of its figure 4, of IPv4 and IPv6 inside.
TEST(tunnel, carries_congestion_marks) {
    lab l(underlay() + "tunnels:\n" +
          one_tunnel("t2", "10.0.9.2", ", dscp: inherit, ttl: 9, dont_fragment: false") +
          bridge("{port: p0}, {port: p1}, {port: t2}"));
    const auto inner4 = [](uint8_t tos) {
        byte_vector f = ethernet(type4, ipv4({}, udp(counted(20))), everybody, fdb_entry(1));
        auto& ip = packet::header_at<packet::ipv4_header>(f.data() + 14);
        ip.checksum =
            packet::update_checksum(ip.checksum, 0x4500, static_cast<uint16_t>(0x4500 | tos));
        ip.tos = tos;
        return f;
    };
    const auto inner6 = [](uint8_t mark) {
        byte_vector f = ethernet(0x86dd, ipv6({}, udp(counted(20))), everybody, fdb_entry(1));
        packet::set_ecn(f.data() + 14, false, mark);
        return f;
    };
    for (uint8_t mark = 0; mark < 4; ++mark) {
        const auto tos = static_cast<uint8_t>(0xb8 | mark);
        const auto out = l.send(0, inner4(tos))[2];
        ASSERT_EQ(out.size(), 1U);
        EXPECT_EQ(out[0][15], tos) << "in: as it is";
        EXPECT_EQ(out[0][22], 9) << "its TTL";
        EXPECT_EQ(load_be<uint16_t>(&out[0].at(18)), mark) << "what may be cut has an identifier";
        EXPECT_EQ(load_be<uint16_t>(&out[0].at(20)), 0U);
        EXPECT_EQ(packet::checksum({&out[0].at(14), 20}), 0U);
    }
    constexpr uint8_t dropped = 9;
    constexpr uint8_t comes_out[4][4] = {// by outer mark: none, ECT(1), ECT(0), CE
                                         {0, 0, 0, dropped},
                                         {1, 1, 1, 3},
                                         {2, 1, 2, 3},
                                         {3, 3, 3, 3}};
    for (uint8_t inner = 0; inner < 4; ++inner)
        for (uint8_t outer = 0; outer < 4; ++outer) {
            const uint8_t is = comes_out[inner][outer];
            const auto out4 = l.send(2, in_ipv4(vxlan(inner4(inner)), {.tos = outer}))[0];
            const auto out6 = l.send(2, in_ipv4(vxlan(inner6(inner)), {.tos = outer}))[0];
            if (is == dropped) {
                EXPECT_TRUE(out4.empty() && out6.empty());
                continue;
            }
            EXPECT_EQ(out4, one(inner4(is))) << int{inner} << int{outer};
            EXPECT_EQ(out6, one(inner6(is))) << int{inner} << int{outer};
        }
    // The same behind one and two tags, and in segments that end behind the inner Ethernet header.
    for (const auto& tags : {std::vector<uint16_t>{type_vlan}, {type_vlan, type_service}}) {
        const auto with_tags = [&](byte_vector f) {
            for (const uint16_t type : tags) f = tagged(f, 7, type);
            return f;
        };
        EXPECT_EQ(l.send(0, with_tags(inner4(0xba)))[2].at(0).at(15), 0xba);
        for (const bool in_segments : {false, true}) {
            const auto received = [&](const byte_vector& inner) {
                const byte_vector f =
                    in_ipv4(vxlan(with_tags(inner)), {.tos = packet::ecn_congested});
                return in_segments ? in_two_segments(l, 2, f, 14 + 20 + 8 + 8 + 14)
                                   : l.send(2, f)[0];
            };
            EXPECT_EQ(received(inner4(2)), one(with_tags(inner4(3)))) << in_segments;
            EXPECT_EQ(received(inner6(1)), one(with_tags(inner6(3)))) << in_segments;
            const uint64_t before = l.dropped(drop_reason::ecn_decap);
            EXPECT_TRUE(received(inner4(0)).empty());
            EXPECT_EQ(l.dropped(drop_reason::ecn_decap), before + 1);
        }
    }
}

/// Flows differ in their source port, and keep it.
TEST(tunnel, tells_flows_apart_by_source_port) {
    lab l(two_tunnels);
    std::vector<uint16_t> seen;
    for (const uint16_t port : {uint16_t{1000}, uint16_t{1001}, uint16_t{1000}}) {
        const byte_vector f = ethernet(
            type4,
            ipv4({}, be(port) + be(uint16_t{53}) + be(uint16_t{20}) + be(uint16_t{0}) + zeros(12)),
            everybody, fdb_entry(1));
        const auto out = l.send(0, f)[2];
        ASSERT_EQ(out.size(), 2U);
        seen.push_back(source_port_of(out[0]));
    }
    EXPECT_EQ(seen[0], seen[2]);
    EXPECT_NE(seen[0], seen[1]);
}

TEST(tunnel, takes_what_fits_alone) {
    {
        lab l(two_tunnels);
        EXPECT_EQ(l.send(0, ethernet(type_test, counted(1500), everybody, fdb_entry(1)))[2].size(),
                  2U);
        EXPECT_EQ(l.send(0, ethernet(type_test, counted(1501), everybody, fdb_entry(1)))[2].size(),
                  0U);
        EXPECT_EQ(l.dropped(drop_reason::tunnel_too_big), 2U);
    }
    // A packet within the tunnel's MTU but above the underlay's: no ICMP error, since the packet is
    // ours.
    lab narrow(two_tunnels.substr(0, two_tunnels.find("1600")) + "1500" +
               two_tunnels.substr(two_tunnels.find("1600") + 4));
    EXPECT_EQ(narrow.send(0, ethernet(type_test, counted(1500), everybody, fdb_entry(1)))[2].size(),
              0U);
    EXPECT_EQ(narrow.dropped(drop_reason::ipv4_too_big), 2U);
}

/// The routing interface of a bridge with only tunnels has the links of all ports: routes decide by which a tunnel leaves.
TEST(tunnel_links, are_those_of_all_ports) {
    tunnel_lab l(underlay() + "tunnels:\n" + one_tunnel("t2", "10.0.9.2") +
                 bridge("{port: t2}", "    addresses: [10.0.1.254/24]\n") +
                 "  - {name: rest, members: [{port: p0}, {port: p1}]}\n");
    const auto set = [&](size_t port, bool up) {
        const uint16_t id = l.snapshot().port[port].ethdev_id;
        ASSERT_EQ((up ? rte_eth_dev_set_link_up : rte_eth_dev_set_link_down)(id), 0);
        l.controller().poll_links(100'000);
        l.settle();
    };
    const auto has_link = [&] {
        const uint16_t ifindex = l.controller().interfaces().indexes().at("lan");
        return l.controller().has_link(l.snapshot().interfaces[ifindex]);
    };
    EXPECT_TRUE(has_link());
    set(0, false);
    set(1, false);
    EXPECT_TRUE(has_link());
    set(2, false);
    EXPECT_FALSE(has_link());
    l.sent(2);
    set(2, true);
    EXPECT_TRUE(has_link());
    const auto announced = l.sent(2);
    EXPECT_TRUE(std::any_of(announced.begin(), announced.end(), [](const byte_vector& f) {
        return f.size() > 80 && f[12] == 0x08 && f[23] == 17 && f[62] == 0x08 && f[63] == 0x06;
    })) << "gratuitous ARP in VXLAN";
    set(1, true);
    set(0, true);
}

}  // namespace
}  // namespace turnpike
