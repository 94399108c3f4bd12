// SPDX-License-Identifier: BSD-3-Clause
// UDP checksum offload of tunnels: offloaded checksums equal the software's, and the device's
// RX result is used where it is about the outer datagram.
#include <algorithm>
#include <memory>

#include "tunnel_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using datapath::drop_reason;

/// Devices with UDP checksum offload, in a port that enables it or does not.
class device_sums_lab {
  public:
    device_sums_lab(const std::string& of_up, const std::string& rest) {
        path_lab::devices_sum_udp = true;
        lab_ = std::make_unique<tunnel_lab>(underlay(of_up) + rest);
        path_lab::devices_sum_udp = false;
    }
    tunnel_lab* operator->() const { return lab_.get(); }
    tunnel_lab& operator*() const { return *lab_; }

  private:
    std::unique_ptr<tunnel_lab> lab_;
};
const std::string by_device = ", udp_checksums: device";
const std::string summing = "tunnels:\n" + one_tunnel("t3", "10.0.9.3", ", checksum: true") +
                            one_tunnel("t6", "2001:db8:9::2") +
                            bridge("{port: p0}, {port: p1}, {port: t3}, {port: t6}");

byte_vector sum_of_addresses(const byte_vector& frame, bool v4, uint16_t udp_bytes) {
    const std::span<const uint8_t> l3 = std::span(frame).subspan(14);
    const auto sum = packet::fold(
        packet::sum_bytes(v4 ? l3.subspan(12, 8) : l3.subspan(8, 32), 17U + udp_bytes));
    return be(static_cast<uint16_t>(sum));
}

/// Sends as devices do (rte_mbuf_core.h, RTE_MBUF_F_TX_UDP_CKSUM).
/// left  how many packets were left to it
byte_vector as_sent(rte_mbuf* m, uint32_t& left) {
    const uint64_t asks = m->ol_flags & (RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_IP_CKSUM);
    byte_vector out = path_lab::bytes_of(m);
    if (asks != 0) {
        ++left;
        const bool v4 = load_be<uint16_t>(&out.at(12)) == type4;
        EXPECT_EQ(asks, RTE_MBUF_F_TX_UDP_CKSUM);
        EXPECT_EQ(m->ol_flags & (RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6),
                  v4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6);
        EXPECT_EQ(m->l2_len, 14U);
        EXPECT_EQ(m->l3_len, v4 ? 20U : 40U);
        uint8_t* const udp = &out.at(v4 ? 34 : 54);
        const auto bytes = static_cast<uint16_t>(&*out.end() - udp);
        EXPECT_EQ(byte_vector(udp + 6, udp + 8), sum_of_addresses(out, v4, bytes));
        const auto sum = static_cast<uint16_t>(
            ~packet::fold(packet::sum_bytes(std::span(std::as_const(out)).subspan(v4 ? 34 : 54))));
        store_be<uint16_t>(udp + 6, sum == 0 ? 0xffff : sum);
    }
    rte_pktmbuf_free(m);
    return out;
}

std::vector<byte_vector> frames_for_both() {
    std::vector<byte_vector> out;
    for (uint16_t n = 0; n < 24; ++n)
        out.push_back(ethernet(type4,
                               ipv4({}, be(n) + be(uint16_t{53}) + be(uint16_t(28 + n * 50)) +
                                            be(uint16_t{0}) + counted(20 + n * 50U)),
                               fdb_entry(n % 2 == 0 ? 3 : 6), fdb_entry(1)));
    return out;
}

/// Stations 3 and 6 are behind the tunnels of these names; returns the frames sent by the underlay,
/// sorted.
std::vector<byte_vector> into_tunnels(tunnel_lab& l, uint32_t& left) {
    l.send(0, frame(everybody, fdb_entry(1)));
    l.send(2, in_ipv4(vxlan(frame(fdb_entry(1), fdb_entry(3))), {.source = three4}));
    l.send(2, in_ipv6(summed(vxlan(frame(fdb_entry(1), fdb_entry(6))), two6, us6)));
    for (const byte_vector& f : frames_for_both()) EXPECT_TRUE(l.offer(0, f));
    // In several buffers.
    const byte_vector whole = frames_for_both().back();
    rte_mbuf *head = l.packet_of(byte_vector(whole.begin(), whole.begin() + 601)),
             *tail = l.packet_of(byte_vector(whole.begin() + 601, whole.end()));
    EXPECT_EQ(rte_pktmbuf_chain(head, tail), 0);
    EXPECT_TRUE(l.offer_packet(0, head));
    l.settle();
    std::vector<byte_vector> out;
    while (rte_mbuf* const m = l.next_sent(2)) out.push_back(as_sent(m, left));
    std::sort(out.begin(), out.end());
    return out;
}

std::vector<byte_vector> by_software() {
    uint32_t left = 0;
    tunnel_lab software(underlay() + summing);
    auto out = into_tunnels(software, left);
    EXPECT_EQ(left, 0U);
    return out;
}

TEST(tunnel_device_sums, what_is_left_to_the_device_is_the_same_on_the_wire) {
    const auto wanted = by_software();
    EXPECT_EQ(wanted.size(), 25U);
    uint32_t left = 0;
    {
        device_sums_lab l(by_device, summing);
        EXPECT_EQ(into_tunnels(*l, left), wanted);
        EXPECT_EQ(left, 25U);
    }
    for (const char* of_up : {"", ", udp_checksums: software"}) {
        left = 0;
        device_sums_lab l(of_up, summing);
        EXPECT_EQ(into_tunnels(*l, left), wanted);
        EXPECT_EQ(left, 0U) << "it is not configured";
    }
    left = 0;
    tunnel_lab cannot(underlay(by_device) + summing);
    EXPECT_EQ(into_tunnels(cannot, left), wanted);
    EXPECT_EQ(left, 0U) << "it cannot";
}

/// Packets that pass the stages after lookup, which may classify, tag or fragment them, get their
/// checksums in software first.
TEST(tunnel_device_sums, what_is_not_sent_at_once_is_summed_here) {
    const std::string list = "acl:\n  - {name: all, default: permit, rules: [{action: permit}]}\n";
    uint32_t left = 0;
    const auto wanted = by_software();
    device_sums_lab judged(by_device + ", acl: {out: all}", list + summing);
    EXPECT_EQ(into_tunnels(*judged, left), wanted);
    EXPECT_EQ(left, 0U);
}

struct device_flags {
    uint64_t flags;
    uint32_t type = RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_UDP;
};
/// Returns whether p0 sent the frame; the device's checksum flags are then reset.
bool comes_out(tunnel_lab& l, const byte_vector& packet, const device_flags& by) {
    rte_mbuf* const m = l.packet_of(packet);
    m->ol_flags |= by.flags;
    m->packet_type = by.type;
    EXPECT_TRUE(l.offer_packet(2, m));
    l.settle();
    l.sent(1);
    rte_mbuf* const out = l.next_sent(0);
    if (out == nullptr) return false;
    EXPECT_EQ(out->ol_flags & (RTE_MBUF_F_RX_L4_CKSUM_MASK | RTE_MBUF_F_RX_OUTER_L4_CKSUM_MASK),
              0U);
    rte_pktmbuf_free(out);
    return true;
}

constexpr device_flags nothing{0}, good{RTE_MBUF_F_RX_L4_CKSUM_GOOD},
    bad{RTE_MBUF_F_RX_L4_CKSUM_BAD}, unfinished{RTE_MBUF_F_RX_L4_CKSUM_NONE},
    outer_good{RTE_MBUF_F_RX_L4_CKSUM_BAD | RTE_MBUF_F_RX_OUTER_L4_CKSUM_GOOD,
               RTE_PTYPE_L4_UDP | RTE_PTYPE_TUNNEL_VXLAN | RTE_PTYPE_INNER_L4_UDP},
    outer_bad{RTE_MBUF_F_RX_L4_CKSUM_GOOD | RTE_MBUF_F_RX_OUTER_L4_CKSUM_BAD,
              RTE_PTYPE_L4_UDP | RTE_PTYPE_TUNNEL_VXLAN | RTE_PTYPE_INNER_L4_UDP},
    outer_good_of_what{RTE_MBUF_F_RX_OUTER_L4_CKSUM_GOOD, RTE_PTYPE_UNKNOWN},
    // DPDK's net_ice and net_iavf, of a datagram that is no tunnel's to them
    // (ice_rxd_error_to_pkt_flags()).
    ice_good{RTE_MBUF_F_RX_L4_CKSUM_GOOD | RTE_MBUF_F_RX_OUTER_L4_CKSUM_GOOD},
    ice_bad{RTE_MBUF_F_RX_L4_CKSUM_BAD | RTE_MBUF_F_RX_OUTER_L4_CKSUM_GOOD},
    good_inside{RTE_MBUF_F_RX_L4_CKSUM_GOOD,
                RTE_PTYPE_L4_UDP | RTE_PTYPE_TUNNEL_VXLAN | RTE_PTYPE_INNER_L4_UDP},
    good_of_what{RTE_MBUF_F_RX_L4_CKSUM_GOOD, RTE_PTYPE_UNKNOWN};

byte_vector with_wrong_sum(byte_vector udp_packet) {
    udp_packet[6] ^= 0x55;
    return udp_packet;
}

/// By stage vxlan_fast, and, where a list is bound, by stage vxlan_input.
TEST(tunnel_device_sums, what_it_says_of_the_outer_datagram_is_believed) {
    const byte_vector f = frame(everybody, fdb_entry(9)), f6 = frame(everybody, fdb_entry(8)),
                      right4 = summed(vxlan(f), {10, 0, 9, 3}, {10, 0, 9, 1}),
                      right6 = summed(vxlan(f6), two6, us6), wrong4 = with_wrong_sum(right4),
                      wrong6 = with_wrong_sum(right6);
    const auto v4 = [](const byte_vector& udp) { return in_ipv4(udp, {.source = three4}); };
    const auto v6 = [](const byte_vector& udp) { return in_ipv6(udp); };
    for (const char* list : {"", ", acl: {in: all}"}) {
        device_sums_lab l(
            by_device + list,
            "acl:\n  - {name: all, default: permit, rules: [{action: permit}]}\n" + summing);
        for (const device_flags& any : {nothing, good, bad, unfinished, outer_good, outer_bad,
                                        good_inside, outer_good_of_what, ice_good, ice_bad})
            EXPECT_TRUE(comes_out(*l, v4(right4), any) && comes_out(*l, v6(right6), any));
        EXPECT_EQ(l->dropped(drop_reason::vxlan_checksum), 0U);
        for (const device_flags& enough : {good, outer_good, ice_good})
            EXPECT_TRUE(comes_out(*l, v4(wrong4), enough) && comes_out(*l, v6(wrong6), enough))
                << "summed here again";
        uint64_t drops = 0;
        for (const device_flags& not_enough : {nothing, bad, unfinished, outer_bad, good_inside,
                                               good_of_what, outer_good_of_what, ice_bad}) {
            EXPECT_FALSE(comes_out(*l, v4(wrong4), not_enough)) << not_enough.flags;
            EXPECT_FALSE(comes_out(*l, v6(wrong6), not_enough)) << not_enough.flags;
            EXPECT_EQ(l->dropped(drop_reason::vxlan_checksum), drops += 2);
        }
        // A datagram with a UDP length shorter than the packet; and one without a checksum, over
        // IPv6.
        EXPECT_FALSE(comes_out(*l, v4(wrong4 + zeros(8)), good));
        EXPECT_FALSE(comes_out(*l, v6(wrong6 + zeros(8)), good));
        EXPECT_FALSE(comes_out(*l, v6(vxlan(f6)), good));
        EXPECT_EQ(l->dropped(drop_reason::vxlan_checksum), drops + 3);
        EXPECT_TRUE(comes_out(*l, v4(vxlan(f)), bad)) << "there is none";
    }
    device_sums_lab not_asked("", summing);
    EXPECT_FALSE(comes_out(*not_asked, v4(wrong4), good)) << "its word was not asked for";
    EXPECT_EQ(not_asked->dropped(drop_reason::vxlan_checksum), 1U);
}

}  // namespace
}  // namespace turnpike
