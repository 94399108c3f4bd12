// SPDX-License-Identifier: BSD-3-Clause
// Frames longer than a buffer, frames that cannot be sent, and receive timestamps.
#include <rte_errno.h>
#include <rte_mbuf_dyn.h>

#include <cstring>
#include <set>

#include "base/byte_order.hpp"
#include "peer/simnic_port.hpp"

namespace turnpike {
namespace {

using test::burst;

test::port_settings jumbo(const std::string& profile, const std::string& more = "") {
    return {.arguments = "wire=gen,size=64-9018,profile=" + profile + more,
            .tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS,
            .rx_offloads = RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_CHECKSUM,
            .mtu = 9000,
            .small_buffers = true};
}

class scattered : public ::testing::TestWithParam<const char*> {};

TEST_P(scattered, frames_come_whole_and_go_back_whole) {
    constexpr uint32_t frames = 9'000;
    test::port b(jumbo(GetParam()));
    b.start();
    rte_mbuf* m[burst];
    std::map<uint16_t, uint32_t> by_segments;
    for (uint32_t done = 0, idle = 0; done < frames && idle < 1'000'000; ++idle) {
        const uint16_t n = rte_eth_rx_burst(b.id(), 0, m, burst);
        for (uint16_t i = 0; i < n; ++i) {
            ASSERT_EQ(rte_mbuf_check(m[i], 1, nullptr), 0);
            EXPECT_EQ(m[i]->nb_segs, (m[i]->pkt_len + 2047) / 2048);
            EXPECT_EQ(m[i]->ol_flags, RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD);
            EXPECT_EQ(m[i]->packet_type,
                      uint32_t{RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_UDP});
            ++by_segments[m[i]->nb_segs];
        }
        ASSERT_EQ(rte_eth_tx_prepare(b.id(), 0, m, n), n);
        const uint16_t out = rte_eth_tx_burst(b.id(), 0, m, n);
        rte_pktmbuf_free_bulk(m + out, static_cast<unsigned>(n - out));
        done += n;
    }
    EXPECT_EQ(by_segments.size(), 5u) << "1 to 5 buffers";
    b.stop();
    auto c = b.xstats();
    EXPECT_GE(c["rx_good_packets"], frames);
    EXPECT_EQ(c["gen_received"], c["tx_good_packets"]);
    for (const char* bad : {"gen_damaged", "gen_foreign", "gen_duplicated", "gen_reordered",
                            "rx_errors", "fault_translation", "fault_descriptor", "fault_tail"})
        EXPECT_EQ(c[bad], 0) << bad;
}

INSTANTIATE_TEST_SUITE_P(all, scattered,
                         ::testing::Values("ixgbe", "i40e", "ice", "e1000", "igb", "niantic-dpdk"),
                         [](const auto& p) {
                             std::string name = p.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

TEST(scattered, wait_for_all_the_buffers_they_take) {
    test::port b(jumbo("ixgbe", ",rate=50k"));
    b.start();
    // The host keeps received frames until the pool is empty: then frames are missed, none is
    // truncated.
    std::vector<rte_mbuf*> kept;
    for (int idle = 0; idle < 10'000; ++idle) {
        rte_mbuf* m[burst];
        const uint16_t n = rte_eth_rx_burst(b.id(), 0, m, burst);
        kept.insert(kept.end(), m, m + n);
        if (n != 0) idle = 0;
    }
    while (b.xstats()["rx_missed_errors"] < 100) {
        rte_mbuf* none = nullptr;
        ASSERT_EQ(rte_eth_rx_burst(b.id(), 0, &none, 1), 0);
    }
    rte_pktmbuf_free_bulk(kept.data(), static_cast<unsigned>(kept.size()));
    b.forward(1000);
    auto c = b.xstats();
    EXPECT_EQ(c["gen_damaged"] + c["gen_foreign"] + c["gen_reordered"] + c["rx_errors"], 0);
    EXPECT_GE(c["gen_received"], 1000);
}

/// The host keeps received frames until the pool and the ring are empty: descriptors of the lap before are still marked as done.
TEST(empty_pool, hands_no_buffer_over_twice) {
    for (const char* profile : {"ixgbe", "i40e", "igb"}) {
        test::port b({.arguments = "wire=gen,size=64,rate=1M,profile=" + std::string(profile)});
        b.start();
        b.forward(5 * test::ring);
        std::vector<rte_mbuf*> kept;
        std::set<rte_mbuf*> seen;
        for (int idle = 0; idle < 10'000; ++idle) {
            rte_mbuf* m[burst];
            const uint16_t n = rte_eth_rx_burst(b.id(), 0, m, burst);
            kept.insert(kept.end(), m, m + n);
            seen.insert(m, m + n);
            ASSERT_EQ(seen.size(), kept.size()) << profile;
            if (n != 0) idle = 0;
        }
        EXPECT_GT(kept.size(), size_t{test::ring});
        rte_pktmbuf_free_bulk(kept.data(), static_cast<unsigned>(kept.size()));
        b.forward(1000);
        auto c = b.xstats();
        for (const char* bad :
             {"gen_damaged", "gen_foreign", "gen_duplicated", "gen_reordered", "fault_descriptor"})
            EXPECT_EQ(c[bad], 0) << profile << " " << bad;
    }
}

TEST(scattered, buffers_lose_the_tag_too) {
    // First, to go last: the others send its buffers.
    auto gen_settings = jumbo("ixgbe");
    gen_settings.arguments = "wire=gen,size=4000-6200";
    gen_settings.name = "net_simnic2";
    test::port gen(gen_settings);
    test::port from({.arguments = "wire=peer:net_simnic1",
                     .name = "net_simnic0",
                     .tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_VLAN_INSERT,
                     .rx_offloads = RTE_ETH_RX_OFFLOAD_SCATTER,
                     .mtu = 9000,
                     .small_buffers = true});
    auto to_settings = jumbo("i40e");
    to_settings.arguments = "wire=peer:net_simnic0,profile=i40e";
    to_settings.name = "net_simnic1";
    to_settings.rx_offloads |= RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
    test::port to(to_settings);
    for (test::port* p : {&from, &to, &gen}) p->start();
    for (int round = 0; round < 2200; ++round) {
        rte_mbuf *m = nullptr, *got = nullptr;
        while (rte_eth_rx_burst(gen.id(), 0, &m, 1) == 0) {
        }
        std::vector<uint8_t> expected(m->pkt_len), received(m->pkt_len);
        const auto copied = [](const rte_mbuf* one, std::vector<uint8_t>& into) {
            const void* at = rte_pktmbuf_read(one, 0, one->pkt_len, into.data());
            if (at != into.data()) std::memcpy(into.data(), at, into.size());
        };
        copied(m, expected);
        m->ol_flags |= RTE_MBUF_F_TX_VLAN;
        m->vlan_tci = static_cast<uint16_t>(round);
        ASSERT_EQ(rte_eth_tx_burst(from.id(), 0, &m, 1), 1);
        for (int i = 0; i < 1000 && rte_eth_rx_burst(to.id(), 0, &got, 1) == 0; ++i) {
        }
        ASSERT_NE(got, nullptr);
        EXPECT_EQ(got->vlan_tci, round);
        ASSERT_EQ(got->pkt_len, expected.size());
        copied(got, received);
        EXPECT_EQ(received, expected);
        rte_pktmbuf_free(got);
    }
}

TEST(mtu, grows_beyond_a_buffer_while_the_port_is_stopped) {
    auto s = jumbo("ixgbe");
    s.mtu = 1500;
    test::port b(s);
    b.start();
    EXPECT_EQ(rte_eth_dev_set_mtu(b.id(), 2000), 0);
    EXPECT_EQ(rte_eth_dev_set_mtu(b.id(), 9000), -EBUSY);
    b.forward(32);
    b.stop();
    ASSERT_EQ(rte_eth_dev_set_mtu(b.id(), 9000), 0);
    ASSERT_EQ(rte_eth_xstats_reset(b.id()), 0);
    b.start();
    EXPECT_EQ(rte_eth_dev_set_mtu(b.id(), 9500), 0) << "they take several already";
    EXPECT_EQ(rte_eth_dev_set_mtu(b.id(), 9711), -EINVAL);
    b.forward(9000);
    EXPECT_EQ(b.xstats()["rx_errors"], 0);
}

/// The limit that the port advertises (nb_seg_max): a ring need not have room for more.
TEST(sending, refuses_more_segments_than_it_says) {
    test::port b({.arguments = "wire=sink", .tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS});
    b.start();
    rte_eth_dev_info info{};
    ASSERT_EQ(rte_eth_dev_info_get(b.id(), &info), 0);
    for (const unsigned segments : {unsigned{info.tx_desc_lim.nb_seg_max}, 33U, 120U}) {
        rte_mbuf* m = rte_pktmbuf_alloc(b.pool());
        (void)rte_pktmbuf_append(m, 60);
        for (unsigned i = 1; i < segments; ++i) {
            rte_mbuf* more = rte_pktmbuf_alloc(b.pool());
            (void)rte_pktmbuf_append(more, 60);
            ASSERT_EQ(rte_pktmbuf_chain(m, more), 0);
        }
        EXPECT_EQ(rte_eth_tx_prepare(b.id(), 0, &m, 1), segments == 32 ? 1 : 0) << segments;
        EXPECT_EQ(rte_eth_tx_burst(b.id(), 0, &m, 1), 1) << segments;
    }
    auto c = b.xstats();
    EXPECT_EQ(c["tx_refused_length"], 2);
    EXPECT_EQ(c["tx_good_packets"], 1);
}

TEST(sending, refuses_segmentation_and_what_is_too_long) {
    test::port b({.arguments = "wire=sink", .tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS});
    b.start();
    rte_mbuf* m[4];
    for (rte_mbuf*& one : m) {
        one = rte_pktmbuf_alloc(b.pool());
        (void)rte_pktmbuf_append(one, 1000);
    }
    m[1]->ol_flags |= RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV4;
    m[1]->tso_segsz = 500;
    for (int i = 0; i < 9; ++i) {
        rte_mbuf* more = rte_pktmbuf_alloc(b.pool());
        (void)rte_pktmbuf_append(more, 1000);
        ASSERT_EQ(rte_pktmbuf_chain(m[2], more), 0);
    }
    EXPECT_EQ(rte_eth_tx_prepare(b.id(), 0, m, 4), 1);
    EXPECT_EQ(rte_errno, ENOTSUP);
    EXPECT_EQ(rte_eth_tx_prepare(b.id(), 0, m + 2, 2), 0);
    EXPECT_EQ(rte_errno, EINVAL);
    EXPECT_EQ(rte_eth_tx_burst(b.id(), 0, m, 4), 4) << "taken, and two of them counted as refused";
    for (int round = 0; round < 2; ++round) {
        auto c = b.xstats();
        EXPECT_EQ(c["tx_refused_segmentation"], 1);
        EXPECT_EQ(c["tx_refused_length"], 1);
        EXPECT_EQ(c["tx_errors"], 2) << "both are ethdev's oerrors";
        EXPECT_EQ(c["tx_good_packets"], 2);
        EXPECT_EQ(c["fault_descriptor"], 0);
        b.stop();
        b.configure(1);  // new queues forget nothing
        b.start();
    }
    b.stop();
    rte_eth_conf conf{};
    conf.txmode.offloads = RTE_ETH_TX_OFFLOAD_TCP_TSO;
    EXPECT_EQ(rte_eth_dev_configure(b.id(), 1, 1, &conf), -EINVAL);
    b.configure(1);
    b.start();
}

TEST(timestamps, say_when_a_frame_came) {
    for (const char* profile : {"i40e", "ice"}) {
        test::port b({.arguments = std::string("wire=gen,rate=1M,profile=") + profile,
                      .rx_offloads = RTE_ETH_RX_OFFLOAD_TIMESTAMP});
        const int at = rte_mbuf_dynfield_lookup(RTE_MBUF_DYNFIELD_TIMESTAMP_NAME, nullptr);
        const int flag = rte_mbuf_dynflag_lookup(RTE_MBUF_DYNFLAG_RX_TIMESTAMP_NAME, nullptr);
        ASSERT_GE(at, 0);
        ASSERT_GE(flag, 0);
        b.start();
        uint64_t last = 0, distinct = 0;
        ASSERT_EQ(rte_eth_read_clock(b.id(), &last), 0);
        for (uint32_t got = 0; got < 5000;) {
            rte_mbuf* m[burst];
            const uint16_t n = rte_eth_rx_burst(b.id(), 0, m, burst);
            uint64_t now = 0;
            ASSERT_EQ(rte_eth_read_clock(b.id(), &now), 0);
            for (uint16_t i = 0; i < n; ++i) {
                EXPECT_NE(m[i]->ol_flags >> flag & 1, 0u);
                const auto came = *RTE_MBUF_DYNFIELD(m[i], at, rte_mbuf_timestamp_t*);
                EXPECT_GE(came, last);
                EXPECT_LE(came, now);
                distinct += came != last ? 1 : 0;
                last = came;
            }
            rte_pktmbuf_free_bulk(m, n);
            got += n;
        }
        EXPECT_GT(distinct, 100u);
    }
    test::port narrow({.arguments = "wire=gen,profile=ixgbe"});
    rte_eth_conf conf{};
    conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_TIMESTAMP;
    EXPECT_EQ(rte_eth_dev_configure(narrow.id(), 1, 1, &conf), -EINVAL) << "no room for a time";
    narrow.configure(1);
    narrow.start();
}

TEST(timestamps, are_of_the_device_s_own_clock) {
    test::port slow({.arguments = "wire=gen,rate=1M,profile=i40e,clock=1000000",
                     .rx_offloads = RTE_ETH_RX_OFFLOAD_TIMESTAMP});
    slow.start();
    uint64_t first = 0, now = 0;
    ASSERT_EQ(rte_eth_read_clock(slow.id(), &first), 0);
    const uint64_t began = rte_rdtsc();
    for (uint32_t got = 0; got < 5000;) {
        rte_mbuf* m[burst];
        const uint16_t n = rte_eth_rx_burst(slow.id(), 0, m, burst);
        ASSERT_EQ(rte_eth_read_clock(slow.id(), &now), 0);
        const int at = rte_mbuf_dynfield_lookup(RTE_MBUF_DYNFIELD_TIMESTAMP_NAME, nullptr);
        for (uint16_t i = 0; i < n; ++i) {
            const auto came = *RTE_MBUF_DYNFIELD(m[i], at, rte_mbuf_timestamp_t*);
            EXPECT_GE(came, first);
            EXPECT_LE(came, now);
        }
        rte_pktmbuf_free_bulk(m, n);
        got += n;
    }
    const double us =
        static_cast<double>(rte_rdtsc() - began) * 1e6 / static_cast<double>(rte_get_tsc_hz());
    EXPECT_NEAR(static_cast<double>(now - first), us, 2 + us / 100) << "microseconds";
}

}  // namespace
}  // namespace turnpike
