// SPDX-License-Identifier: BSD-3-Clause
// Two threads judge while lists are replaced and read, also under TSan: the stage by itself, without
// DPDK's rings, which TSan does not see through.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "lib/any_cpu.hpp"
#include "lib/eal.hpp"
#include "lib/path_lab.hpp"
#include "lib/sanitized.hpp"

namespace turnpike {
namespace {

using namespace test;

std::string patched(const std::string& rules) {
    return "acl:\n  - {name: a, rules: [" + rules +
           "]}\nports:\n  - {name: west, device: d0, acl: {in: a}}\n"
           "  - {name: east, device: d1}\nxconnects: [[west, east]]\n";
}

TEST(acl_threads, while_two_workers_judge) {
    path_lab l(patched("{action: permit}"), 2);
    l.workers_have_threads();
    const std::string lists[] = {
        patched("{action: count, name: all}, {action: permit, protocol: udp}"),
        patched("{action: count, name: all}, {action: deny, protocol: udp}")};
    ASSERT_TRUE(l.apply(lists[0]));
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> judged{0}, denied{0};
    const auto work = [&](uint32_t number) {
        run_anywhere();
        rte_mbuf* m = l.packet_of(ethernet(0x0800, ipv4({}, udp(counted(4)))));
        datapath::burst b;
        b.count = 1;
        b.packet[0] = m;
        datapath::context c;
        c.worker = number;
        REQUIRE(packet::parse({rte_pktmbuf_mtod(m, const uint8_t*), m->data_len}, m->pkt_len,
                              b.parsed[0]) == packet::parse_status::done);
        const datapath::worker_parts& parts = l.worker(number).parts();
        parts.rcu->online(number);
        while (!stop.load(std::memory_order_relaxed)) {
            c.snapshot = parts.published->load(std::memory_order_acquire);
            b.in[0] = b.common_iface = c.snapshot->port[0].untagged;
            const auto next = datapath::run_acl_in(c, b, 1);
            b.at = {};
            judged.fetch_add(1, std::memory_order_relaxed);
            denied.fetch_add(next == datapath::bit(datapath::stage::drop),
                             std::memory_order_relaxed);
            parts.rcu->quiescent(number);
        }
        parts.rcu->offline(number);
        rte_pktmbuf_free(m);
    };
    std::vector<std::thread> workers;
    for (uint32_t w = 0; w < 2; ++w) workers.emplace_back(work, w);
    uint64_t seen = 0;
    for (int round = 1; round <= (address_sanitized ? 100 : 300) || judged.load() < 10'000;
         ++round) {
        ASSERT_TRUE(l.apply(lists[round % 2]));
        l.control();
        const auto all = l.acls()[0].rules[1].packets;
        EXPECT_GE(all, seen) << "counters never go back";
        seen = all;
        std::this_thread::yield();
    }
    stop.store(true);
    for (auto& w : workers) w.join();
    l.control();
    const auto report = l.acls();
    EXPECT_EQ(report[0].rules[1].packets, judged.load());
    EXPECT_EQ(report[0].permitted + report[0].denied, judged.load());
    EXPECT_EQ(report[0].denied, denied.load());
    EXPECT_GT(denied.load(), 0U);
    const auto& by_worker = report[0].rules[1].by_worker;
    ASSERT_EQ(by_worker.size(), 2U);
    EXPECT_EQ(by_worker[0] + by_worker[1], judged.load());
}

}  // namespace
}  // namespace turnpike
