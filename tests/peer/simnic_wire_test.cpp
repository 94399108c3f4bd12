// SPDX-License-Identifier: BSD-3-Clause
// Bad lines, links that flap, and captures, as a program on the port sees them.
#include <stdlib.h>

#include <cstdio>
#include <cstring>
#include <filesystem>

#include "peer/simnic_port.hpp"

namespace turnpike {
namespace {

using test::burst;

/// Forwards until a poll receives nothing, so that no frame is in flight.
void forward_all_due(const test::port& b) {
    rte_mbuf* m[burst];
    for (uint16_t n = burst; n == burst;) {
        n = rte_eth_rx_burst(b.id(), 0, m, burst);
        ASSERT_EQ(rte_eth_tx_burst(b.id(), 0, m, n), n);
    }
}

TEST(bad_line, shows_in_the_ports_counters_exactly) {
    test::port b({.arguments = "wire=gen,rate=500k,loss=0.02,duplicate=0.03,reorder=0.04,"
                               "corrupt=0.05,delay=20,seed=5",
                  .rx_offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM});
    b.start();
    std::map<std::string, double> c;
    // A frame that is missing, late or hurt shows once a later one has come.
    const auto settled = [&c] {
        return c["gen_lost"] == c["impair_lost"] + c["impair_corrupted"] &&
               c["gen_damaged"] == c["impair_corrupted"] &&
               c["gen_duplicated"] == c["impair_duplicated"] &&
               c["gen_reordered"] == c["impair_reordered"];
    };
    for (int round = 0; round < 100'000 && !(c["impair_reordered"] > 500 && settled()); ++round) {
        forward_all_due(b);
        c = b.xstats();
    }
    EXPECT_TRUE(settled());
    for (const auto& [name, share] : {std::pair{"impair_lost", 0.02},
                                      {"impair_duplicated", 0.03},
                                      {"impair_reordered", 0.04},
                                      {"impair_corrupted", 0.05}})
        EXPECT_NEAR(c[name] / c["gen_sent"], share, share / 3) << name;
    EXPECT_EQ(c["rx_good_packets"], c["tx_good_packets"]);
    EXPECT_GE(c["impair_delayed"], c["rx_good_packets"]);
    EXPECT_EQ(c["gen_foreign"] + c["rx_missed_errors"], 0);
}

TEST(link, flaps_as_told) {
    test::port b({.arguments = "wire=gen,rate=100k,flap=3-2"});
    b.start();
    uint16_t seen[2] = {0, 0};
    rte_eth_link link{};
    std::map<std::string, double> c;
    for (int round = 0; round < 10'000'000 && c["link_flaps"] < 5; ++round) {
        forward_all_due(b);
        ASSERT_EQ(rte_eth_link_get_nowait(b.id(), &link), 0);
        seen[link.link_status] = 1;
        if (round % 64 == 0) c = b.xstats();
    }
    EXPECT_EQ(c["link_flaps"], 5);
    EXPECT_TRUE(seen[RTE_ETH_LINK_UP] && seen[RTE_ETH_LINK_DOWN]);
    EXPECT_GT(c["link_rx_lost"], 4 * 2 * 100 * 0.9);
    EXPECT_LE(c["gen_lost"], c["link_rx_lost"] + c["link_tx_lost"]);
    EXPECT_EQ(c["gen_damaged"] + c["gen_duplicated"] + c["gen_reordered"], 0);
}

TEST(link, vanishes_as_told) {
    test::port b({.arguments = "wire=gen,vanish=20"});
    rte_eth_dev_info info;
    ASSERT_EQ(rte_eth_dev_info_get(b.id(), &info), 0);
    EXPECT_NE(*info.dev_flags & RTE_ETH_DEV_INTR_RMV, 0U);
    b.start();
    EXPECT_EQ(rte_eth_dev_is_removed(b.id()), 0);
    rte_eth_link link{};
    ASSERT_EQ(rte_eth_link_get_nowait(b.id(), &link), 0);
    ASSERT_EQ(link.link_status, RTE_ETH_LINK_UP);
    const uint64_t deadline = rte_rdtsc() + 10 * rte_get_tsc_hz();
    while (link.link_status == RTE_ETH_LINK_UP && rte_rdtsc() < deadline) {
        forward_all_due(b);
        ASSERT_EQ(rte_eth_link_get_nowait(b.id(), &link), 0);
    }
    forward_all_due(b);
    const auto sent = b.xstats()["gen_sent"];
    EXPECT_GT(sent, 0);
    forward_all_due(b);
    EXPECT_EQ(b.xstats()["gen_sent"], sent);
    EXPECT_EQ(rte_eth_dev_is_removed(b.id()), 1);
    EXPECT_EQ(rte_eth_dev_set_link_up(b.id()), -EIO) << "ethdev's, of a removed device";
    ASSERT_EQ(rte_eth_dev_stop(b.id()), 0);
    EXPECT_EQ(rte_eth_dev_start(b.id()), -EIO);
}

TEST(captures, are_recorded_and_played_with_other_addresses) {
    std::string name = std::filesystem::temp_directory_path() / "turnpike-wire-XXXXXX";
    const std::filesystem::path folder = ::mkdtemp(name.data());
    const std::string file = folder / "sent.pcap";
    constexpr uint16_t frames = 20;
    std::vector<std::vector<uint8_t>> sent;
    {
        test::port from({.arguments = "wire=gen,size=64-200", .name = "net_simnic1"});
        test::port to({.arguments = "wire=record:" + file, .name = "net_simnic2"});
        from.start();
        to.start();
        rte_mbuf* m[frames];
        ASSERT_EQ(rte_eth_rx_burst(from.id(), 0, m, frames), frames);
        for (const rte_mbuf* one : m) {
            const auto* bytes = rte_pktmbuf_mtod(one, const uint8_t*);
            sent.emplace_back(bytes, bytes + one->data_len);
        }
        ASSERT_EQ(rte_eth_tx_burst(to.id(), 0, m, frames), frames);
        EXPECT_EQ(to.xstats()["record_written"], frames);
    }
    test::port player({.arguments = "wire=pcap:" + file + ",dst=10.0.0.1,rate=1M",
                       .rx_offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM});
    player.start();
    rte_mbuf* m = nullptr;
    for (uint32_t i = 0; i < 3 * frames; ++i) {
        while (rte_eth_rx_burst(player.id(), 0, &m, 1) == 0) {
        }
        const auto& expected = sent[i % frames];
        ASSERT_EQ(m->data_len, expected.size());
        EXPECT_EQ(m->ol_flags, RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD);
        const auto* bytes = rte_pktmbuf_mtod(m, const uint8_t*);
        EXPECT_EQ(std::memcmp(bytes + 30, "\x0a\0\0\x01", 4), 0);
        EXPECT_EQ(std::memcmp(bytes + 42, &expected[42], expected.size() - 42), 0);
        rte_pktmbuf_free(m);
    }
    EXPECT_GE(player.xstats()["pcap_loops"], 3);
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace turnpike
