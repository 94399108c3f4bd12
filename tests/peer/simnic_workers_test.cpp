// SPDX-License-Identifier: BSD-3-Clause
// Two workers, a queue each: the device deals out evenly, serves both, and each does its own half.
#include <atomic>
#include <thread>

#include "peer/simnic_port.hpp"

namespace turnpike {
namespace {

using test::burst, test::ring;

constexpr uint16_t workers = 2;

TEST(workers, on_two_queues_each_forward_half) {
    constexpr uint64_t frames = 40'000;
    test::port b({.arguments = "wire=gen,rate=400k,l3flows=1000,queues=2",
                  .queues = workers,
                  .rss_types = RTE_ETH_RSS_IPV4});
    b.start();
    std::atomic<uint64_t> all{0};
    uint64_t done[workers] = {};
    const auto work = [&](uint16_t queue) {
        rte_mbuf* m[burst];
        for (uint64_t idle = 0; all.load() < frames && idle < 1'000'000'000; ++idle) {
            const uint16_t n = rte_eth_rx_burst(b.id(), queue, m, burst);
            if (n == 0) std::this_thread::yield();
            for (uint16_t sent = 0; sent < n;)
                sent += rte_eth_tx_burst(b.id(), queue, m + sent, static_cast<uint16_t>(n - sent));
            done[queue] += n;
            all += n;
        }
    };
    std::thread other(work, uint16_t{1});
    work(0);
    other.join();
    b.stop();  // sends what was posted
    auto c = b.xstats();
    double received = 0, sent = 0;
    for (uint16_t q = 0; q < workers; ++q) {
        const std::string number = std::to_string(q);
        const double rx = c["rx_q" + number + "_packets"], tx = c["tx_q" + number + "_packets"];
        EXPECT_EQ(tx, static_cast<double>(done[q])) << "queue " << q << " has one worker";
        EXPECT_NEAR(rx, c["rx_good_packets"] / workers, c["rx_good_packets"] / 20) << "queue " << q;
        EXPECT_LE(rx - tx, ring) << "what waited in it at the end";
        received += rx;
        sent += tx;
    }
    EXPECT_EQ(received, c["rx_good_packets"]);
    EXPECT_GE(sent, frames);
    EXPECT_EQ(c["gen_received"], sent);
    for (const char* bad : {"gen_duplicated", "gen_damaged", "gen_foreign", "fault_translation",
                            "fault_descriptor", "fault_tail"})
        EXPECT_EQ(c[bad], 0) << bad;
}

}  // namespace
}  // namespace turnpike
