// SPDX-License-Identifier: BSD-3-Clause
// One simnic with EAL, for the tests of the plug-in.
#pragma once

#include <gtest/gtest.h>
#include <rte_bus_vdev.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <map>
#include <string>
#include <vector>

#include "lib/any_cpu.hpp"

namespace turnpike::test {

inline constexpr uint16_t burst = 32, ring = 1024;

class eal_with_hugepages : public ::testing::Environment {
  public:
    void SetUp() override {
        std::vector<std::string> words{"test",           "--in-memory", "--no-pci",
                                       "--no-telemetry", any_cpu(),     "--log-level=4"};
        if (const char* mode = std::getenv("SIMNIC_TEST_IOVA")) words.push_back(mode);
        std::vector<char*> argv;
        for (auto& w : words) argv.push_back(w.data());
        ASSERT_GE(rte_eal_init(static_cast<int>(argv.size()), argv.data()), 0);
    }
    void TearDown() override { rte_eal_cleanup(); }
};
inline const auto* const environment = ::testing::AddGlobalTestEnvironment(new eal_with_hugepages);

struct port_settings {
    std::string arguments{};
    std::string name = "net_simnic0";
    uint16_t queues = 1;  ///< each way
    uint64_t tx_offloads = 0, rx_offloads = 0;
    uint16_t rx_free_threshold = 0, tx_rs_threshold = 0;  ///< 0: the driver's own
    uint64_t rss_types = 0;                               ///< of RTE_ETH_RSS_*
    uint16_t deferred_queue = UINT16_MAX;                 ///< starts by itself, both ways
    uint16_t mtu = 1500;
    bool small_buffers = false;  ///< of 2048 bytes, whatever the MTU
    bool promiscuous = true;
};

/// One simnic, with helpers to receive and send.
class port {
  public:
    explicit port(const port_settings& s) : s_(s) {
        EXPECT_EQ(rte_vdev_init(s.name.c_str(), s.arguments.c_str()), 0) << s.arguments;
        EXPECT_EQ(rte_eth_dev_get_port_by_name(s.name.c_str(), &id_), 0);
        pool_ = s.mtu > 2000 && !s.small_buffers
                    ? pool_of_pages()
                    : rte_pktmbuf_pool_create(s.name.c_str(), 8191, 256, 0,
                                              RTE_MBUF_DEFAULT_BUF_SIZE, 0);
        EXPECT_NE(pool_, nullptr);
        configure(s.queues);
        if (s.promiscuous) {
            EXPECT_EQ(rte_eth_promiscuous_enable(id_), 0);
        }
    }
    port(const port&) = delete;
    port& operator=(const port&) = delete;
    ~port() {
        for (rte_mbuf* m : kept_) rte_pktmbuf_free(m);
        EXPECT_EQ(rte_eth_dev_stop(id_), 0);
        EXPECT_EQ(rte_eth_dev_close(id_), 0);
        EXPECT_EQ(rte_mempool_in_use_count(pool_), 0u);
        rte_mempool_free(pool_);
        EXPECT_EQ(rte_vdev_uninit(s_.name.c_str()), 0);
    }

    /// Called while stopped; existing queues are released and set up anew.
    void configure(uint16_t queues) {
        rte_eth_conf conf{};
        conf.txmode.offloads = s_.tx_offloads;
        conf.rxmode.offloads = s_.rx_offloads;
        conf.rxmode.mtu = s_.mtu;
        conf.rxmode.mq_mode = s_.rss_types != 0 ? RTE_ETH_MQ_RX_RSS : RTE_ETH_MQ_RX_NONE;
        conf.rx_adv_conf.rss_conf.rss_hf = s_.rss_types;
        EXPECT_EQ(rte_eth_dev_configure(id_, queues, queues, &conf), 0);
        rte_eth_rxconf rx{};
        rx.rx_free_thresh = s_.rx_free_threshold;
        rte_eth_txconf tx{};
        tx.tx_rs_thresh = s_.tx_rs_threshold;
        tx.offloads = s_.tx_offloads;
        for (uint16_t q = 0; q < queues; ++q) {
            rx.rx_deferred_start = tx.tx_deferred_start = q == s_.deferred_queue;
            EXPECT_EQ(rte_eth_rx_queue_setup(id_, q, ring, 0, &rx, pool_), 0);
            EXPECT_EQ(rte_eth_tx_queue_setup(id_, q, ring, 0, &tx), 0);
        }
    }

    /// The model takes a buffer to lie within a page. Keep the buffers that do not.
    void hold_buffers_across_pages(uint32_t frame_bytes) {
        if (frame_bytes > 4096) return;  // pool_of_pages()
        std::vector<rte_mbuf*> good;
        while (rte_mbuf* m = rte_pktmbuf_alloc(pool_)) {
            const uint64_t in_page = (m->buf_iova + RTE_PKTMBUF_HEADROOM) % 4096;
            (in_page + frame_bytes <= 4096 ? good : kept_).push_back(m);
        }
        for (rte_mbuf* m : good) rte_pktmbuf_free(m);
    }
    void start() { ASSERT_EQ(rte_eth_dev_start(id_), 0); }
    void stop() { ASSERT_EQ(rte_eth_dev_stop(id_), 0); }

    /// Forward on a queue until `packets` have been sent. Answers the number that was sent.
    uint64_t forward(uint64_t packets, uint16_t queue = 0) {
        rte_mbuf* m[burst];
        uint64_t sent = 0;
        for (uint64_t idle = 0; sent < packets && idle < 1'000'000; ++idle) {
            const uint16_t n = rte_eth_rx_burst(id_, queue, m, burst);
            if (n == 0) continue;
            idle = 0;
            const uint16_t out = rte_eth_tx_burst(id_, queue, m, n);
            rte_pktmbuf_free_bulk(m + out, static_cast<unsigned>(n - out));
            sent += out;
        }
        return sent;
    }
    std::map<std::string, double> xstats() {
        const int n = rte_eth_xstats_get(id_, nullptr, 0);
        std::vector<rte_eth_xstat> values(static_cast<size_t>(n));
        std::vector<rte_eth_xstat_name> names(static_cast<size_t>(n));
        EXPECT_EQ(rte_eth_xstats_get(id_, values.data(), static_cast<unsigned>(n)), n);
        EXPECT_EQ(rte_eth_xstats_get_names(id_, names.data(), static_cast<unsigned>(n)), n);
        std::map<std::string, double> all;
        for (const auto& v : values) all[names[v.id].name] = static_cast<double>(v.value);
        return all;
    }
    [[nodiscard]] uint16_t id() const { return id_; }
    [[nodiscard]] rte_mempool* pool() const { return pool_; }

  private:
    /// Buffers for the largest frames, each of which begins at a page boundary.
    rte_mempool* pool_of_pages() const {
        constexpr uint32_t before = 64 + sizeof(rte_mbuf) + RTE_PKTMBUF_HEADROOM, object = 4 * 4096;
        constexpr uint32_t to_page = 4096 - before % 4096;
        rte_pktmbuf_pool_private room{};
        room.mbuf_priv_size = to_page;
        room.mbuf_data_room_size = object - 64 - sizeof(rte_mbuf) - to_page;
        return rte_mempool_create(s_.name.c_str(), 4095, object - 64, 256, sizeof room,
                                  rte_pktmbuf_pool_init, &room, rte_pktmbuf_init, nullptr, 0,
                                  RTE_MEMPOOL_F_NO_SPREAD);
    }

    const port_settings s_;
    uint16_t id_ = 0;
    rte_mempool* pool_ = nullptr;
    std::vector<rte_mbuf*> kept_{};
};

}  // namespace turnpike::test
