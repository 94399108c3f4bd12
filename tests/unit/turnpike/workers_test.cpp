// SPDX-License-Identifier: BSD-3-Clause
// Adding and removing workers: their waiting packets are sent, and their counters stay.
#include <gtest/gtest.h>
#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_mempool.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "control/forwarding/worker_watchdog.hpp"
#include "lib/any_cpu.hpp"
#include "lib/eal.hpp"
#include "lib/sanitized.hpp"
#include "reload_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
constexpr uint16_t both[] = {0, 1};

std::string with_workers(const char* which) {
    return "workers: " + std::string(which) + "\n" + router();
}

/// Two workers that the test turns, links up, announcements taken.
class two_workers : public path_lab {
  public:
    explicit two_workers(const std::string& configuration) : path_lab(configuration, 2) {
        for (size_t w : {0, 1}) worker(w).start();
        links(true);
        control(1000);
        turn();
        for (const uint16_t p : both) sent(p);
    }
    ~two_workers() {
        for (size_t w : {0, 1}) worker(w).finish();
    }
    void turn() {
        for (int i = 0; i < 4; ++i) {
            for (size_t w : {0, 1}) worker(w).poll();
            control();
        }
    }
};

TEST(workers, that_go_leave_their_queues_and_their_counters) {
    two_workers l(with_workers("[1, 2]"));
    for (const uint16_t q : both) ASSERT_TRUE(l.offer(0, datagram(0x0a00'0202), q));
    l.turn();
    ASSERT_EQ(l.sent(1).size(), 2U);
    const auto before = l.controller().report();
    ASSERT_EQ(before.workers.size(), 2U);
    EXPECT_EQ(before.workers[1].packets, 1U);
    const auto gone = l.apply(with_workers("[1]"));
    ASSERT_TRUE(gone) << gone.error().message();
    EXPECT_EQ(gone->text(), "workers");
    for (const uint16_t q : both) ASSERT_TRUE(l.offer(0, datagram(0x0a00'0202), q));
    l.turn();
    EXPECT_EQ(l.sent(1).size(), 2U);
    const auto after = l.controller().report();
    EXPECT_EQ(after.workers[0].packets, before.workers[0].packets + 2);
    EXPECT_EQ(after.workers[1].packets, before.workers[1].packets) << "kept";
    EXPECT_TRUE(after.workers[0].forwards);
    EXPECT_FALSE(after.workers[1].forwards);
    EXPECT_EQ(after.total().rx, 4U);
    // The second worker forwards again: the same worker object.
    ASSERT_TRUE(l.apply(with_workers("[1, 2]")));
    const auto& queues = l.snapshot().queues[1].rx;
    ASSERT_EQ(queues.size(), 2U) << "half of the four";
    byte_vector frame = datagram(0x0a00'0202);
    frame[5] = static_cast<uint8_t>(0x0b + queues[0].port);
    ASSERT_TRUE(l.offer(queues[0].port, frame, queues[0].queue_id));
    l.turn();
    ASSERT_EQ(l.controller().report().workers.size(), 2U);
    EXPECT_EQ(l.controller().report().workers[1].packets, 2U);
}

TEST(workers, that_stand_still_are_seen_by_the_watchdog) {
    two_workers l(with_workers("[1, 2]"));
    control::worker_watchdog watchdog(l.controller().workers(), control::max_workers());
    EXPECT_TRUE(watchdog.all_run());
    EXPECT_FALSE(watchdog.all_run());
    for (size_t w : {0, 1}) l.worker(w).poll();
    EXPECT_TRUE(watchdog.all_run());
    for (size_t runs : {0, 1}) {
        l.worker(runs).poll();
        EXPECT_FALSE(watchdog.all_run()) << "only worker " << runs;
    }
    ASSERT_TRUE(l.apply(with_workers("[1]")));
    l.worker(0).poll();
    EXPECT_TRUE(watchdog.all_run()) << "the other one does not forward";
    ASSERT_TRUE(l.apply(with_workers("[1, 2]")));
}

/// A packet for a quiet port, while its worker is busy with others.
TEST(workers, wait_for_a_full_burst_as_long_as_configured) {
    constexpr uint64_t drain_us = 20'000, limit_us = 1'000'000;
    running_lab l("tx: {drain_us: " + std::to_string(drain_us) + "}\n" +
                  router("{to: 10.8.0.0/16, type: blackhole}"));
    const uint64_t cycles_per_us = rte_get_tsc_hz() / 1'000'000, begin = rte_rdtsc();
    l.worker().poll();  // its clock is of the last round's end
    ASSERT_TRUE(l.offer(0, datagram(0x0a00'0202)));
    l.worker().poll();
    uint64_t sent_us = 0;
    for (uint64_t now_us = 0; sent_us == 0 && now_us < limit_us;) {
        ASSERT_TRUE(l.offer(0, datagram(0x0a08'0001)));
        l.worker().poll();
        now_us = (rte_rdtsc() - begin) / cycles_per_us;
        if (!l.sent(1).empty()) sent_us = now_us;
    }
    EXPECT_GE(sent_us, drain_us);
}

/// A flood that one worker punts does not delay a routing protocol's packet that another one punts.
TEST(workers, punt_routing_protocols_packets_before_all_others) {
    two_workers l("workers: [1, 2]\n" +
                  router("{to: 10.9.0.0/16, via: 10.0.2.2}",
                         "    - {address: 10.0.1.1, mac: \"02:00:00:00:00:0a\"}\n"));
    constexpr unsigned flood = 200;
    const auto to_us = [](uint8_t protocol) {
        return ethernet(0x0800, ipv4({.protocol = protocol, .destination = 0x0a00'01fe},
                                     icmp4(8, 0, counted(12))));
    };
    for (unsigned i = 0; i < flood; ++i) {
        ASSERT_TRUE(l.offer(0, to_us(1), 0));
        l.worker(0).poll();
    }
    constexpr uint8_t ospf = 89;
    ASSERT_TRUE(l.offer(0, to_us(ospf), 1));
    l.worker(1).poll();
    std::vector<rte_mbuf*> punted;
    control::workers& all = l.controller().workers();
    const auto receive = [&] {
        all.receive_punted([&](rte_mbuf* m) { punted.push_back(m); });
        return punted.size();
    };
    EXPECT_EQ(receive(), 1U + 256 / 2) << "no worker has more than its share of a round";
    EXPECT_EQ(*rte_pktmbuf_mtod_offset(punted[0], uint8_t*, 14 + 9), ospf);
    EXPECT_EQ(receive(), 1U + flood);
    for (rte_mbuf* m : punted)  // control handles them, and counts them
        ASSERT_EQ(rte_ring_sp_enqueue(l.worker(0).parts().to_control, m), 0);
    for (int i = 0; i < 4; ++i) l.turn();
    EXPECT_GT(l.sent(0).size(), flood / 4) << "echo replies";
    l.check_balance();
}

/// Cycles that the first worker has slept.
uint64_t slept(path_lab& l) { return l.controller().report().workers[0].slept_cycles; }

uint64_t cycles_of(uint64_t us) { return rte_get_tsc_hz() / 1'000'000 * us; }

TEST(workers, that_find_nothing_sleep_longer_each_time_until_something_comes) {
    two_workers l(with_workers("[1, 2]"));
    l.turn();
    EXPECT_EQ(slept(l), 0U) << "it has no permission";
    ASSERT_TRUE(l.apply("idle: {sleep_us: 300}\n" + with_workers("[1, 2]")));
    l.worker(0).poll();
    for (int i = 0; i < 400; ++i) l.worker(0).poll();
    EXPECT_GE(slept(l), cycles_of(300 * 301 / 2 + 100 * 300));
    // A packet is received at once, and then the worker sleeps for a moment only; a busy machine
    // may make any sleep long.
    uint64_t shortest = UINT64_MAX;
    for (int tries = 0; tries < 100 && shortest >= cycles_of(300); ++tries) {
        ASSERT_TRUE(l.offer(0, datagram(0x0a00'0202)));
        ASSERT_TRUE(l.offer(1, datagram(0x0a00'0202)));
        const uint64_t before = slept(l);
        l.worker(0).poll();
        ASSERT_EQ(slept(l), before);
        l.worker(0).poll();
        ASSERT_GT(slept(l), before);
        shortest = std::min(shortest, slept(l) - before);
    }
    EXPECT_LT(shortest, cycles_of(300));
}

/// Control on a worker's lcore, between two of its rounds: neither idle nor the packets' cost.
TEST(workers, that_control_interrupts_count_its_time_apart) {
    path_lab l(router());
    datapath::worker& w = l.worker();
    w.start();
    w.poll();
    const auto counted = [&] { return l.controller().report().workers[0]; };
    ASSERT_TRUE(l.offer(0, datagram(0x0a00'0202)));
    const auto before = counted();
    w.pause();
    const uint64_t until = rte_rdtsc() + cycles_of(20'000);
    while (rte_rdtsc() < until) {
    }
    w.resume();
    w.poll();
    const auto after = counted();
    EXPECT_EQ(after.packets, before.packets + 1);
    const uint64_t control = after.control_cycles - before.control_cycles;
    EXPECT_GE(control, cycles_of(20'000));
    EXPECT_GE(after.total_cycles - before.total_cycles,
              control + after.busy_cycles - before.busy_cycles);
    // The machine may stop a round, but hardly that of each try.
    uint64_t least = after.busy_cycles - before.busy_cycles;
    for (int tries = 0; tries < 20 && least >= cycles_of(2'000); ++tries) {
        ASSERT_TRUE(l.offer(0, datagram(0x0a00'0202)));
        w.poll();
        const uint64_t was = w.meter().busy_cycles.read();
        w.pause();
        const uint64_t end = rte_rdtsc() + cycles_of(2'000);
        while (rte_rdtsc() < end) {
        }
        w.resume();
        ASSERT_TRUE(l.offer(0, datagram(0x0a00'0202)));
        w.poll();
        least = std::min(least, w.meter().busy_cycles.read() - was);
    }
    EXPECT_LT(least, cycles_of(2'000));
    w.finish();
}

/// A worker that only sends control's packets is busy with them.
TEST(workers, that_send_packets_of_control_are_busy) {
    two_workers l(with_workers("[1, 2]"));
    const auto counted = [&](size_t w) { return l.controller().report().workers[w]; };
    ASSERT_TRUE(l.offer(0, datagram(0x0a00'0209)));  // needs a neighbour solicitation
    l.worker(0).poll();
    const auto before = counted(0);
    l.control();
    l.worker(0).poll();
    l.worker(0).poll();
    const auto after = counted(0);
    EXPECT_EQ(after.injected, before.injected + 1);
    EXPECT_GT(after.busy_cycles, before.busy_cycles);
    EXPECT_EQ(after.packets, before.packets);
    EXPECT_EQ(l.sent(1).size(), 1U);
}

/// So is one that sends them in front of a new snapshot, and at its end.
TEST(workers, that_send_packets_of_control_at_a_change_are_busy) {
    two_workers l(with_workers("[1, 2]"));
    const auto counted = [&] { return l.controller().report().workers[0]; };
    const auto solicit = [&](uint32_t host) {
        ASSERT_TRUE(l.offer(0, datagram(host)));  // needs a neighbour solicitation
        l.worker(0).poll();
        l.control();
    };
    solicit(0x0a00'0209);
    auto before = counted();
    ASSERT_TRUE(l.apply(with_workers("[1]")));
    l.worker(0).poll();
    auto after = counted();
    EXPECT_EQ(after.injected, before.injected + 1);
    EXPECT_GT(after.busy_cycles, before.busy_cycles);
    solicit(0x0a00'020a);
    before = counted();
    l.worker(0).finish();
    after = counted();
    EXPECT_EQ(after.injected, before.injected + 1);
    EXPECT_GT(after.busy_cycles, before.busy_cycles);
    EXPECT_EQ(l.sent(1).size(), 2U);
}

TEST(workers, that_go_leave_what_they_punted_to_control) {
    two_workers l(with_workers("[1, 2]"));
    ASSERT_TRUE(
        l.offer(0, datagram(0x0a00'0209), 1));  // a destination that needs a neighbour solicitation
    l.worker(1).poll();
    ASSERT_TRUE(l.apply(with_workers("[1]")));
    l.control();
    EXPECT_EQ(l.controller().routing().neighbours().pending(), 1U);
    l.worker(0).poll();
    l.worker(0).poll();
    EXPECT_EQ(l.sent(1).size(), 1U) << "asked by the one that stays";
}

/// Control had given it something to send when its queues went to another.
TEST(workers, that_go_send_what_control_gave_them) {
    path_lab l(with_workers("[2]"), 2);
    l.worker().start();
    l.links(true);
    l.control(1000);
    l.settle();
    for (const uint16_t p : both) l.sent(p);
    ASSERT_TRUE(
        l.offer(0, datagram(0x0a00'0209)));  // a destination that needs a neighbour solicitation
    l.worker().poll();
    l.control();
    // A call of l.worker() while control creates another worker would race with control's writes.
    datapath::worker& worker = l.worker();
    l.workers_have_threads();
    std::atomic<bool> done{false};
    std::thread change([&] {
        EXPECT_TRUE(l.apply(with_workers("[1]")));
        done = true;
    });
    while (!done) {
        worker.poll();
        std::this_thread::yield();
    }
    change.join();
    worker.finish();
    EXPECT_EQ(l.sent(1).size(), 1U) << "the question";
    EXPECT_EQ(l.dropped(datapath::drop_reason::port_down), 0U);
}

/// A list that is not replaced keeps its counters over all workers, also over a new one.
TEST(workers, that_come_count_for_lists_too) {
    const auto listed = [](const char* workers) {
        return "workers: " + std::string(workers) +
               "\nacl:\n  - {name: a, rules: [{action: permit, protocol: udp}]}\n"
               "ports:\n  - {name: west, device: d0, acl: {in: a}}\n  - {name: east, device: d1}\n"
               "xconnects: [[west, east]]\nneighbours: {max_entries: 64}\n";
    };
    path_lab l(listed("[1]"), 2);
    l.worker(0).start();
    l.links(true);
    const auto of_udp = [&] {
        std::vector<uint64_t> out;
        const auto lists = l.acls();
        for (const auto& r : lists[0].rules)  // the first are turnpike's own, perhaps
            if (!r.where.empty() && r.action == "permit") out = r.by_worker;
        return out;
    };
    for (const uint16_t q : both) ASSERT_TRUE(l.offer(0, datagram(0x0a09'0001), q));
    l.worker(0).poll();
    l.worker(0).poll();
    EXPECT_EQ(of_udp(), (std::vector<uint64_t>{2}));
    ASSERT_TRUE(l.apply(listed("[1, 2]")));
    l.worker(1).start();
    for (const uint16_t q : both) ASSERT_TRUE(l.offer(0, datagram(0x0a09'0001), q));
    for (size_t w : {0, 1, 0, 1}) l.worker(w).poll();
    EXPECT_EQ(of_udp(), (std::vector<uint64_t>{3, 1}))
        << "unnamed rules go on, too: it is the same list";
    EXPECT_EQ(l.acls()[0].permitted, 4U);
    ASSERT_TRUE(l.apply(listed("[2]")));
    for (size_t w : {0, 1}) l.worker(w).poll();
    EXPECT_EQ(of_udp(), (std::vector<uint64_t>{3, 1}));
    EXPECT_EQ(l.sent(1).size(), 4U);
    for (size_t w : {0, 1}) l.worker(w).finish();
}

TEST(workers, that_cannot_be_are_refused_with_the_reason) {
    path_lab l(with_workers("[1, 2]"), 2);
    const auto refusal = [&](const char* which) {
        const auto refused = l.apply(with_workers(which));
        return refused ? "applied" : refused.error().message();
    };
    EXPECT_NE(refusal("[1, 7]").find("lcore 7, which EAL was not given (-l)"), std::string::npos);
    EXPECT_NE(refusal("[0]").find("only a restart"), std::string::npos) << refusal("[0]");
    EXPECT_NE(refusal("[0, 1]").find("the main lcore"), std::string::npos);
    EXPECT_EQ(l.controller().workers().all().size(), 2U);
}

/// Real lcores, started and ended while packets pass: each comes out once, in order.
TEST(workers, come_and_go_under_traffic) {
    const auto patched = [](const char* workers, const char* polled_by = "") {
        return "workers: " + std::string(workers) + "\nports:\n  - {name: west, device: d0" +
               polled_by +
               "}\n  - {name: east, device: d1}\nxconnects: [[west, east]]\nneighbours: "
               "{max_entries: "
               "64}\n";
    };
    path_lab l(patched("[1]"), 1);
    l.workers_have_threads();
    const std::string states[] = {patched("[1, 2]", ", rx_workers: [2]"), patched("[1, 2]"),
                                  patched("[2]"), patched("[1, 2]", ", rx_workers: [1]"),
                                  patched("[1]")};
    constexpr uint32_t changes = sanitized ? 40 : 100;
    uint32_t offered[2] = {}, taken[2] = {}, wrong = 0, applied = 0;
    l.links(true);
    const auto receive_all = [&] {
        for (const uint16_t from : both)
            while (rte_mbuf* m = l.next_sent(1 - from)) {
                const uint8_t* at = rte_pktmbuf_mtod_offset(m, const uint8_t*, 42);
                wrong += load_be<uint32_t>(at) != taken[from]++;
                rte_pktmbuf_free(m);
            }
    };
    const auto between = [&] {
        for (const uint16_t from : both)
            for (int i = 0; i < 32; ++i) {
                byte_vector frame = datagram(0x0a09'0001);
                store_be(&frame[42], offered[from]);
                offered[from] += l.offer(from, frame);
            }
        receive_all();
        if (applied < changes) {
            const auto done = l.controller().apply(l.read(states[applied % std::size(states)]));
            ASSERT_TRUE(done) << done.error().message();
            ASSERT_FALSE(done->empty());
            ++applied;
            const auto& slots = l.controller().workers().all();
            for (const auto& s : slots) {
                if (s->forwards) continue;
                const unsigned lcore = s->worker.parts().lcore;
                EXPECT_EQ(rte_eal_get_lcore_state(lcore), WAIT);
                const auto* cache = rte_mempool_default_cache(l.controller().pool(), lcore);
                EXPECT_EQ(cache->len, 0U) << "buffers that only it could take";
            }
        }
        receive_all();
    };
    l.controller().run({.done =
                            [&] {
                                receive_all();
                                return testing::Test::HasFailure() ||
                                       (applied == changes && taken[0] == offered[0] &&
                                        taken[1] == offered[1]);
                            },
                        .between =
                            [&] {
                                if (applied < changes) between();
                            }});
    receive_all();
    EXPECT_GT(offered[0], 32 * changes / 2);
    EXPECT_EQ(taken[0], offered[0]);
    EXPECT_EQ(taken[1], offered[1]);
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(l.controller().report().total().rx, offered[0] + offered[1]);
}

}  // namespace
}  // namespace turnpike
