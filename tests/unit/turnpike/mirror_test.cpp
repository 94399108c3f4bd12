// SPDX-License-Identifier: BSD-3-Clause
// Mirrors: copies of frames as on the wire, with the tags that devices strip or insert, and without buffers.
#include <set>

#include "turnpike/bridge_lab.hpp"

namespace turnpike::datapath {
namespace {

using namespace test;

const std::string mirrored = ports(3) +
                             "xconnects: [[p0, p1]]\n"
                             "mirrors:\n  - {name: all, ports: [p0], to: p2}\n";

const byte_vector tagged = [] {
    byte_vector f = frame(test::fdb_entry(2), test::fdb_entry(1), 7);
    const byte_vector tag{0x81, 0, 0x60, 9};
    f.insert(f.begin() + 12, tag.begin(), tag.end());
    return f;
}();
byte_vector without_tag(byte_vector f) {
    f.erase(f.begin() + 12, f.begin() + 16);
    return f;
}

TEST(mirror, copies_both_directions) {
    bridge_lab l(mirrored);
    const byte_vector there = frame(test::fdb_entry(2), test::fdb_entry(1)),
                      back = frame(test::fdb_entry(1), test::fdb_entry(2), 1);
    auto out = l.send(0, there);
    EXPECT_EQ(out[1], one(there));
    EXPECT_EQ(out[2], one(there));
    out = l.send(1, back);
    EXPECT_EQ(out[0], one(back));
    EXPECT_EQ(out[2], one(back));
    EXPECT_EQ(l.controller().mirroring().counted("all").packets, 2U);
    EXPECT_EQ(l.controller().mirroring().counted("all").bytes, 120U);
    EXPECT_EQ(l.controller().report().total().originated, 2U);
}

TEST(mirror, has_the_tag_that_the_device_stripped) {
    bridge_lab l(mirrored);
    rte_mbuf* const m = l.packet_of(without_tag(tagged));
    m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
    m->vlan_tci = 0x6009;
    ASSERT_TRUE(l.offer_packet(0, m));
    l.settle();
    EXPECT_EQ(l.sent(2), one(tagged));
}

/// The frames that reach stage tx.
thread_local std::vector<byte_vector> at_tx;

struct mirror_stage : ::testing::Test {
    bridge_lab lab{mirrored};
    context c;
    std::array<stage_row, stages> table = stage_table;

    mirror_stage() {
        table[static_cast<size_t>(stage::tx)].run = [](context&, burst& b,
                                                       packet_mask packets) noexcept {
            for_each(packets, [&](uint32_t i) {
                at_tx.push_back(path_lab::bytes_of(b.packet[i]));
                rte_pktmbuf_free(b.packet[i]);
            });
            return stage_mask{0};
        };
        c.table = table.data();
        c.snapshot = &lab.snapshot();
        at_tx.clear();
    }
    /// A frame that is about to leave by p0.
    void send(rte_mbuf* m) {
        burst b;
        b.begin(1, 1);
        b.packet[0] = m;
        b.out[0] = c.snapshot->interfaces[c.snapshot->port[0].untagged].out();
        dispatch(table, c, b, enqueue(b, 1, stage::mirror_out), [](size_t, packet_mask) {});
    }
    [[nodiscard]] uint64_t originated() const { return c.counters[1].originated.read(); }
};

/// A copy that cannot be made counts like one that was made and dropped.
TEST_F(mirror_stage, counts_copies_without_a_burst_for_them) {
    const byte_vector f = frame(test::fdb_entry(2), test::fdb_entry(1));
    c.bursts_in_use = static_cast<uint32_t>(c.made.size());
    send(lab.packet_of(f));
    EXPECT_EQ(at_tx, one(f));
    EXPECT_EQ(originated(), 1U);
    EXPECT_EQ(c.counters[1].drops[static_cast<size_t>(drop_reason::mirror_memory)].read(), 1U);
}

TEST(mirror, forwards_without_buffers) {
    bridge_lab l(mirrored);
    const byte_vector f = frame(test::fdb_entry(2), test::fdb_entry(1));
    rte_mbuf* const first = l.packet_of(f);
    std::vector<rte_mbuf*> held;
    while (rte_mbuf* const m = l.packet_of(f)) held.push_back(m);
    ASSERT_TRUE(l.offer_packet(0, first));
    l.settle();
    EXPECT_EQ(l.sent(1), one(f));
    EXPECT_TRUE(l.sent(2).empty());
    EXPECT_EQ(l.dropped(drop_reason::mirror_memory), 1U);
    EXPECT_EQ(l.controller().mirroring().counted("all").lost, 1U);
    for (rte_mbuf* const m : held) rte_pktmbuf_free(m);
}

/// Copies of frames in several segments, cut and tagged.
TEST(mirror, cuts_and_tags_copies) {
    bridge_lab l(ports(3) +
                 "xconnects: [[p0, p1]]\n"
                 "mirrors:\n  - {name: cut, ports: [p0], direction: in, vlan: 9, length: 64, to: "
                 "p2, to_vlan: 5}\n");
    byte_vector longer = tagged;
    longer.resize(1000, 0xa5);
    rte_mbuf* const head = l.packet_of({longer.begin(), longer.begin() + 40});
    rte_mbuf* const tail = l.packet_of({longer.begin() + 40, longer.end()});
    ASSERT_EQ(rte_pktmbuf_chain(head, tail), 0);
    ASSERT_TRUE(l.offer_packet(0, head));
    ASSERT_TRUE(l.offer(0, without_tag(tagged)));
    l.settle();
    EXPECT_EQ(l.sent(1).size(), 2U);
    byte_vector wanted(longer.begin(), longer.begin() + 64);
    const byte_vector tag{0x81, 0, 0, 5};
    wanted.insert(wanted.begin() + 12, tag.begin(), tag.end());
    EXPECT_EQ(l.sent(2), one(wanted));
}

/// TCP or UDP over IPv4 to the destination port, in a frame of 60 bytes.
byte_vector ip_frame(uint8_t protocol, uint8_t port) {
    byte_vector ip = {0x45, 0, 0, 46, 0, 1, 0, 0, 64, protocol, 0, 0, 10, 0, 1, 2, 10, 0, 2, 2};
    uint32_t sum = 0;
    for (size_t i = 0; i < ip.size(); i += 2) sum += uint32_t{ip[i]} << 8 | ip[i + 1];
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    ip[10] = static_cast<uint8_t>(~sum >> 8);
    ip[11] = static_cast<uint8_t>(~sum);
    ip.insert(ip.end(), {0, 9, 0, port, 0, 26, 0, 0, 0, 0, 0, 0, 0x50, 2});
    ip.resize(46);
    return ethernet(uint16_t{0x0800}, ip, test::fdb_entry(2), test::fdb_entry(1));
}

TEST(mirror, copies_by_a_list) {
    bridge_lab l(
        "acl:\n  - {name: telnet, rules: [{action: permit, protocol: tcp, "
        "destination_ports: 23, vlan: 9}]}\n" +
        ports(3) +
        "xconnects: [[p0, p1]]\n"
        "mirrors:\n  - {name: m, ports: [p0], list: telnet, sample: 2, to: p2}\n");
    byte_vector in_vlan = ip_frame(6, 23);
    const byte_vector tag{0x81, 0, 0x60, 9};
    in_vlan.insert(in_vlan.begin() + 12, tag.begin(), tag.end());
    for (const byte_vector& f : {ip_frame(6, 23), ip_frame(17, 23), in_vlan, tagged})
        EXPECT_EQ(l.send(0, f)[2].size(), 0U);
    EXPECT_EQ(l.send(1, in_vlan)[2], one(in_vlan)) << "the second frame that the list permits";
    // The device strips the tag: the list still sees it.
    for (int i = 0; i < 2; ++i) {
        rte_mbuf* const m = l.packet_of(without_tag(in_vlan));
        m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
        m->vlan_tci = 0x6009;
        ASSERT_TRUE(l.offer_packet(0, m));
    }
    l.settle();
    EXPECT_EQ(l.sent(2), one(in_vlan));
}

TEST(mirror, copies_by_a_list_of_layer_2) {
    bridge_lab l(
        "acl:\n  - {name: test, layer: 2, rules: [{action: permit, ethertype: 0x88b5, "
        "vlan: 9}]}\n" +
        ports(3) +
        "xconnects: [[p0, p1]]\n"
        "mirrors:\n  - {name: m, ports: [p0], list: test, to: p2}\n");
    EXPECT_EQ(l.send(0, tagged)[2], one(tagged));
    EXPECT_EQ(l.send(0, without_tag(tagged))[2].size(), 0U);
    EXPECT_EQ(l.send(1, ip_frame(6, 23))[2].size(), 0U);
}

/// Frames of a bridge, not frames of a VLAN interface of its port.
TEST(mirror, copies_the_frames_of_a_bridge) {
    bridge_lab l(ports(3) + bridge("{port: p0}, {port: p1}") +
                 "interfaces: [{port: p0, vlan: 7, addresses: [10.0.7.1/24]}]\n"
                 "mirrors:\n  - {name: m, bridge: lan, direction: in, to: p2}\n"
                 "  - {name: n, bridge: lan, direction: out, to: p2, to_vlan: 5}\n");
    const byte_vector f = frame(everybody, test::fdb_entry(1));
    byte_vector remote = f;
    const byte_vector tag{0x81, 0, 0, 5};
    remote.insert(remote.begin() + 12, tag.begin(), tag.end());
    EXPECT_EQ(l.send(0, f)[2], (std::vector<byte_vector>{f, remote}));
    byte_vector of_router = f;
    const byte_vector seven{0x81, 0, 0, 7};
    of_router.insert(of_router.begin() + 12, seven.begin(), seven.end());
    EXPECT_EQ(l.send(0, of_router)[2].size(), 0U);
    EXPECT_EQ(l.controller().mirroring().counted("m").packets, 1U);
    EXPECT_EQ(l.controller().mirroring().counted("n").packets, 1U);
    byte_vector service_tag = of_router;  // selects no VLAN of the port: the bridge forwards it
    service_tag[12] = 0x88, service_tag[13] = 0xa8;
    EXPECT_EQ(l.send(0, service_tag)[2].size(), 2U);
}

const std::string to_collector =
    "ports:\n  - {name: p0, device: d0, descriptors: 256}\n"
    "  - {name: p1, device: d1, descriptors: 256}\n"
    "  - {name: p2, device: d2, descriptors: 256, addresses: [10.0.9.1/24, \"2001:db8:9::1/64\"]}\n"
    "xconnects: [[p0, p1]]\n";
const std::string its_neighbours =
    "neighbours:\n  static:\n"
    "    - {address: 10.0.9.2, mac: \"02:00:00:00:00:99\"}\n"
    "    - {address: \"2001:db8:9::2\", mac: \"02:00:00:00:00:99\"}\n";

/// The rest of a frame behind its first `bytes`.
byte_vector after_headers(const byte_vector& f, size_t bytes) {
    return {f.begin() + static_cast<ptrdiff_t>(bytes), f.end()};
}

TEST(mirror, copies_to_an_address_in_erspan_type_2) {
    bridge_lab l(to_collector + its_neighbours +
                 "mirrors:\n  - {name: m, ports: [p0, p2], remote: 10.0.9.2, local: 10.0.9.1, "
                 "session: 1000}\n");
    const byte_vector plain = frame(test::fdb_entry(2), test::fdb_entry(1));
    // p2 announced its addresses: these frames were copied.
    const auto before = l.controller().mirroring().counted("m");
    const auto number = static_cast<uint8_t>(before.packets);
    std::vector<byte_vector> copies = l.send(0, plain)[2];
    ASSERT_EQ(copies.size(), 1U) << "and p2's copies are not copied";
    const byte_vector& got = copies[0];
    const byte_vector outer = {2,    0, 0, 0,  0, 0x99,   2, 0, 0,  0, 0, 0x0d, 8, 0,  //
                               0x45, 0, 0, 96, 0, number, 0, 0, 64, 47};
    EXPECT_EQ(byte_vector(got.begin(), got.begin() + 24), outer);
    const byte_vector rest = {10,   0, 9,    1,    10, 0, 9, 2,       // addresses
                              0x10, 0, 0x88, 0xbe, 0,  0, 0, number,  // GRE
                              0x10, 0, 0x03, 0xe8, 0,  0, 0, 0};      // ERSPAN: untagged, port 0 in
    EXPECT_EQ(byte_vector(got.begin() + 26, got.begin() + 50), rest);
    packet::native_sum sum;
    sum.add(got.data() + 14, 20);
    EXPECT_EQ(sum.folded(), 0xffff);
    EXPECT_EQ(after_headers(got, 50), plain);
    copies = l.send(1, tagged)[2];
    ASSERT_EQ(copies.size(), 1U);
    const auto next = static_cast<uint8_t>(number + 1);
    const byte_vector second = {
        0x10, 0, 0x88, 0xbe, 0, 0, 0, next,
        0x10, 9, 0x7b, 0xe8, 0, 0, 0, 1};  // VLAN 9, COS 3, tag in the frame, out
    EXPECT_EQ(byte_vector(copies[0].begin() + 34, copies[0].begin() + 50), second);
    EXPECT_EQ(after_headers(copies[0], 50), tagged);
    const auto n = l.controller().mirroring().counted("m");
    EXPECT_EQ(n.packets - before.packets, 2U);
    EXPECT_EQ(n.bytes - before.bytes, plain.size() + tagged.size());
    EXPECT_EQ(n.lost + n.unreachable, 0U);
}

TEST(mirror, copies_to_an_address_in_erspan_type_3) {
    bridge_lab l(to_collector + its_neighbours +
                 "mirrors:\n  - {name: m, ports: [p0], direction: in, length: 64, session: 5, "
                 "erspan_type: 3, remote: \"2001:db8:9::2\", local: \"2001:db8:9::1\"}\n");
    byte_vector longer = frame(test::fdb_entry(2), test::fdb_entry(1));
    longer.resize(300, 7);
    uint32_t before = 0;
    for (int i = 0; i < 2; ++i) {
        const auto copies = l.send(0, longer)[2];
        ASSERT_EQ(copies.size(), 1U);
        const byte_vector& got = copies[0];
        ASSERT_EQ(got.size(), 14U + 40 + 8 + 12 + 64);
        EXPECT_EQ(load_be<uint16_t>(&got[18]), 8 + 12 + 64) << "payload length";
        EXPECT_EQ(got[20], 47);
        EXPECT_EQ(got[21], 64) << "hop limit";
        EXPECT_EQ(load_be<uint16_t>(&got[56]), 0x22eb);
        EXPECT_EQ(load_be<uint32_t>(&got[58]), static_cast<uint32_t>(i)) << "sequence";
        EXPECT_EQ(load_be<uint32_t>(&got[62]), 0x2000'0405U) << "version 2, truncated, session 5";
        EXPECT_EQ(load_be<uint32_t>(&got[70]), 2U) << "in, units of 100 ns";
        const auto stamp = load_be<uint32_t>(&got[66]);
        if (i == 1) {
            EXPECT_GT(stamp - before, 0U);
            EXPECT_LT(stamp - before, 600'000'000U) << "a minute";
        }
        before = stamp;
        EXPECT_EQ(after_headers(got, 74), byte_vector(longer.begin(), longer.begin() + 64));
    }
}

TEST(mirror, copies_to_an_address_in_vxlan) {
    bridge_lab l(to_collector + its_neighbours +
                 "mirrors:\n  - {name: m, ports: [p0, p2], remote: 10.0.9.2, local: 10.0.9.1, "
                 "vni: 5000}\n");
    const byte_vector plain = frame(test::fdb_entry(2), test::fdb_entry(1));
    const auto before = l.controller().mirroring().counted("m");
    std::set<uint16_t> source_ports;
    for (const byte_vector& f : {plain, tagged, ip_frame(17, 53), ip_frame(17, 53)}) {
        const std::vector<byte_vector> copies = l.send(0, f)[2];
        ASSERT_EQ(copies.size(), 1U) << "and p2's copies are not copied";
        const byte_vector& got = copies[0];
        EXPECT_EQ(got[23], 17);
        EXPECT_EQ(load_be<uint16_t>(&got[16]), 20 + 8 + 8 + f.size());
        packet::native_sum sum;
        sum.add(got.data() + 14, 20);
        EXPECT_EQ(sum.folded(), 0xffff);
        EXPECT_GE(load_be<uint16_t>(&got[34]), 49152);
        source_ports.insert(load_be<uint16_t>(&got[34]));
        EXPECT_EQ(load_be<uint16_t>(&got[36]), 4789);
        EXPECT_EQ(load_be<uint16_t>(&got[38]), 8 + 8 + f.size());
        EXPECT_EQ(load_be<uint16_t>(&got[40]), 0) << "no checksum";
        const byte_vector vxlan = {8, 0, 0, 0, 0, 0x13, 0x88, 0};
        EXPECT_EQ(byte_vector(got.begin() + 42, got.begin() + 50), vxlan);
        EXPECT_EQ(after_headers(got, 50), f);
    }
    EXPECT_EQ(source_ports.size(), 2U) << "by MAC addresses, and by the IP flow";
    const auto n = l.controller().mirroring().counted("m");
    EXPECT_EQ(n.packets - before.packets, 4U);
    EXPECT_EQ(n.lost + n.unreachable, 0U);
}

/// Over IPv6 with a UDP checksum, of all lengths.
TEST(mirror, copies_to_an_address_in_vxlan_over_ipv6) {
    bridge_lab l(to_collector + its_neighbours +
                 "mirrors:\n  - {name: m, ports: [p0], direction: in, length: 1000, vni: 16777215, "
                 "udp_port: 8472, remote: \"2001:db8:9::2\", local: \"2001:db8:9::1\"}\n");
    for (const size_t bytes : {60U, 61U, 62U, 999U, 1000U, 1200U}) {
        byte_vector f = frame(test::fdb_entry(2), test::fdb_entry(1));
        f.resize(bytes, 7);
        const auto copies = l.send(0, f)[2];
        ASSERT_EQ(copies.size(), 1U);
        const byte_vector& got = copies[0];
        f.resize(std::min<size_t>(bytes, 1000));
        EXPECT_EQ(after_headers(got, 70), f);
        const auto udp_bytes = static_cast<uint16_t>(8 + 8 + f.size());
        EXPECT_EQ(load_be<uint16_t>(&got[18]), udp_bytes) << "payload length";
        EXPECT_EQ(got[20], 17);
        EXPECT_EQ(load_be<uint16_t>(&got[56]), 8472);
        EXPECT_EQ(load_be<uint32_t>(&got[66]), 0xffff'ff00U) << "VNI";
        EXPECT_NE(load_be<uint16_t>(&got[60]), 0);
        uint32_t sum = udp_bytes + 17;
        for (size_t i = 22; i < got.size(); i += 2)
            sum += uint32_t{got[i]} << 8 | (i + 1 < got.size() ? got[i + 1] : uint8_t{0});
        while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
        EXPECT_EQ(sum, 0xffffU);
    }
}

/// Copies longer than the path's MTU leave in fragments, which are no more copied than whole ones.
TEST(mirror, fragments_long_copies) {
    bridge_lab l(to_collector + its_neighbours +
                 "mirrors:\n  - {name: m, ports: [p0, p2], remote: 10.0.9.2, local: 10.0.9.1}\n");
    byte_vector longer = frame(test::fdb_entry(2), test::fdb_entry(1));
    longer.resize(1514, 7);
    const uint64_t before = l.controller().mirroring().counted("m").packets;
    const auto copies = l.send(0, longer)[2];
    ASSERT_EQ(copies.size(), 2U);
    byte_vector whole = after_headers(copies[0], 34);
    const byte_vector second = after_headers(copies[1], 34);
    whole.insert(whole.end(), second.begin(), second.end());
    EXPECT_EQ(after_headers(whole, 16), longer);
    EXPECT_EQ(l.controller().mirroring().counted("m").packets - before, 1U);
}

/// RFC 6864 section 4.3: fragments of copies of two mirrors to one address are not mixed up.
TEST(mirror, copies_of_two_mirrors_have_different_identifications) {
    const std::string to = ", direction: in, remote: 10.0.9.2, local: 10.0.9.1}\n";
    bridge_lab l(to_collector + its_neighbours + "mirrors:\n  - {name: m, ports: [p0]" + to +
                 "  - {name: n, ports: [p0]" + to);
    std::set<uint16_t> used;
    for (size_t sent = 0; sent < 3; ++sent) {
        const auto copies = l.send(0, frame(test::fdb_entry(2), test::fdb_entry(1)))[2];
        ASSERT_EQ(copies.size(), 2U);
        for (const byte_vector& copy : copies) used.insert(load_be<uint16_t>(&copy[18]));
    }
    EXPECT_EQ(used.size(), 6U);
}

/// The source of a copy is the router itself, which sends no ICMP error to itself.
TEST(mirror, copies_to_a_silent_neighbour_cause_no_icmp_errors) {
    bridge_lab l(to_collector +
                 "mirrors:\n  - {name: m, ports: [p0], direction: in, remote: 10.0.9.7, local: "
                 "10.0.9.1}\n");
    const byte_vector f = frame(test::fdb_entry(2), test::fdb_entry(1));
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(l.offer(0, f));
        l.settle();
        l.control(500);
        EXPECT_EQ(l.sent(1).size(), 1U);
    }
    EXPECT_GT(l.dropped(drop_reason::neighbour_failed), 0U);
    EXPECT_EQ(l.dropped(drop_reason::originated_no_route), 0U);
}

/// Without a route nothing is sent; while the neighbour is unknown, one copy of a burst waits for it, and is not mirrored when
/// it leaves.
TEST(mirror, counts_copies_without_a_path) {
    bridge_lab l(
        to_collector + its_neighbours +
        "mirrors:\n  - {name: far, ports: [p0], direction: in, remote: 192.0.2.1, local: "
        "10.0.9.1}\n"
        "  - {name: near, ports: [p0], direction: in, remote: 10.0.9.7, local: 10.0.9.1}\n"
        "  - {name: own, ports: [p2], direction: out, remote: 10.0.9.2, local: 10.0.9.1}\n");
    const auto counted = [&](const char* name) { return l.controller().mirroring().counted(name); };
    const byte_vector f = frame(test::fdb_entry(2), test::fdb_entry(1));
    const uint64_t before = counted("own").packets;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(l.offer(0, f));
    l.settle();
    EXPECT_EQ(l.sent(1).size(), 3U);
    EXPECT_EQ(counted("far").unreachable, 3U);
    EXPECT_EQ(counted("far").packets, 0U);
    EXPECT_EQ(counted("near").unreachable, 2U);
    EXPECT_EQ(counted("near").packets, 1U);
    EXPECT_EQ(l.dropped(drop_reason::mirror_unreachable), 5U);
    const auto asked = l.sent(2);
    ASSERT_EQ(asked.size(), 2U);
    const auto is_arp = [](const byte_vector& frame) {
        return load_be<uint16_t>(&frame[12]) == packet::ether_type_arp;
    };
    EXPECT_TRUE(is_arp(asked[0]) != is_arp(asked[1])) << "the ARP request, and its copy";
    // The collector answers, and the copy that waited leaves.
    byte_vector reply(46, 0);
    const byte_vector message = {0,  1, 8, 0, 6, 4, 0, 2, 2, 0,    0,  0, 0, 0x99,
                                 10, 0, 9, 7, 2, 0, 0, 0, 0, 0x0d, 10, 0, 9, 1};
    std::copy(message.begin(), message.end(), reply.begin());
    ASSERT_TRUE(l.offer(
        2, ethernet(packet::ether_type_arp, reply, {2, 0, 0, 0, 0, 0x0d}, {2, 0, 0, 0, 0, 0x99})));
    l.settle();
    const auto released = l.sent(2);
    ASSERT_EQ(released.size(), 1U);
    EXPECT_EQ(after_headers(released[0], 50), f);
    EXPECT_EQ(counted("own").packets - before, 1U) << "the request only";
}

}  // namespace
}  // namespace turnpike::datapath
