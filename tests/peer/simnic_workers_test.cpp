// SPDX-License-Identifier: BSD-3-Clause
// Two workers, a queue each: the device deals out evenly, serves both, and two workers forward a
// rate that one cannot.
#include <atomic>
#include <chrono>
#include <thread>

#include "peer/simnic_port.hpp"

namespace turnpike {
namespace {

using test::burst, test::ring;

struct job {
    uint16_t workers = 1;
    std::chrono::microseconds busy{0};  ///< each, after every burst that it has forwarded
    uint64_t frames = 0;                ///< until so many have been forwarded by all
    std::string rate{};
};

/// The port's counts afterwards, and beside them "worker_N", what each forwarded, and "seconds".
std::map<std::string, double> forwarded(const job& j) {
    test::port b({.arguments = "wire=gen,l3flows=1000,rate=" + j.rate,
                  .queues = j.workers,
                  .rss_types = RTE_ETH_RSS_IPV4});
    b.start();
    using clock = std::chrono::steady_clock;
    const auto start = clock::now();
    std::atomic<uint64_t> all{0};
    std::vector<uint64_t> done(j.workers, 0);
    const auto work = [&](uint16_t queue) {
        rte_mbuf* m[burst];
        while (all.load() < j.frames && clock::now() < start + std::chrono::seconds(10)) {
            const uint16_t n = rte_eth_rx_burst(b.id(), queue, m, burst);
            if (n == 0) std::this_thread::yield();
            for (uint16_t sent = 0; sent < n;)
                sent += rte_eth_tx_burst(b.id(), queue, m + sent, static_cast<uint16_t>(n - sent));
            done[queue] += n;
            all += n;
            // Busy without a CPU: other processes of this machine must not affect the comparison.
            if (j.busy.count() != 0) std::this_thread::sleep_for(j.busy);
        }
    };
    std::vector<std::thread> others;
    for (uint16_t q = 1; q < j.workers; ++q) others.emplace_back(work, q);
    work(0);
    for (auto& t : others) t.join();
    const std::chrono::duration<double> took = clock::now() - start;
    b.stop();  // sends posted frames
    auto c = b.xstats();
    for (uint16_t q = 0; q < j.workers; ++q)
        c["worker_" + std::to_string(q)] = static_cast<double>(done[q]);
    c["seconds"] = took.count();
    return c;
}

TEST(workers, on_two_queues_each_forward_half) {
    constexpr uint64_t frames = 20'000;
    auto c = forwarded({.workers = 2, .frames = frames, .rate = "400k"});
    double received = 0, sent = 0;
    for (const std::string q : {"0", "1"}) {
        const double rx = c["rx_q" + q + "_packets"], tx = c["tx_q" + q + "_packets"];
        EXPECT_EQ(tx, c["worker_" + q]) << "queue " << q << " has one worker";
        EXPECT_NEAR(rx, c["rx_good_packets"] / 2, c["rx_good_packets"] / 20) << "queue " << q;
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

/// A device with a thread does not wait for workers: 40k packets a second, of which a worker that
/// is busy for at least a millisecond with every 32 can do less than 32k.
TEST(workers, two_do_what_one_cannot) {
    constexpr uint64_t frames = 16'000;
    job j{.busy = std::chrono::milliseconds(1), .frames = frames, .rate = "40k,engine=thread"};
    auto one = forwarded(j);
    j.workers = 2;
    auto two = forwarded(j);
    for (auto* c : {&one, &two})
        if ((*c)["gen_sent"] < 0.9 * 40'000 * (*c)["seconds"])
            GTEST_SKIP() << "no CPU for the device's thread: it sent " << (*c)["gen_sent"]
                         << " frames in " << (*c)["seconds"] << " s";
    EXPECT_GT(one["rx_missed_errors"], frames / 20.0);
    EXPECT_LT(two["rx_missed_errors"], one["rx_missed_errors"] / 4);
    EXPECT_NEAR(two["worker_0"], two["worker_1"], frames / 10.0);
}

}  // namespace
}  // namespace turnpike
