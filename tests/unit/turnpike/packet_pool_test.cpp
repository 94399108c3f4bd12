// SPDX-License-Identifier: BSD-3-Clause
// The mbuf pool: its default size, sizes that are refused, and its
// exhaustion.
#include "control/forwarding/packet_pool.hpp"

#include <ethdev_driver.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/eal.hpp"
#include "lib/path_lab.hpp"

namespace turnpike {
namespace {

using namespace test;

/// Ports of so many receive queues with so many descriptors, and no `mempool`.
struct queues {
    unsigned ports = 1, rx_queues = 1, descriptors = 1024, workers = 1;
};
state::configuration wanted_of(const queues& of) {
    std::string text = "ports:\n";
    for (unsigned p = 0; p < of.ports; ++p) {
        const std::string n = std::to_string(p);
        text += "  - {name: p" + n + ", device: d" + n + ", addresses: [10.0." + n +
                ".1/24], rx_queues: " + std::to_string(of.rx_queues) +
                ", descriptors: " + std::to_string(of.descriptors) + "}\n";
    }
    state::configuration wanted = taken(sources::load_text(text, "pool.yaml"));
    wanted.fixed.pool.ops = "ring_mp_mc";
    wanted.fixed.pool.buffer_size = 256;  // so many of them take little memory
    return wanted;
}

/// The maximum of buffers in use: every descriptor of every queue (a worker has a TX queue at each
/// port), the mempool caches of control and workers before they flush, bursts in progress, packets
/// that wait to be sent together, and the rings between workers and control.
uint64_t max_out(const queues& of, const rte_mempool& pool) {
    const uint64_t kept = pool.local_cache[rte_lcore_id()].flushthresh;
    EXPECT_GE(kept, pool.cache_size);
    return uint64_t{of.ports} * (of.rx_queues + of.workers) * of.descriptors +
           (of.workers + 1) * kept +
           of.workers * (datapath::burst_max + of.ports * rxtx::tx_queue::burst +
                         control::control_ring_packets);
}

class default_pool : public ::testing::TestWithParam<queues> {};

TEST_P(default_pool, holds_all_that_can_be_out_while_neighbours_hold_a_quarter) {
    const auto made = control::make_packet_pool(wanted_of(GetParam()), GetParam().workers);
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_GE((*made)->size - (*made)->size / 4, max_out(GetParam(), **made));
    rte_mempool_free(*made);
}

INSTANTIATE_TEST_SUITE_P(
    packet_pool, default_pool,
    ::testing::Values(queues{}, queues{.rx_queues = 4, .descriptors = 4096, .workers = 4},
                      queues{.ports = 4, .descriptors = 4096, .workers = 2},
                      queues{.ports = 4, .rx_queues = 4, .descriptors = 2048, .workers = 4},
                      queues{.ports = 4, .rx_queues = 1, .descriptors = 1024, .workers = 12},
                      queues{.descriptors = 64, .workers = 40}),  // caches more than rings
    [](const auto& row) {
        const queues& q = row.param;
        return std::to_string(q.ports) + "_ports_" + std::to_string(q.rx_queues) + "_queues_" +
               std::to_string(q.descriptors) + "_descriptors_" + std::to_string(q.workers) +
               "_workers";
    });

TEST(packet_pool, as_many_as_the_configuration_says) {
    state::configuration wanted = wanted_of({});
    wanted.fixed.pool.buffers = 3000;
    const auto made = control::make_packet_pool(wanted, 1);
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_EQ((*made)->size, 3000U);
    rte_mempool_free(*made);
}

TEST(packet_pool, fewer_than_receive_rings_hold_are_refused_with_both_numbers) {
    state::configuration wanted = wanted_of({.ports = 4, .rx_queues = 4, .descriptors = 2048});
    constexpr uint32_t least = 4 * 4 * 2048 + 256;  // and one mempool cache
    wanted.fixed.pool.buffers = least - 1;
    const auto refused =
        control::controller::create(std::make_unique<const state::configuration>(wanted));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EINVAL);
    const std::string error_text = refused.error().message();
    EXPECT_NE(error_text.find("pool.yaml: mempool: 33023 buffers are too few"), std::string::npos)
        << error_text;
    EXPECT_NE(error_text.find("hold 33024;"), std::string::npos) << error_text;
    EXPECT_EQ(rte_mempool_lookup("turnpike"), nullptr) << "it stays";
    wanted.fixed.pool.buffers = least;
    const auto made = control::make_packet_pool(wanted, 1);
    ASSERT_TRUE(made) << made.error().message();
    rte_mempool_free(*made);
}

/// net_ring has no tx_done_cleanup. While an object of this class lives, its port has one.
class keeping_driver {
  public:
    explicit keeping_driver(uint16_t ethdev)
        : device_(rte_eth_devices[ethdev]), before_(device_.dev_ops), ops_(*device_.dev_ops) {
        ops_.tx_done_cleanup = [](void* queue, uint32_t at_most) {
            EXPECT_EQ(at_most, 0U) << "all of them";
            ++asked[queue];
            release(queue);
            return 0;
        };
        device_.dev_ops = &ops_;
    }
    ~keeping_driver() {
        device_.dev_ops = before_;
        for (uint16_t q = 0; q < device_.data->nb_tx_queues; ++q) release(ring(q));
        asked.clear();
    }
    keeping_driver(const keeping_driver&) = delete;
    keeping_driver& operator=(const keeping_driver&) = delete;

    /// The number of calls so far.
    [[nodiscard]] unsigned times(uint16_t queue) const { return asked[ring(queue)]; }
    /// Holds these packets as sent ones that are not freed yet.
    void hold(uint16_t queue, std::vector<rte_mbuf*> packets) {
        kept[ring(queue)] = std::move(packets);
    }

  private:
    [[nodiscard]] const void* ring(uint16_t queue) const { return device_.data->tx_queues[queue]; }
    static void release(const void* queue) {
        for (rte_mbuf* m : std::exchange(kept[queue], {})) rte_pktmbuf_free(m);
    }

    static inline std::map<const void*, unsigned> asked;  // by the driver's own queue
    static inline std::map<const void*, std::vector<rte_mbuf*>> kept;
    rte_eth_dev& device_;
    const eth_dev_ops* before_;
    eth_dev_ops ops_;
};

/// Two workers between two ports whose drivers have tx_done_cleanup.
class dry_pool : public ::testing::Test {
  protected:
    static constexpr uint64_t until_next_look_ms = 10;

    dry_pool() {
        for (const size_t w : {0, 1}) l.worker(w).start();
        rounds();
    }
    ~dry_pool() override {
        for (const size_t w : {0, 1}) l.worker(w).finish();
    }
    void poll_once() { l.control(until_next_look_ms); }
    void rounds() {
        for (const size_t w : {0, 1}) l.worker(w).poll();
    }
    [[nodiscard]] rte_mbuf* one() { return rte_pktmbuf_alloc(l.controller().pool()); }
    std::vector<rte_mbuf*> all_there_are() {
        std::vector<rte_mbuf*> all;
        while (rte_mbuf* m = one()) all.push_back(m);
        return all;
    }
    /// The calls of tx_done_cleanup for the first and the second worker's queues of both ports.
    [[nodiscard]] std::vector<unsigned> asked() const {
        return {west.times(0), east.times(0), west.times(1), east.times(1)};
    }
    using times = std::vector<unsigned>;

    path_lab l{
        "ports:\n  - {name: west, device: d0}\n  - {name: east, device: d1}\n"
        "xconnects: [[west, east]]\n",
        2};
    keeping_driver west{l.snapshot().port[0].ethdev_id}, east{l.snapshot().port[1].ethdev_id};
};

TEST_F(dry_pool, each_worker_has_its_drivers_free_what_they_sent) {
    const byte_vector frame = ethernet(0x0800, ipv4({}, udp(counted(4))));
    east.hold(1, all_there_are());
    EXPECT_FALSE(l.offer(0, frame));
    poll_once();
    EXPECT_EQ(asked(), (times{0, 0, 0, 0})) << "it is for workers to do";
    l.worker(0).poll();
    EXPECT_EQ(asked(), (times{1, 1, 0, 0})) << "a queue is its worker's";
    EXPECT_FALSE(l.offer(0, frame));
    l.worker(1).poll();
    EXPECT_EQ(asked(), (times{1, 1, 1, 1}));
    EXPECT_TRUE(l.offer(0, frame)) << "there are buffers again";
    rounds();
    rounds();
    EXPECT_EQ(l.sent(1).size(), 1U);
    poll_once();
    rounds();
    EXPECT_EQ(asked(), (times{1, 1, 1, 1})) << "and no reason to ask";
}

TEST_F(dry_pool, as_long_as_it_is_dry_they_are_asked_once_a_look) {
    const std::vector<rte_mbuf*> all = all_there_are();
    for (unsigned looks = 1; looks <= 3; ++looks) {
        poll_once();
        for (int i = 0; i < 5; ++i) rounds();
        EXPECT_EQ(asked(), (times{looks, looks, looks, looks}));
    }
    for (rte_mbuf* m : all) rte_pktmbuf_free(m);
}

/// Buffers in an lcore's cache are available to that lcore alone.
TEST_F(dry_pool, a_full_cache_of_anothers_does_not_hide_it) {
    std::vector<rte_mbuf*> all = all_there_are();
    rte_mempool* pool = l.controller().pool();
    for (int i = 0; i < 5; ++i) {
        void* buffer = all.back();
        rte_mempool_generic_put(pool, &buffer, 1, rte_mempool_default_cache(pool, 2));
        all.pop_back();
    }
    ASSERT_EQ(rte_mempool_avail_count(pool), 5U);
    ASSERT_EQ(one(), nullptr);
    poll_once();
    rounds();
    EXPECT_EQ(asked(), (times{1, 1, 1, 1}));
    for (rte_mbuf* m : all) rte_pktmbuf_free(m);
}

TEST_F(dry_pool, a_quarter_left_is_not_dry) {
    std::vector<rte_mbuf*> all = all_there_are();
    for (size_t left = all.size() / 4; left != 0; --left) {
        rte_pktmbuf_free(all.back());
        all.pop_back();
    }
    for (int i = 0; i < 3; ++i) {
        poll_once();
        rounds();
    }
    EXPECT_EQ(asked(), (times{0, 0, 0, 0}));
    for (rte_mbuf* m : all) rte_pktmbuf_free(m);
}

}  // namespace
}  // namespace turnpike
