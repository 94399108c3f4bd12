// SPDX-License-Identifier: BSD-3-Clause
// ethdev's calls to the plug-in: filters, thresholds, queues, RSS, statistics, settings.
#include <rte_dev.h>
#include <rte_malloc.h>
#include <rte_memory.h>
#include <rte_thash.h>
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <set>

#include "base/byte_order.hpp"
#include "peer/simnic_port.hpp"

namespace turnpike {
namespace {

using test::burst, test::ring;

TEST(filter, takes_what_is_for_the_port) {
    const auto received = [](const char* to, auto prepare) {
        test::port b({.arguments = std::string("wire=gen,dst_mac=") + to, .promiscuous = false});
        prepare(b.id());
        b.start();
        rte_mbuf* m[burst];
        const uint16_t n = rte_eth_rx_burst(b.id(), 0, m, burst);
        rte_pktmbuf_free_bulk(m, n);
        EXPECT_EQ(b.xstats()["rx_filtered"], burst - n);
        return n;
    };
    const auto nothing = [](uint16_t) {};
    EXPECT_EQ(received("02:00:00:00:00:99", nothing), 0);
    EXPECT_EQ(received("02:00:00:00:00:99",
                       [](uint16_t id) { EXPECT_EQ(rte_eth_promiscuous_enable(id), 0); }),
              burst);
    EXPECT_EQ(received("02:00:00:00:00:99",
                       [](uint16_t id) {
                           rte_ether_addr own{{2, 0, 0, 0, 0, 0x99}};
                           EXPECT_EQ(rte_eth_dev_default_mac_addr_set(id, &own), 0);
                       }),
              burst);
    EXPECT_EQ(received("01:00:5e:00:00:05", nothing), 0);
    EXPECT_EQ(received("01:00:5e:00:00:05",
                       [](uint16_t id) { EXPECT_EQ(rte_eth_allmulticast_enable(id), 0); }),
              burst);
    EXPECT_EQ(received("01:00:5e:00:00:05",
                       [](uint16_t id) {
                           rte_ether_addr group{{1, 0, 0x5e, 0, 0, 5}};
                           EXPECT_EQ(rte_eth_dev_set_mc_addr_list(id, &group, 1), 0);
                       }),
              burst);
    EXPECT_EQ(received("ff:ff:ff:ff:ff:ff", nothing), burst);
}

uint16_t link_of(const test::port& b) {
    rte_eth_link link{};
    EXPECT_EQ(rte_eth_link_get_nowait(b.id(), &link), 0);
    return link.link_status;
}

/// Receives until no frame has come for a while, and at most one more burst than the ring has room.
std::vector<rte_mbuf*> receive_rest(const test::port& b) {
    std::vector<rte_mbuf*> left;
    for (uint32_t idle = 0; idle < 100'000 && left.size() <= ring; ++idle) {
        rte_mbuf* m[burst];
        const uint16_t n = rte_eth_rx_burst(b.id(), 0, m, burst);
        left.insert(left.end(), m, m + n);
        if (n != 0) idle = 0;
    }
    return left;
}

/// An unpaced generator fills every ring that there is; down, it adds nothing to it.
void expect_unplugged(const std::string& arguments) {
    test::port b({.arguments = "wire=gen" + arguments});
    b.start();
    const auto forwarded = static_cast<double>(b.forward(10'000));
    ASSERT_EQ(rte_eth_dev_set_link_down(b.id()), 0);
    EXPECT_EQ(link_of(b), RTE_ETH_LINK_DOWN);
    const auto at_down = b.xstats();
    auto left = receive_rest(b);
    EXPECT_LE(left.size(), ring);
    EXPECT_EQ(b.xstats()["gen_sent"], at_down.at("gen_sent"));

    rte_mbuf* m[burst];
    ASSERT_EQ(rte_pktmbuf_alloc_bulk(b.pool(), m, burst), 0);
    for (rte_mbuf* frame : m) std::memset(rte_pktmbuf_append(frame, 60), 0, 60);
    ASSERT_EQ(rte_eth_tx_burst(b.id(), 0, m, burst), burst);
    rte_pktmbuf_free_bulk(left.data(), static_cast<unsigned>(left.size()));
    auto c = b.xstats();
    // All frames that were sent, including the ones in the ring when the link went down.
    const double all = forwarded + burst;
    for (uint32_t i = 0; i < 1'000'000 && c["gen_received"] + c["link_tx_lost"] < all; ++i) {
        EXPECT_EQ(rte_eth_rx_burst(b.id(), 0, m, burst), 0);
        c = b.xstats();
    }
    EXPECT_GE(c["link_tx_lost"], burst);
    EXPECT_EQ(c["gen_received"] + c["link_tx_lost"], all);
    EXPECT_EQ(c["tx_good_packets"], all);
    EXPECT_EQ(c["gen_received"], at_down.at("gen_received"));
    EXPECT_EQ(c["gen_foreign"], 0);

    ASSERT_EQ(rte_eth_dev_set_link_up(b.id()), 0);
    EXPECT_EQ(link_of(b), RTE_ETH_LINK_UP);
    for (int round = 0; round < 1000 && b.xstats()["gen_received"] == c["gen_received"]; ++round)
        b.forward(10'000);
    EXPECT_GT(b.xstats()["gen_received"], c["gen_received"]);
    EXPECT_EQ(b.xstats()["link_tx_lost"], c["link_tx_lost"]);

    ASSERT_EQ(rte_eth_dev_set_link_down(b.id()), 0);
    b.stop();
    EXPECT_EQ(link_of(b), RTE_ETH_LINK_DOWN);
    b.start();
    EXPECT_EQ(link_of(b), RTE_ETH_LINK_UP) << "a start plugs it in";
}

TEST(link, that_is_down_brings_at_most_a_ring_more) { expect_unplugged(""); }
TEST(link, that_is_down_stops_a_device_with_its_own_thread) { expect_unplugged(",engine=thread"); }

TEST(thresholds, are_honoured) {
    constexpr double packets = 64 * 1024;
    test::port b({.arguments = "wire=gen", .rx_free_threshold = 128, .tx_rs_threshold = 64});
    b.start();
    b.forward(static_cast<uint64_t>(packets));
    const auto counts = b.xstats();
    EXPECT_NEAR(counts.at("pcie_tx_write_back_tlps_mwr") / packets, 1.0 / 64, 0.001);
    // One tail write per burst sent, one per 128 buffers posted.
    EXPECT_NEAR(counts.at("pcie_doorbells_lines_wil") / packets, 1.0 / burst + 1.0 / 128, 0.001);
    rte_eth_rxq_info rx{};
    rte_eth_txq_info tx{};
    ASSERT_EQ(rte_eth_rx_queue_info_get(b.id(), 0, &rx), 0);
    ASSERT_EQ(rte_eth_tx_queue_info_get(b.id(), 0, &tx), 0);
    EXPECT_EQ(rx.conf.rx_free_thresh, 128);
    EXPECT_EQ(rx.nb_desc, ring);
    EXPECT_EQ(rx.mp, b.pool());
    EXPECT_EQ(tx.conf.tx_rs_thresh, 64);
    EXPECT_EQ(tx.nb_desc, ring);
}

TEST(queues, share_the_flows_and_lose_nothing) {
    constexpr uint16_t queues = 4;
    constexpr uint32_t flows = 100, frames = 20'000;
    test::port b({.arguments = "wire=gen,rate=200k,l3flows=100,queues=4",
                  .queues = queues,
                  .rss_types = RTE_ETH_RSS_IPV4});
    b.start();
    std::map<uint32_t, std::set<uint16_t>> queues_of;  // by source address
    rte_mbuf* m[burst];
    for (uint32_t sent = 0, idle = 0; sent < frames && idle < 100'000'000; ++idle)
        for (uint16_t q = 0; q < queues; ++q) {
            const uint16_t n = rte_eth_rx_burst(b.id(), q, m, burst);
            for (uint16_t i = 0; i < n; ++i)
                queues_of[load_be<uint32_t>(rte_pktmbuf_mtod(m[i], const uint8_t*) + 26)].insert(q);
            const uint16_t out = rte_eth_tx_burst(b.id(), q, m, n);
            ASSERT_EQ(out, n);
            sent += out;
        }
    EXPECT_EQ(queues_of.size(), flows);
    for (const auto& [source, of] : queues_of) EXPECT_EQ(of.size(), 1u) << "flow " << source;
    auto counts = b.xstats();
    double received = 0, sent = 0;
    for (uint16_t q = 0; q < queues; ++q) {
        const std::string number = std::to_string(q);
        const double rx = counts["rx_q" + number + "_packets"],
                     tx = counts["tx_q" + number + "_packets"];
        EXPECT_GT(rx, frames / queues / 2) << "queue " << q;
        EXPECT_LE(rx - tx, ring) << "queue " << q << ": frames that wait in it";
        received += rx;
        sent += tx;
    }
    EXPECT_EQ(received, counts["rx_good_packets"]);
    EXPECT_EQ(counts["gen_received"], sent);
    // Queues overtake each other, so frames come back out of order, and frames still waiting in one
    // may seem lost.
    EXPECT_LE(counts["gen_lost"], received - sent);
    for (const char* bad : {"gen_duplicated", "gen_damaged", "rx_missed_errors",
                            "fault_translation", "fault_descriptor", "fault_tail"})
        EXPECT_EQ(counts[bad], 0) << bad;
}

/// Receives about `frames` from every queue and frees them; how many came to each.
std::vector<uint32_t> received_by_queue(const test::port& b, uint16_t queues, uint32_t frames) {
    std::vector<uint32_t> seen(queues, 0);
    rte_mbuf* m[burst];
    for (uint32_t all = 0, idle = 0; all < frames && idle < 1'000'000; ++idle)
        for (uint16_t q = 0; q < queues; ++q) {
            const uint16_t n = rte_eth_rx_burst(b.id(), q, m, burst);
            rte_pktmbuf_free_bulk(m, n);
            seen[q] += n;
            all += n;
        }
    return seen;
}

TEST(rss, hash_is_what_dpdk_computes) {
    test::port b({.arguments = "wire=gen,l3flows=64",
                  .rx_offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH,
                  .rss_types = RTE_ETH_RSS_NONFRAG_IPV4_UDP});
    uint8_t key[40];
    for (size_t i = 0; i < sizeof key; ++i) key[i] = static_cast<uint8_t>(i * 37 + 5);
    rte_eth_rss_conf conf{};
    conf.rss_key = key;
    conf.rss_key_len = sizeof key;
    conf.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_UDP;
    ASSERT_EQ(rte_eth_dev_rss_hash_update(b.id(), &conf), 0);
    uint8_t read_back[40] = {};
    conf.rss_key = read_back;
    ASSERT_EQ(rte_eth_dev_rss_hash_conf_get(b.id(), &conf), 0);
    EXPECT_EQ(std::memcmp(read_back, key, sizeof key), 0);
    EXPECT_EQ(conf.rss_hf, RTE_ETH_RSS_NONFRAG_IPV4_UDP);
    b.start();
    rte_mbuf* m[burst];
    ASSERT_EQ(rte_eth_rx_burst(b.id(), 0, m, burst), burst);
    for (rte_mbuf* one : m) {
        const auto* f = rte_pktmbuf_mtod(one, const uint8_t*);
        // Source, destination, ports: host-order words, as rte_softrss takes them.
        uint32_t tuple[3] = {load_be<uint32_t>(f + 26), load_be<uint32_t>(f + 30),
                             load_be<uint32_t>(f + 34)};
        EXPECT_NE(one->ol_flags & RTE_MBUF_F_RX_RSS_HASH, 0u);
        EXPECT_EQ(one->hash.rss, rte_softrss(tuple, 3, key));
    }
    rte_pktmbuf_free_bulk(m, burst);
    key[0] ^= 1;
    conf.rss_key = key;
    conf.rss_key_len = 39;
    EXPECT_NE(rte_eth_dev_rss_hash_update(b.id(), &conf), 0) << "a key has 40 bytes";
}

/// rte_eth_rss_conf: a null key is the default one in rte_eth_dev_configure(), and the current one in an update.
TEST(rss, key_is_the_default_one_after_a_configuration_without) {
    test::port b({.arguments = "wire=sink", .rss_types = RTE_ETH_RSS_IPV4});
    using hash_key = std::array<uint8_t, 40>;
    const auto key = [&] {
        hash_key out{};
        rte_eth_rss_conf conf{};
        conf.rss_key = out.data();
        conf.rss_key_len = sizeof out;
        EXPECT_EQ(rte_eth_dev_rss_hash_conf_get(b.id(), &conf), 0);
        return out;
    };
    const hash_key usual = key();
    hash_key other{1, 2, 3};
    rte_eth_rss_conf conf{};
    conf.rss_key = other.data();
    conf.rss_key_len = sizeof other;
    ASSERT_EQ(rte_eth_dev_rss_hash_update(b.id(), &conf), 0);
    EXPECT_EQ(key(), other);
    conf.rss_key = nullptr;
    ASSERT_EQ(rte_eth_dev_rss_hash_update(b.id(), &conf), 0);
    EXPECT_EQ(key(), other);
    b.configure(1);
    EXPECT_EQ(key(), usual);
    b.start();
}

TEST(rss, table_says_which_queue) {
    constexpr uint16_t queues = 4;
    test::port b({.arguments = "wire=gen,queues=4,rate=500k",
                  .queues = queues,
                  .rss_types = RTE_ETH_RSS_IPV4});
    rte_eth_rss_reta_entry64 table[2]{};
    for (auto& group : table) {
        group.mask = ~0ull;
        for (auto& queue : group.reta) queue = 2;
    }
    ASSERT_EQ(rte_eth_dev_rss_reta_update(b.id(), table, 128), 0);
    table[1].reta[5] = queues;
    EXPECT_NE(rte_eth_dev_rss_reta_update(b.id(), table, 128), 0) << "no such queue";
    EXPECT_NE(rte_eth_dev_rss_reta_update(b.id(), table, 64), 0) << "not the table's size";
    ASSERT_EQ(rte_eth_dev_rss_reta_query(b.id(), table, 128), 0);
    EXPECT_EQ(table[1].reta[5], 2);
    b.start();
    const auto seen = received_by_queue(b, queues, 2000);
    EXPECT_EQ(seen[0] + seen[1] + seen[3], 0u);
    EXPECT_GE(seen[2], 2000u);
}

TEST(queues, go_to_the_first_without_rss) {
    test::port b({.arguments = "wire=gen,queues=2,rate=500k", .queues = 2});
    b.start();
    EXPECT_EQ(received_by_queue(b, 2, 1000)[1], 0u);
}

TEST(queues, start_and_stop_alone) {
    constexpr uint16_t queues = 2;
    test::port b({.arguments = "wire=gen,queues=2,rate=500k",
                  .queues = queues,
                  .rss_types = RTE_ETH_RSS_IPV4,
                  .deferred_queue = 1});
    b.start();
    const auto states = [&b] {
        rte_eth_rxq_info rx{};
        rte_eth_txq_info tx{};
        EXPECT_EQ(rte_eth_rx_queue_info_get(b.id(), 1, &rx), 0);
        EXPECT_EQ(rte_eth_tx_queue_info_get(b.id(), 1, &tx), 0);
        return std::pair{rx.queue_state, tx.queue_state};
    };
    const std::pair<uint8_t, uint8_t> off{RTE_ETH_QUEUE_STATE_STOPPED, RTE_ETH_QUEUE_STATE_STOPPED};
    const std::pair<uint8_t, uint8_t> on{RTE_ETH_QUEUE_STATE_STARTED, RTE_ETH_QUEUE_STATE_STARTED};
    EXPECT_EQ(states(), off);
    EXPECT_EQ(received_by_queue(b, queues, 1000)[1], 0u);
    EXPECT_GT(b.xstats()["rx_missed_errors"], 0) << "the other half is lost";
    for (int round = 0; round < 100; ++round) {
        ASSERT_EQ(rte_eth_dev_rx_queue_start(b.id(), 1), 0);
        ASSERT_EQ(rte_eth_dev_tx_queue_start(b.id(), 1), 0);
        EXPECT_EQ(states(), on);
        EXPECT_GT(received_by_queue(b, queues, 200)[1], 0u);
        // Something posted and not yet freed, both ways.
        rte_mbuf* m[burst];
        uint16_t n = 0;
        while ((n = rte_eth_rx_burst(b.id(), 1, m, burst)) == 0) {
        }
        EXPECT_EQ(rte_eth_tx_burst(b.id(), 1, m, n), n);
        ASSERT_EQ(rte_eth_dev_rx_queue_stop(b.id(), 1), 0);
        ASSERT_EQ(rte_eth_dev_tx_queue_stop(b.id(), 1), 0);
        EXPECT_EQ(states(), off);
        EXPECT_EQ(rte_eth_rx_burst(b.id(), 1, m, burst), 0) << "stopped";
    }
    EXPECT_EQ(b.xstats()["fault_translation"], 0);
}

TEST(queues, are_set_up_before_a_start) {
    test::port b({.arguments = "wire=sink"});
    const rte_eth_conf conf{};
    for (const bool rx : {true, false}) {
        for (const uint16_t queues : std::initializer_list<uint16_t>{1, 2}) {
            ASSERT_EQ(rte_eth_dev_configure(b.id(), queues, queues, &conf), 0)
                << "1 releases the second";
        }
        for (uint16_t q = 0; q < 2; ++q) {
            if (q == 0 || rx) {
                EXPECT_EQ(rte_eth_rx_queue_setup(b.id(), q, ring, 0, nullptr, b.pool()), 0);
            }
            if (q == 0 || !rx) {
                EXPECT_EQ(rte_eth_tx_queue_setup(b.id(), q, ring, 0, nullptr), 0);
            }
        }
        ::testing::internal::CaptureStderr();
        EXPECT_EQ(rte_eth_dev_start(b.id()), -EINVAL);
        fflush(stderr);
        const std::string message = ::testing::internal::GetCapturedStderr();
        EXPECT_NE(message.find(rx ? "TX queue 1: was not set up" : "RX queue 1: was not set up"),
                  std::string::npos)
            << message;
    }
    b.configure(2);
    b.start();
}

/// ethdev permits it without another setup of the queues.
TEST(queues, free_as_the_port_is_configured_now) {
    test::port b({.arguments = "wire=sink", .tx_offloads = RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE});
    rte_eth_conf conf{};
    ASSERT_EQ(rte_eth_dev_configure(b.id(), 1, 1, &conf), 0);
    b.start();
    rte_mbuf* const shared = rte_pktmbuf_alloc(b.pool());
    rte_mbuf_refcnt_update(shared, 1);
    (void)rte_pktmbuf_append(shared, 60);
    rte_mbuf* m = shared;
    ASSERT_EQ(rte_eth_tx_burst(b.id(), 0, &m, 1), 1);
    for (uint32_t sent = 0; sent < 2 * ring && rte_mbuf_refcnt_read(shared) == 2;) {
        m = rte_pktmbuf_alloc(b.pool());
        ASSERT_NE(m, nullptr);
        (void)rte_pktmbuf_append(m, 60);
        while (rte_eth_tx_burst(b.id(), 0, &m, 1) == 0) {
        }
        ++sent;
    }
    EXPECT_EQ(rte_mbuf_refcnt_read(shared), 1);
    rte_pktmbuf_free(shared);
}

TEST(statistics, only_grow_until_they_are_reset) {
    test::port b({.arguments = "wire=gen", .rss_types = RTE_ETH_RSS_IPV4});
    std::map<std::string, double> before;
    for (const uint16_t queues : std::initializer_list<uint16_t>{1, 3, 2, 1}) {
        b.configure(queues);
        b.start();
        for (uint16_t q = 0; q < queues; ++q) b.forward(2000, q);
        b.stop();
        auto now = b.xstats();
        EXPECT_GT(now["pcie_lines_wil"], before["pcie_lines_wil"]);
        for (const auto& [name, value] : before)
            if (name.find("_q") == std::string::npos) {  // queues come and go
                EXPECT_GE(now[name], value) << name;
            }
        before = now;
    }
    ASSERT_EQ(rte_eth_xstats_reset(b.id()), 0);
    for (const auto& [name, value] : b.xstats()) EXPECT_EQ(value, 0) << name;
}

/// Frames that were lost when the counters were reset may arrive late.
TEST(statistics, fewer_lost_frames_than_at_the_reset_are_none) {
    test::port b({.arguments = "wire=gen"});
    b.start();
    rte_mbuf* m[3];
    for (rte_mbuf*& one : m) ASSERT_EQ(rte_eth_rx_burst(b.id(), 0, &one, 1), 1);
    const auto send = [&](rte_mbuf* one) { ASSERT_EQ(rte_eth_tx_burst(b.id(), 0, &one, 1), 1); };
    const auto lost = [&] {
        rte_mbuf* none = nullptr;
        (void)rte_eth_rx_burst(b.id(), 0, &none, 0);
        return b.xstats()["gen_lost"];
    };
    send(m[0]);
    send(m[2]);
    EXPECT_EQ(lost(), 1);
    ASSERT_EQ(rte_eth_xstats_reset(b.id()), 0);
    send(m[1]);
    EXPECT_EQ(lost(), 0);
    EXPECT_EQ(b.xstats()["gen_reordered"], 1);
}

/// Anonymous memory, registered with EAL without I/O addresses.
class application_memory {
  public:
    application_memory() {
        EXPECT_NE(at, MAP_FAILED);
        EXPECT_EQ(rte_extmem_register(at, bytes, nullptr, 0, 4096), 0);
    }
    ~application_memory() {
        EXPECT_EQ(rte_extmem_unregister(at, bytes), 0);
        munmap(at, bytes);
    }
    application_memory(const application_memory&) = delete;
    application_memory& operator=(const application_memory&) = delete;

    static constexpr size_t bytes = 1u << 20;
    void* const at =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
};

/// Send a frame in that memory, at its beginning, by an I/O address. Returns whether the device could read it.
bool is_sent(const test::port& b, const application_memory& memory, uint64_t iova) {
    rte_mbuf* m = rte_pktmbuf_alloc(b.pool());
    uint16_t room = 4096;
    auto* const shared = rte_pktmbuf_ext_shinfo_init_helper(
        memory.at, &room, [](void*, void*) {}, nullptr);
    rte_pktmbuf_attach_extbuf(m, memory.at, iova, room, shared);
    (void)rte_pktmbuf_append(m, 60);
    rte_eth_stats before{}, now{};
    EXPECT_EQ(rte_eth_stats_get(b.id(), &before), 0);
    EXPECT_EQ(rte_eth_tx_burst(b.id(), 0, &m, 1), 1);
    for (const uint64_t end = rte_rdtsc() + rte_get_tsc_hz(); rte_rdtsc() < end;) {
        rte_mbuf* none = nullptr;
        EXPECT_EQ(rte_eth_rx_burst(b.id(), 0, &none, 1), 0);  // lets the device work
        EXPECT_EQ(rte_eth_stats_get(b.id(), &now), 0);
        if (now.opackets + now.oerrors != before.opackets + before.oerrors) break;
    }
    EXPECT_EQ(now.opackets + now.oerrors, before.opackets + before.oerrors + 1);
    return now.opackets != before.opackets;
}

TEST(memory, of_the_application_has_its_virtual_addresses_and_mapped_ones) {
    const application_memory memory;
    test::port b({.arguments = "wire=sink"});
    b.start();
    rte_eth_dev_info info{};
    ASSERT_EQ(rte_eth_dev_info_get(b.id(), &info), 0);
    EXPECT_EQ(is_sent(b, memory, reinterpret_cast<uint64_t>(memory.at)),
              rte_eal_iova_mode() == RTE_IOVA_VA);
    constexpr uint64_t iova = 0x3'0000'0000'0000;  // neither a pointer nor a physical address
    EXPECT_FALSE(is_sent(b, memory, iova));
    ASSERT_EQ(rte_dev_dma_map(info.device, memory.at, iova, memory.bytes), 0);
    EXPECT_TRUE(is_sent(b, memory, iova));
    ASSERT_EQ(rte_dev_dma_unmap(info.device, memory.at, iova, memory.bytes), 0);
    EXPECT_FALSE(is_sent(b, memory, iova));
    EXPECT_NE(rte_dev_dma_unmap(info.device, memory.at, iova, memory.bytes), 0) << "not mapped";
}

TEST(settings, says_what_it_is) {
    test::port b({.arguments = "wire=sink,link=25,queues=7,mac=02:00:00:00:00:07"});
    rte_eth_dev_info info{};
    ASSERT_EQ(rte_eth_dev_info_get(b.id(), &info), 0);
    EXPECT_EQ(info.max_rx_queues, 7);
    EXPECT_EQ(info.max_mtu, 9710);
    rte_eth_link link{};
    EXPECT_EQ(rte_eth_link_get_nowait(b.id(), &link), 0);
    EXPECT_EQ(link.link_status, RTE_ETH_LINK_DOWN);
    b.start();
    EXPECT_EQ(rte_eth_link_get_nowait(b.id(), &link), 0);
    EXPECT_EQ(link.link_status, RTE_ETH_LINK_UP);
    EXPECT_EQ(link.link_speed, RTE_ETH_SPEED_NUM_25G);
    rte_ether_addr mac{};
    ASSERT_EQ(rte_eth_macaddr_get(b.id(), &mac), 0);
    EXPECT_EQ(mac.addr_bytes[5], 7);
    uint32_t types[32];
    EXPECT_GE(rte_eth_dev_get_supported_ptypes(b.id(), RTE_PTYPE_L4_MASK, types, 32), 4);
    rte_eth_burst_mode mode{};
    EXPECT_EQ(rte_eth_tx_burst_mode_get(b.id(), 0, &mode), 0);
    EXPECT_STRNE(mode.info, "");
}

TEST(settings, may_be_none) {
    for (const char* device : {"net_simnic7", "bus=vdev,name=net_simnic7"}) {
        EXPECT_EQ(rte_dev_probe(device), 0) << device;
        EXPECT_EQ(rte_vdev_uninit("net_simnic7"), 0);
    }
}

TEST(settings, refuses_what_it_cannot_do) {
    test::port b({.arguments = "wire=sink"});
    rte_eth_rxconf rx{};
    rx.rx_free_thresh = 33;
    EXPECT_EQ(rte_eth_rx_queue_setup(b.id(), 0, ring, 0, &rx, b.pool()), -EINVAL);
    rte_pktmbuf_extmem piece{.buf_ptr = rte_malloc(nullptr, 1 << 16, 0),
                             .buf_iova = 0,
                             .buf_len = 1 << 16,
                             .elt_size = 2304};
    rte_mempool* const pinned =
        rte_pktmbuf_pool_create_extbuf("pinned", 16, 0, 0, 2304, SOCKET_ID_ANY, &piece, 1);
    ASSERT_NE(pinned, nullptr);
    EXPECT_EQ(rte_eth_rx_queue_setup(b.id(), 0, ring, 0, nullptr, pinned), -EINVAL);
    rte_mempool_free(pinned);
    rte_free(piece.buf_ptr);
    rte_eth_txconf tx{};
    tx.tx_rs_thresh = 31;
    EXPECT_EQ(rte_eth_tx_queue_setup(b.id(), 0, ring, 0, &tx), -EINVAL);
    EXPECT_EQ(rte_eth_rx_queue_setup(b.id(), 0, ring, 0, nullptr, b.pool()), 0);
    EXPECT_EQ(rte_eth_tx_queue_setup(b.id(), 0, ring, 0, nullptr), 0);
    EXPECT_EQ(rte_eth_dev_set_mtu(b.id(), 2000), 0);
    EXPECT_EQ(rte_eth_dev_set_mtu(b.id(), 3000), -EINVAL) << "scattered receive is not on";
    EXPECT_NE(rte_vdev_init("net_simnic7", "wire=string"), 0);
    EXPECT_NE(rte_vdev_init("net_simnic7", "profile=mlx5"), 0);
}

}  // namespace
}  // namespace turnpike
