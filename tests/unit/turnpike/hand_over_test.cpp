// SPDX-License-Identifier: BSD-3-Clause
// Queues change hands while two threads use them as workers do, also under TSan: by themselves, without
// DPDK's rings, which TSan does not see through.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "lib/any_cpu.hpp"
#include "lib/eal.hpp"
#include "lib/path_lab.hpp"
#include "lib/sanitized.hpp"

namespace turnpike {
namespace {

using namespace test;

/// Four ports, each with one queue either way.
std::string patches(const char* which, const char* workers, const char* c_polled_by = "") {
    return std::string("workers: ") + workers +
           "\nports:\n  - {name: a, device: d0}\n  - {name: b, device: d1}\n"
           "  - {name: c, device: d2" +
           c_polled_by +
           "}\n  - {name: d, device: d3}\nneighbours: {max_entries: 64}\nxconnects: [" + which +
           "]\n";
}

/// A worker's accesses to a queue, which are an error where two workers overlap.
struct traces {
    std::array<uint64_t, 4> polled{}, sent{};
    std::array<std::atomic<int>, 4> pollers{}, senders{};
    std::atomic<unsigned> two_at_once{0};
};

TEST(hand_over, a_queue_is_one_workers) {
    path_lab l(patches("[a, c], [b, d]", "[1, 2]"), 2, true);
    l.workers_have_threads();
    traces seen;
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> polled{0}, sent{0}, rounds[2] = {{0}, {0}};
    const auto work = [&](uint32_t number) {
        run_anywhere();
        const datapath::worker_parts& parts = l.worker(number).parts();
        parts.rcu->online(number);
        const datapath::snapshot* snapshot = nullptr;
        datapath::worker_queues mine;
        mine.tx.fill(-1);
        const auto send = [&] {
            for (uint16_t p = 0; p < 4; ++p) {
                if (mine.tx[p] < 0) continue;
                ++seen.sent[p];
                sent.fetch_add(1, std::memory_order_relaxed);
            }
        };
        const auto receive_all = [&](int by) {
            for (const auto& q : mine.rx) {
                const int now = seen.pollers[q.port].fetch_add(by, std::memory_order_relaxed);
                seen.two_at_once += by > 0 && now != 0;
            }
            for (uint16_t p = 0; p < 4; ++p)
                if (mine.tx[p] >= 0) {
                    const int now = seen.senders[p].fetch_add(by, std::memory_order_relaxed);
                    seen.two_at_once += by > 0 && now != 0;
                }
        };
        while (!stop.load(std::memory_order_relaxed)) {
            if (const auto* now = parts.published->load(std::memory_order_acquire);
                now != snapshot) {
                send();  // what waited for others
                receive_all(-1);
                mine = now->queues[number];
                receive_all(1);
                snapshot = now;
            }
            for (const auto& q : mine.rx) {
                ++seen.polled[q.port];
                polled.fetch_add(1, std::memory_order_relaxed);
            }
            send();
            rounds[number].fetch_add(1, std::memory_order_relaxed);
            parts.rcu->quiescent(number);
        }
        parts.rcu->offline(number);
    };
    std::vector<std::thread> workers;
    for (uint32_t w = 0; w < 2; ++w) workers.emplace_back(work, w);
    const std::string states[] = {patches("[a, d], [b, c]", "[1, 2]"),
                                  patches("[a, d], [b, c]", "[1]"),
                                  patches("[a, c], [b, d]", "[1, 2]"),
                                  patches("[a, c], [b, d]", "[1, 2]", ", rx_workers: [2]"),
                                  patches("[a, c], [b, d]", "[2]"),
                                  patches("[a, c], [b, d]", "[1, 2]", ", rx_workers: [1]")};
    constexpr unsigned changes = address_sanitized ? 60 : 200;
    unsigned applied = 0;
    for (unsigned change = 0; change < changes || rounds[0] < 1000 || rounds[1] < 1000; ++change) {
        const auto done = l.apply(states[change % std::size(states)]);
        ASSERT_TRUE(done) << done.error().message();
        applied += !done->empty();
    }
    stop.store(true);
    for (auto& w : workers) w.join();
    EXPECT_GE(applied, changes);
    EXPECT_EQ(seen.two_at_once, 0U);
    EXPECT_EQ(seen.polled[0] + seen.polled[1] + seen.polled[2] + seen.polled[3], polled);
    EXPECT_EQ(seen.sent[0] + seen.sent[1] + seen.sent[2] + seen.sent[3], sent);
}

}  // namespace
}  // namespace turnpike
