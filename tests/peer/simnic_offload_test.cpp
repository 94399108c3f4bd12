// SPDX-License-Identifier: BSD-3-Clause
// What the device does to frames and sees in them: segments, checksums, VLAN tags.
#include <cstring>

#include "base/byte_order.hpp"
#include "peer/simnic_port.hpp"

namespace turnpike {
namespace {

using test::burst;

TEST(offloads, sends_segments_and_inserts_checksums) {
    test::port b({.arguments = "wire=gen,size=200,rate=1",
                  .tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM |
                                 RTE_ETH_TX_OFFLOAD_UDP_CKSUM});
    b.start();
    // A generated frame in three segments, with wrong checksums.
    rte_mbuf* got[1];
    while (rte_eth_rx_burst(b.id(), 0, got, 1) == 0) {
    }
    const auto* frame = rte_pktmbuf_mtod(got[0], const char*);
    const uint16_t cuts[] = {0, 20, 90, 196};
    rte_mbuf* parts[3];
    for (int i = 0; i < 3; ++i) {
        parts[i] = rte_pktmbuf_alloc(b.pool());
        const auto bytes = static_cast<uint16_t>(cuts[i + 1] - cuts[i]);
        std::memcpy(rte_pktmbuf_append(parts[i], bytes), frame + cuts[i], bytes);
    }
    rte_pktmbuf_mtod(parts[1], uint8_t*)[24 - 20] ^= 0xff;  // the IPv4 checksum
    rte_pktmbuf_mtod(parts[1], uint8_t*)[40 - 20] ^= 0xff;  // the UDP checksum
    ASSERT_EQ(rte_pktmbuf_chain(parts[1], parts[2]), 0);
    ASSERT_EQ(rte_pktmbuf_chain(parts[0], parts[1]), 0);
    parts[0]->l2_len = 14;
    parts[0]->l3_len = 20;
    parts[0]->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM;
    ASSERT_EQ(rte_eth_tx_burst(b.id(), 0, parts, 1), 1);
    const auto counts = b.xstats();
    EXPECT_EQ(counts.at("gen_received"), 1);
    EXPECT_EQ(counts.at("gen_damaged"), 0);
    EXPECT_EQ(counts.at("tx_good_bytes"), 196);
    rte_pktmbuf_free(got[0]);
    b.stop();
}

TEST(offloads, verifies_checksums_where_asked) {
    for (const uint64_t offloads : {uint64_t{0}, uint64_t{RTE_ETH_RX_OFFLOAD_CHECKSUM}}) {
        test::port b({.arguments = "wire=gen", .rx_offloads = offloads});
        b.start();
        rte_mbuf* m[burst];
        ASSERT_EQ(rte_eth_rx_burst(b.id(), 0, m, burst), burst);
        const uint64_t good =
            offloads == 0 ? 0 : RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
        for (rte_mbuf* one : m) {
            EXPECT_EQ(one->ol_flags, good);
            EXPECT_EQ(one->packet_type,
                      uint32_t{RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_UDP});
            EXPECT_EQ(one->port, b.id());
        }
        rte_pktmbuf_free_bulk(m, burst);
        b.stop();
    }
}

/// Sends a generated frame, changed by `prepare`, by one port, and receives it at another.
class over_a_cable {
  public:
    explicit over_a_cable(uint64_t rx_offloads, uint64_t tx_offloads = 0)
        : from_({.arguments = "wire=peer:net_simnic1",
                 .name = "net_simnic0",
                 .tx_offloads = tx_offloads}),
          to_({.arguments = "wire=peer:net_simnic0",
               .name = "net_simnic1",
               .rx_offloads = rx_offloads}) {
        for (test::port* p : {&gen_, &from_, &to_}) p->start();
    }
    ~over_a_cable() { rte_pktmbuf_free(got_); }

    template <class Prepare>
    const rte_mbuf* carry(Prepare prepare) {
        rte_pktmbuf_free(got_);
        got_ = nullptr;
        rte_mbuf* m = nullptr;
        while (rte_eth_rx_burst(gen_.id(), 0, &m, 1) == 0) {
        }
        prepare(m);
        EXPECT_EQ(rte_eth_tx_burst(from_.id(), 0, &m, 1), 1);
        for (int i = 0; i < 1000 && rte_eth_rx_burst(to_.id(), 0, &got_, 1) == 0; ++i) {
        }
        EXPECT_NE(got_, nullptr);
        return got_;
    }
    test::port& to() { return to_; }

  private:
    test::port gen_{{.arguments = "wire=gen,size=128", .name = "net_simnic2"}}, from_, to_;
    rte_mbuf* got_ = nullptr;
};

/// The verdict of the receiver on a frame with a damaged byte.
uint64_t judged(size_t hurt_at) {
    over_a_cable cable(RTE_ETH_RX_OFFLOAD_CHECKSUM);
    const rte_mbuf* got = cable.carry([hurt_at](rte_mbuf* m) {
        if (hurt_at != 0) rte_pktmbuf_mtod(m, uint8_t*)[hurt_at] ^= 0x10;
    });
    return got != nullptr ? got->ol_flags : 0;
}

TEST(offloads, tells_bad_checksums) {
    EXPECT_EQ(judged(0), RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD);
    EXPECT_EQ(judged(22), RTE_MBUF_F_RX_IP_CKSUM_BAD | RTE_MBUF_F_RX_L4_CKSUM_GOOD) << "TTL";
    EXPECT_EQ(judged(100), RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_BAD) << "payload";
}

/// A frame prepared for checksum offload: with the pseudo-header's sum in the field, and of any
/// length.
TEST(offloads, inserts_udp_checksums_over_ipv6) {
    over_a_cable cable(RTE_ETH_RX_OFFLOAD_UDP_CKSUM, RTE_ETH_TX_OFFLOAD_UDP_CKSUM);
    for (const uint16_t payload : {uint16_t{9}, uint16_t{40}, uint16_t{61}}) {
        uint16_t left = 0;
        const rte_mbuf* got = cable.carry([&](rte_mbuf* m) {
            const auto udp_bytes = static_cast<uint16_t>(8 + payload);
            auto* f = rte_pktmbuf_mtod(m, uint8_t*);
            store_be<uint16_t>(f + 12, RTE_ETHER_TYPE_IPV6);
            std::memset(f + 14, 0, 40);
            f[14] = 0x60;
            store_be(f + 18, udp_bytes);
            f[20] = 17;
            f[21] = 64;
            f[37] = 1;
            f[53] = 2;
            std::memmove(f + 54, f + 34, 4);
            store_be(f + 58, udp_bytes);
            left = static_cast<uint16_t>(1 + 2 + 17 + udp_bytes);
            store_be(f + 60, left);
            m->pkt_len = m->data_len = static_cast<uint16_t>(54 + udp_bytes);
            m->tx_offload = 0;
            m->l2_len = 14;
            m->l3_len = 40;
            m->ol_flags |= RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_UDP_CKSUM;
        });
        ASSERT_NE(got, nullptr);
        EXPECT_EQ(got->ol_flags, RTE_MBUF_F_RX_L4_CKSUM_GOOD) << payload;
        EXPECT_NE(load_be<uint16_t>(rte_pktmbuf_mtod(got, const uint8_t*) + 60), left);
    }
}

/// Puts a tag behind the addresses.
void tag(rte_mbuf* m, uint16_t type, uint16_t tci) {
    auto* f = reinterpret_cast<uint8_t*>(rte_pktmbuf_prepend(m, 4));
    ASSERT_NE(f, nullptr);
    std::memmove(f, f + 4, 12);
    store_be(f + 12, type);
    store_be(f + 14, tci);
}

TEST(vlan, is_taken_out_and_put_in) {
    over_a_cable cable(RTE_ETH_RX_OFFLOAD_VLAN_STRIP | RTE_ETH_RX_OFFLOAD_CHECKSUM,
                       RTE_ETH_TX_OFFLOAD_VLAN_INSERT);
    std::vector<uint8_t> plain;
    const auto record = [&plain](const rte_mbuf* m) {
        const auto* f = rte_pktmbuf_mtod(m, const uint8_t*);
        plain.assign(f, f + m->data_len);
    };
    const auto same = [&plain](const rte_mbuf* m) {
        return m->data_len == plain.size() &&
               std::memcmp(rte_pktmbuf_mtod(m, const void*), plain.data(), plain.size()) == 0;
    };
    constexpr uint64_t good = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
    constexpr uint64_t taken_out = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
    // Inserted by the sender's device, stripped by the receiver's.
    const rte_mbuf* got = cable.carry([&](rte_mbuf* m) {
        record(m);
        m->ol_flags |= RTE_MBUF_F_TX_VLAN;
        m->vlan_tci = 0x6123;
    });
    ASSERT_NE(got, nullptr);
    EXPECT_EQ(got->ol_flags, good | taken_out);
    EXPECT_EQ(got->vlan_tci, 0x6123);
    EXPECT_EQ(got->packet_type,
              uint32_t{RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_UDP});
    EXPECT_TRUE(same(got));
    // VLAN stripping removes the outer of two tags.
    got = cable.carry([&](rte_mbuf* m) {
        tag(m, RTE_ETHER_TYPE_VLAN, 7);
        record(m);
        tag(m, RTE_ETHER_TYPE_VLAN, 9);
    });
    ASSERT_NE(got, nullptr);
    EXPECT_EQ(got->ol_flags, good | taken_out);
    EXPECT_EQ(got->vlan_tci, 9);
    EXPECT_EQ(got->packet_type & RTE_PTYPE_L2_MASK, uint32_t{RTE_PTYPE_L2_ETHER_VLAN});
    EXPECT_TRUE(same(got));
    // A service tag stays: the descriptor could not say that it was one.
    got = cable.carry([&](rte_mbuf* m) {
        tag(m, RTE_ETHER_TYPE_QINQ, 9);
        record(m);
    });
    ASSERT_NE(got, nullptr);
    EXPECT_EQ(got->ol_flags, good);
    EXPECT_EQ(got->packet_type & RTE_PTYPE_L2_MASK, uint32_t{RTE_PTYPE_L2_ETHER_VLAN});
    EXPECT_TRUE(same(got));
    // ARP has a tag as well.
    got = cable.carry([&](rte_mbuf* m) {
        store_be<uint16_t>(rte_pktmbuf_mtod(m, uint8_t*) + 12, RTE_ETHER_TYPE_ARP);
        record(m);
        tag(m, RTE_ETHER_TYPE_VLAN, 5);
    });
    ASSERT_NE(got, nullptr);
    EXPECT_EQ(got->ol_flags, taken_out);
    EXPECT_EQ(got->packet_type, uint32_t{RTE_PTYPE_L2_ETHER_ARP});
    EXPECT_TRUE(same(got));
    // A frame without a tag is not changed.
    got = cable.carry(record);
    ASSERT_NE(got, nullptr);
    EXPECT_EQ(got->ol_flags, good);
    EXPECT_TRUE(same(got));
    // Switched off while it runs.
    ASSERT_EQ(rte_eth_dev_set_vlan_offload(cable.to().id(), 0), 0);
    got = cable.carry([&](rte_mbuf* m) {
        tag(m, RTE_ETHER_TYPE_VLAN, 7);
        tag(m, RTE_ETHER_TYPE_QINQ, 9);
        record(m);
    });
    ASSERT_NE(got, nullptr);
    EXPECT_EQ(got->ol_flags, good);
    EXPECT_EQ(got->packet_type & RTE_PTYPE_L2_MASK, uint32_t{RTE_PTYPE_L2_ETHER_QINQ});
    EXPECT_TRUE(same(got));
}

}  // namespace
}  // namespace turnpike
