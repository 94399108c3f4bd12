// SPDX-License-Identifier: BSD-3-Clause
// The plug-in under a forwarding loop, with EAL: what the device counted is what lib/pcie models, no
// buffer is lost over restarts, and every frame comes back as it was sent.
#include <gtest/gtest.h>
#include <rte_bus_vdev.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "pcie/cost.hpp"

namespace turnpike {
namespace {

constexpr uint16_t burst = 32, ring = 1024;

class eal_with_hugepages : public ::testing::Environment {
  public:
    void SetUp() override {
        std::vector<std::string> words{"test", "--in-memory", "--no-pci",     "--no-telemetry",
                                       "-l",   "0",           "--log-level=4"};
        if (const char* mode = std::getenv("SIMNIC_TEST_IOVA")) words.push_back(mode);
        std::vector<char*> argv;
        for (auto& w : words) argv.push_back(w.data());
        ASSERT_GE(rte_eal_init(static_cast<int>(argv.size()), argv.data()), 0);
    }
    void TearDown() override { rte_eal_cleanup(); }
};
const auto* const environment = ::testing::AddGlobalTestEnvironment(new eal_with_hugepages);

/// One simnic that generates, received from and sent to.
class bench {
  public:
    explicit bench(const std::string& arguments, uint64_t tx_offloads = 0,
                   uint64_t rx_offloads = 0) {
        EXPECT_EQ(rte_vdev_init("net_simnic0", arguments.c_str()), 0) << arguments;
        EXPECT_EQ(rte_eth_dev_get_port_by_name("net_simnic0", &port_), 0);
        pool_ = rte_pktmbuf_pool_create("bench", 8191, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
        EXPECT_NE(pool_, nullptr);
        rte_eth_conf conf{};
        conf.txmode.offloads = tx_offloads;
        conf.rxmode.offloads = rx_offloads;
        EXPECT_EQ(rte_eth_dev_configure(port_, 1, 1, &conf), 0);
        EXPECT_EQ(rte_eth_rx_queue_setup(port_, 0, ring, 0, nullptr, pool_), 0);
        EXPECT_EQ(rte_eth_tx_queue_setup(port_, 0, ring, 0, nullptr), 0);
        EXPECT_EQ(rte_eth_promiscuous_enable(port_), 0);
    }
    bench(const bench&) = delete;
    bench& operator=(const bench&) = delete;
    ~bench() {
        for (rte_mbuf* m : kept_) rte_pktmbuf_free(m);
        EXPECT_EQ(rte_eth_dev_close(port_), 0);
        EXPECT_EQ(rte_mempool_in_use_count(pool_), 0u);
        rte_mempool_free(pool_);
        EXPECT_EQ(rte_vdev_uninit("net_simnic0"), 0);
    }

    /// The model takes a buffer to lie within a page. Keep the buffers that do not.
    void keep_buffers_across_pages(uint32_t frame_bytes) {
        std::vector<rte_mbuf*> good;
        while (rte_mbuf* m = rte_pktmbuf_alloc(pool_)) {
            const uint64_t in_page = (m->buf_iova + RTE_PKTMBUF_HEADROOM) % 4096;
            (in_page + frame_bytes <= 4096 ? good : kept_).push_back(m);
        }
        for (rte_mbuf* m : good) rte_pktmbuf_free(m);
    }
    void start() { ASSERT_EQ(rte_eth_dev_start(port_), 0); }
    void stop() { ASSERT_EQ(rte_eth_dev_stop(port_), 0); }

    /// Forward until `packets` have been sent.
    void forward(uint64_t packets) {
        rte_mbuf* m[burst];
        for (uint64_t sent = 0, idle = 0; sent < packets && idle < 1'000'000; ++idle) {
            const uint16_t n = rte_eth_rx_burst(port_, 0, m, burst);
            if (n == 0) continue;
            idle = 0;
            const uint16_t out = rte_eth_tx_burst(port_, 0, m, n);
            rte_pktmbuf_free_bulk(m + out, static_cast<unsigned>(n - out));
            sent += out;
        }
    }
    std::map<std::string, double> xstats() {
        const int n = rte_eth_xstats_get(port_, nullptr, 0);
        std::vector<rte_eth_xstat> values(static_cast<size_t>(n));
        std::vector<rte_eth_xstat_name> names(static_cast<size_t>(n));
        EXPECT_EQ(rte_eth_xstats_get(port_, values.data(), static_cast<unsigned>(n)), n);
        EXPECT_EQ(rte_eth_xstats_get_names(port_, names.data(), static_cast<unsigned>(n)), n);
        std::map<std::string, double> all;
        for (const auto& v : values) all[names[v.id].name] = static_cast<double>(v.value);
        return all;
    }
    [[nodiscard]] uint16_t port() const { return port_; }
    [[nodiscard]] rte_mempool* pool() const { return pool_; }

  private:
    uint16_t port_ = 0;
    rte_mempool* pool_ = nullptr;
    std::vector<rte_mbuf*> kept_{};
};

std::map<std::string, double> named(const pcie::transactions_per_packet& t) {
    return {{"lines_rd_cur", t.lines.rd_cur}, {"lines_itom", t.lines.itom},
            {"lines_rfo", t.lines.rfo},       {"lines_wil", t.lines.wil},
            {"lines_prd", t.lines.prd},       {"tlps_mrd", t.tlps.mrd},
            {"tlps_mwr", t.tlps.mwr},         {"tlps_cpld", t.tlps.cpld},
            {"bytes_up", t.bytes.up},         {"bytes_down", t.bytes.down}};
}

using cell = std::tuple<const char*, uint32_t>;
class bill : public ::testing::TestWithParam<cell> {};

TEST_P(bill, counted_is_modelled_within_1_percent) {
    const auto& [profile, frame_bytes] = GetParam();
    const double packets = 200 * ring;
    std::map<std::string, double> counted;
    {
        bench b("wire=gen,profile=" + std::string(profile) +
                ",size=" + std::to_string(frame_bytes));
        b.keep_buffers_across_pages(frame_bytes);
        b.start();
        b.forward(10 * ring);
        auto before = b.xstats();
        b.forward(static_cast<uint64_t>(packets));
        counted = b.xstats();
        for (auto& [name, value] : counted) value -= before[name];
        b.stop();
        for (const char* bad : {"gen_lost", "gen_duplicated", "gen_reordered", "gen_damaged",
                                "fault_translation", "fault_descriptor", "fault_tail"})
            EXPECT_EQ(counted[bad], 0) << bad;
    }
    // A device that fetches full batches has not sent the last of them yet.
    ASSERT_NEAR(counted["tx_good_packets"], packets, 64);
    const auto profile_found = pcie::find_profile(profile);
    const auto modelled =
        pcie::cost(*profile_found, pcie::link{}, {.frames = {{frame_bytes}}, .burst = burst});
    ASSERT_TRUE(modelled.has_value());
    const pcie::direction_bill both = modelled->combined();
    for (const auto& [name, value] : named(both.total())) {
        const double per_packet = counted["pcie_" + name] / packets;
        EXPECT_NEAR(per_packet, value, 0.01 * value) << name;
    }
    // By purpose, a coarser net: a ring's end cuts some fetches and answers in two.
    for (size_t p = 0; p < both.by_purpose.size(); ++p)
        for (const auto& [name, value] : named(both.by_purpose[p])) {
            const std::string purpose(pcie::purpose_names[p]);
            const double per_packet = counted["pcie_" + purpose + "_" + name] / packets;
            EXPECT_NEAR(per_packet, value, 0.03 * value) << purpose << " " << name;
        }
}

INSTANTIATE_TEST_SUITE_P(all, bill,
                         ::testing::Combine(::testing::Values("ixgbe", "i40e", "ice", "e1000",
                                                              "igb", "niantic-dpdk"),
                                            ::testing::Values(64u, 128u, 256u, 512u, 1024u, 1518u)),
                         [](const auto& p) {
                             std::string name = std::get<0>(p.param) +
                                                ("_" + std::to_string(std::get<1>(p.param)));
                             for (char& c : name)
                                 if (c == '-') c = '_';
                             return name;
                         });

class restart : public ::testing::TestWithParam<const char*> {};

TEST_P(restart, a_thousand_times_leaks_nothing) {
    bench b(GetParam());
    for (int i = 0; i < 1000; ++i) {
        b.start();
        b.forward(static_cast<uint64_t>(i) % 100);
        b.stop();
        ASSERT_EQ(rte_mempool_in_use_count(b.pool()), 0u) << "after restart " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(all, restart,
                         ::testing::Values("wire=gen", "wire=gen,engine=thread,profile=i40e",
                                           "wire=gen,profile=niantic-dpdk,size=64-1518"),
                         [](const auto& p) { return "device" + std::to_string(p.index); });

TEST(offloads, sends_segments_and_inserts_checksums) {
    bench b("wire=gen,size=200,rate=1", RTE_ETH_TX_OFFLOAD_MULTI_SEGS |
                                            RTE_ETH_TX_OFFLOAD_IPV4_CKSUM |
                                            RTE_ETH_TX_OFFLOAD_UDP_CKSUM);
    b.start();
    // A generated frame, cut in three, its checksums destroyed.
    rte_mbuf* got[1];
    while (rte_eth_rx_burst(b.port(), 0, got, 1) == 0) {
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
    ASSERT_EQ(rte_eth_tx_burst(b.port(), 0, parts, 1), 1);
    const auto counts = b.xstats();
    EXPECT_EQ(counts.at("gen_received"), 1);
    EXPECT_EQ(counts.at("gen_damaged"), 0);
    EXPECT_EQ(counts.at("tx_good_bytes"), 196);
    rte_pktmbuf_free(got[0]);
    b.stop();
}

TEST(offloads, verifies_checksums_where_asked) {
    for (const uint64_t offloads : {uint64_t{0}, uint64_t{RTE_ETH_RX_OFFLOAD_CHECKSUM}}) {
        bench b("wire=gen", 0, offloads);
        b.start();
        rte_mbuf* m[burst];
        ASSERT_EQ(rte_eth_rx_burst(b.port(), 0, m, burst), burst);
        const uint64_t good =
            offloads == 0 ? 0 : RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
        for (rte_mbuf* one : m) {
            EXPECT_EQ(one->ol_flags, good);
            EXPECT_EQ(one->packet_type,
                      uint32_t{RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_UDP});
            EXPECT_EQ(one->port, b.port());
        }
        rte_pktmbuf_free_bulk(m, burst);
        b.stop();
    }
}

TEST(settings, refuses_what_it_cannot_do) {
    bench b("wire=sink");
    rte_eth_rxconf rx{};
    rx.rx_free_thresh = 33;
    EXPECT_EQ(rte_eth_rx_queue_setup(b.port(), 0, ring, 0, &rx, b.pool()), -EINVAL);
    rte_eth_txconf tx{};
    tx.tx_rs_thresh = 31;
    EXPECT_EQ(rte_eth_tx_queue_setup(b.port(), 0, ring, 0, &tx), -EINVAL);
    EXPECT_EQ(rte_eth_rx_queue_setup(b.port(), 0, ring, 0, nullptr, b.pool()), 0);
    EXPECT_EQ(rte_eth_tx_queue_setup(b.port(), 0, ring, 0, nullptr), 0);
    EXPECT_EQ(rte_eth_dev_set_mtu(b.port(), 2000), 0);
    EXPECT_EQ(rte_eth_dev_set_mtu(b.port(), 3000), -EINVAL) << "no scattered receive";
    EXPECT_NE(rte_vdev_init("net_simnic7", "wire=string"), 0);
    EXPECT_NE(rte_vdev_init("net_simnic7", "profile=mlx5"), 0);
}

}  // namespace
}  // namespace turnpike
