// SPDX-License-Identifier: BSD-3-Clause
// Encapsulation and decapsulation by the fast path, and by the slow path because of an ACL:
// the same bytes.
#include <algorithm>

#include "tunnel_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using datapath::drop_reason;

/// Offers a burst at a port; returns the frames that each port sends, in order.
tunnel_lab::outputs send(tunnel_lab& l, uint16_t port, const std::vector<byte_vector>& frames) {
    for (const byte_vector& f : frames) EXPECT_TRUE(l.offer(port, f));
    l.settle();
    tunnel_lab::outputs out;
    for (uint16_t p = 0; p < 3; ++p) {
        out.push_back(l.sent(p));
        std::sort(out.back().begin(), out.back().end());
    }
    return out;
}

/// Runs the script in two labs, one after the other, with one difference: the second has a list
/// that permits all at the underlay's ingress and egress.
template <class Script>
void both_ways(const std::string& tunnels, const Script& script) {
    tunnel_lab::outputs quick;
    {
        tunnel_lab l(underlay() + tunnels);
        quick = script(l);
    }
    tunnel_lab l(underlay(", acl: {in: all, out: all}") +
                 "acl:\n  - {name: all, default: permit, rules: [{action: permit}]}\n" + tunnels);
    EXPECT_EQ(script(l), quick);
}

byte_vector ip_frame(uint8_t to, uint16_t port, size_t bytes = 20) {
    return ethernet(type4,
                    ipv4({}, be(port) + be(uint16_t{53}) + be(static_cast<uint16_t>(8 + bytes)) +
                                 be(uint16_t{0}) + counted(bytes)),
                    fdb_entry(to), fdb_entry(1));
}
byte_vector marked(byte_vector f, uint8_t mark) {
    packet::set_ecn(f.data() + 14, true, mark);
    return f;
}

const std::string three_tunnels =
    "tunnels:\n" + one_tunnel("t2", "10.0.9.2", ", dont_fragment: false, ttl: 1") +
    one_tunnel("t3", "10.0.9.3", ", checksum: true, dscp: 10") +
    one_tunnel("t6", "2001:db8:9::2", ", ttl: 254") +
    bridge("{port: p0}, {port: p1}, {port: t2}, {port: t3}, {port: t6}");

/// Stations 2, 3 and 6 are behind the tunnels of these names.
std::vector<byte_vector> they_speak() {
    return {in_ipv4(vxlan(frame(fdb_entry(1), fdb_entry(2)))),
            in_ipv4(vxlan(frame(fdb_entry(1), fdb_entry(3))), {.source = three4}),
            in_ipv6(summed(vxlan(frame(fdb_entry(1), fdb_entry(6))), two6, us6))};
}

TEST(tunnel_both_ways, into_tunnels) {
    both_ways(three_tunnels, [](tunnel_lab& l) {
        send(l, 0, {frame(everybody, fdb_entry(1))});
        EXPECT_EQ(send(l, 2, they_speak())[0].size(), 3U);
        std::vector<byte_vector> burst;
        for (uint16_t n = 0; n < 24; ++n) {
            const uint8_t to[] = {2, 3, 6, 1};  // one that came from there, too
            burst.push_back(
                marked(ip_frame(to[n % 4], n, 20 + n * 60), static_cast<uint8_t>(n % 3)));
        }
        burst.push_back(ethernet(0x86dd, ipv6({}, udp(counted(20))), fdb_entry(2), fdb_entry(1)));
        burst.push_back(frame(fdb_entry(6), fdb_entry(1)));
        burst.push_back(tagged(ip_frame(3, 7), 5));
        burst.push_back(ip_frame(2, 7, 1500 - 28));  // all that its tunnel takes
        const auto out = send(l, 0, burst);
        EXPECT_EQ(out[2].size(), 22U);
        EXPECT_EQ(l.dropped(drop_reason::bridge_same_port), 6U);
        return out;
    });
}

TEST(tunnel_both_ways, by_ways_that_are_shared) {
    both_ways(
        "routes:\n  - {to: 10.77.0.0/24, via: [10.0.9.2, 10.0.9.3]}\n"
        "tunnels:\n  - {name: t2, vni: 100, local: 10.0.9.1, remote: 10.77.0.2}\n" +
            bridge("{port: p0}, {port: p1}, {port: t2}"),
        [](tunnel_lab& l) {
            send(l, 0, {frame(everybody, fdb_entry(1))});
            send(l, 2,
                 {in_ipv4(vxlan(frame(fdb_entry(1), fdb_entry(2))), {.source = 0x0a4d'0002})});
            std::vector<byte_vector> burst;
            for (uint16_t n = 0; n < 32; ++n) burst.push_back(ip_frame(2, n));
            const auto out = send(l, 0, burst);
            EXPECT_EQ(out[2].size(), 32U);
            const auto by_two =
                std::count_if(out[2].begin(), out[2].end(), [](const byte_vector& f) {
                    return std::equal(two_mac.begin(), two_mac.end(), f.begin());
                });
            EXPECT_GT(by_two, 4);
            EXPECT_LT(by_two, 28);
            return out;
        });
}

/// The underlay is a VLAN interface with tagged frames.
TEST(tunnel_both_ways, by_a_vlan) {
    both_ways(
        "interfaces:\n  - {port: up, vlan: 7, addresses: [10.0.7.1/24]}\n"
        "tunnels:\n  - {name: t2, vni: 100, local: 10.0.7.1, remote: 10.0.7.2}\n" +
            bridge("{port: p0}, {port: p1}, {port: t2}"),
        [](tunnel_lab& l) {
            const byte_vector asked = send(l, 0, {frame(everybody, fdb_entry(1))})[2].at(0);
            EXPECT_EQ(load_be<uint32_t>(&asked.at(12)), 0x8100'0007U);
            EXPECT_EQ(load_be<uint16_t>(&asked.at(16)), 0x0806U);
            const byte_vector answer = ethernet(0x8100,
                                                tag(7, 0x0806,
                                                    arp({.operation = 2,
                                                         .sender_mac = two_mac,
                                                         .sender_ip = 0x0a000702,
                                                         .target_mac = up_mac,
                                                         .target_ip = 0x0a000701})),
                                                up_mac, two_mac);
            EXPECT_EQ(send(l, 2, {answer})[2].size(), 1U);
            const auto out = send(l, 0, {frame(fdb_entry(9), fdb_entry(1))});
            const byte_vector& is = out[2].at(0);
            EXPECT_EQ(load_be<uint32_t>(&is.at(12)), 0x8100'0007U);
            EXPECT_EQ(byte_vector(is.begin() + 54, is.end()), frame(fdb_entry(9), fdb_entry(1)));
            return out;
        });
}

TEST(tunnel_both_ways, out_of_tunnels) {
    both_ways(three_tunnels, [](tunnel_lab& l) {
        send(l, 0, {frame(everybody, fdb_entry(1))});
        std::vector<byte_vector> burst = they_speak();
        for (uint16_t n = 0; n < 24; ++n) {
            const byte_vector inside =
                marked(ip_frame(1, n, 20 + n * 50), static_cast<uint8_t>(n / 12));
            const outer_fields by_three{.source = three4, .tos = static_cast<uint8_t>(n / 3 % 4)};
            if (n % 3 == 0) burst.push_back(in_ipv4(vxlan(inside)) + zeros(n));
            if (n % 3 == 1)
                burst.push_back(
                    in_ipv4(summed(vxlan(inside), {10, 0, 9, 3}, {10, 0, 9, 1}), by_three));
            if (n % 3 == 2) burst.push_back(in_ipv6(summed(vxlan(inside), two6, us6)));
        }
        // None of a tunnel's; both are answered.
        burst.push_back(ethernet(
            type4, ipv4({.source = two4, .destination = us4}, udp(counted(40))), up_mac, two_mac));
        burst.push_back(ethernet(
            0x0806,
            arp({.operation = 1, .sender_mac = two_mac, .sender_ip = two4, .target_ip = us4}),
            up_mac, two_mac));
        const auto out = send(l, 2, burst);
        EXPECT_EQ(out[2].size(), 2U);
        const uint64_t congested = l.dropped(drop_reason::ecn_decap);
        EXPECT_GT(congested, 0U);
        EXPECT_EQ(out[0].size(), 27U - congested);
        EXPECT_EQ(l.dropped(drop_reason::local_protocol), 1U);
        return out;
    });
}

/// Tunnels with several local addresses, by turns.
TEST(tunnel_both_ways, at_several_addresses) {
    const std::string two_ends =
        "tunnels:\n  - {name: t2, vni: 100, local: 10.0.9.1, remote: 10.0.9.2}\n"
        "  - {name: t3, vni: 100, local: 10.0.9.9, remote: 10.0.9.2}\n" +
        bridge("{port: p0}, {port: p1}, {port: t2}, {port: t3}");
    tunnel_lab l(ports(2) +
                 "  - {name: up, device: d2, mtu: 1600, addresses: [10.0.9.1/24, 10.0.9.9/24]}\n"
                 "neighbours:\n  static: [{address: 10.0.9.2, mac: \"02:00:00:00:09:02\"}]\n" +
                 two_ends);
    send(l, 0, {frame(everybody, fdb_entry(1))});
    std::vector<byte_vector> expected;
    for (uint8_t n = 0; n < 20; ++n) {
        const byte_vector f = frame(fdb_entry(1), fdb_entry(static_cast<uint8_t>(2 + n % 2)), n);
        ASSERT_TRUE(l.offer(
            2, in_ipv4(vxlan(f), {.destination = n % 2 == 0 ? us4 : uint32_t{0x0a000909}})));
        expected.push_back(f);
    }
    l.settle();
    auto out = l.sent(0);
    std::sort(out.begin(), out.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(out, expected);
    EXPECT_EQ(l.learnt(), "p0 01, t2 02, t3 03");
}

/// One local address, one endpoint, one VNI: the UDP port distinguishes the tunnels, in both
/// directions.
TEST(tunnel_both_ways, at_several_ports) {
    const std::string four_ports =
        "tunnels:\n" + one_tunnel("t2", "10.0.9.2") +
        one_tunnel("u2", "10.0.9.2", ", udp_port: 8472, dont_fragment: false") +
        one_tunnel("t6", "2001:db8:9::2") + one_tunnel("u6", "2001:db8:9::2", ", udp_port: 53") +
        bridge("{port: p0}, {port: p1}, {port: t2}, {port: u2}, {port: t6}, {port: u6}");
    both_ways(four_ports, [](tunnel_lab& l) {
        send(l, 0, {frame(everybody, fdb_entry(1))});
        std::vector<byte_vector> burst, expected;
        for (uint8_t n = 0; n < 24; ++n) {
            constexpr uint16_t to[] = {4789, 8472, 53};  // the third is one of IPv6's only
            const outer_fields f{.to_port = to[n % 3]};
            const byte_vector by4 = frame(fdb_entry(1), fdb_entry(static_cast<uint8_t>(2 + n % 3)),
                                          n),
                              by6 = frame(fdb_entry(1), fdb_entry(static_cast<uint8_t>(5 + n % 3)),
                                          n);
            burst.push_back(in_ipv4(vxlan(by4, f)));
            burst.push_back(in_ipv6(summed(vxlan(by6, f), two6, us6)));
            if (n % 3 != 2) expected.push_back(by4);
            if (n % 3 != 1) expected.push_back(by6);
        }
        auto out = send(l, 2, burst);
        std::sort(expected.begin(), expected.end());
        EXPECT_EQ(out[0], expected);
        // A datagram to a port without a tunnel goes to control, which drops it as an unknown local
        // protocol.
        EXPECT_EQ(l.dropped(drop_reason::local_protocol), 16U);
        EXPECT_EQ(l.learnt(), "p0 01, t2 02, t6 05, u2 03, u6 07");
        for (const auto& [to, port] : {std::pair{2, 4789}, {3, 8472}, {5, 4789}, {7, 53}}) {
            const auto by =
                send(l, 0, {frame(fdb_entry(static_cast<uint8_t>(to)), fdb_entry(1))})[2];
            EXPECT_EQ(load_be<uint16_t>(&by.at(0).at(to < 5 ? 36 : 56)), port);
            out[2].insert(out[2].end(), by.begin(), by.end());
        }
        return out;
    });
}

/// No tunnel uses VXLAN's well-known port: it is then an ordinary UDP port.
TEST(tunnel_both_ways, at_no_port_of_vxlans) {
    both_ways(
        "tunnels:\n" + one_tunnel("t2", "10.0.9.2", ", udp_port: 8472") +
            bridge("{port: p0}, {port: p1}, {port: t2}"),
        [](tunnel_lab& l) {
            const byte_vector f = frame(everybody, fdb_entry(7));
            EXPECT_EQ(send(l, 2, {in_ipv4(vxlan(f))})[0].size(), 0U);
            EXPECT_EQ(l.dropped(drop_reason::local_protocol), 1U);
            EXPECT_EQ(
                send(l, 2, {in_ipv4(vxlan(f, {.network = 1 << 8, .to_port = 8472}))})[0].size(),
                0U);
            EXPECT_EQ(l.dropped(drop_reason::vxlan_unknown_vni), 1U);
            const auto out = send(l, 2, {in_ipv4(vxlan(f, {.to_port = 8472}))});
            EXPECT_EQ(out[0], one(f));
            return out;
        });
}

}  // namespace
}  // namespace turnpike
