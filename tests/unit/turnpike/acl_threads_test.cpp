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

std::string patched(const std::string& rules, const std::string& fallback = "deny") {
    return "acl:\n  - {name: a, default: " + fallback + ", rules: [" + rules +
           "]}\nports:\n  - {name: west, device: d0, acl: {in: a}}\n"
           "  - {name: east, device: d1}\nxconnects: [[west, east]]\n";
}

/// Two workers that judge a UDP packet without pause.
class judges {
  public:
    explicit judges(path_lab& l) : lab_(l) {
        for (uint32_t w = 0; w < 2; ++w) threads_.emplace_back([this, w] { work(w); });
    }
    ~judges() { stop(); }
    void stop() {
        stop_.store(true);
        for (auto& w : threads_)
            if (w.joinable()) w.join();
    }
    std::atomic<uint64_t> judged{0}, denied{0};

  private:
    void work(uint32_t number) {
        run_anywhere();
        rte_mbuf* m = lab_.packet_of(ethernet(0x0800, ipv4({}, udp(counted(4)))));
        datapath::burst b;
        b.count = 1;
        b.packet[0] = m;
        datapath::context c;
        c.worker = number;
        REQUIRE(packet::parse({rte_pktmbuf_mtod(m, const uint8_t*), m->data_len}, m->pkt_len,
                              b.parsed[0]) == packet::parse_status::done);
        const datapath::worker_parts& parts = lab_.worker(number).parts();
        parts.rcu->online(number);
        while (!stop_.load(std::memory_order_relaxed)) {
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
    }

    path_lab& lab_;
    std::atomic<bool> stop_{false};
    std::vector<std::thread> threads_;
};

constexpr int list_changes = address_sanitized ? 100 : 300;

TEST(acl_threads, while_two_workers_judge) {
    path_lab l(patched("{action: permit}"), 2);
    l.workers_have_threads();
    const std::string lists[] = {
        patched("{action: count, name: all}, {action: permit, protocol: udp}"),
        patched("{action: count, name: all}, {action: deny, protocol: udp}")};
    ASSERT_TRUE(l.apply(lists[0]));
    judges all_of(l);
    uint64_t seen = 0;
    for (int round = 1; round <= list_changes || all_of.judged.load() < 10'000; ++round) {
        ASSERT_TRUE(l.apply(lists[round % 2]));
        l.control();
        const auto all = l.acls()[0].rules[1].packets;
        EXPECT_GE(all, seen) << "counters never go back";
        seen = all;
        std::this_thread::yield();
    }
    all_of.stop();
    l.control();
    const auto report = l.acls();
    const uint64_t judged = all_of.judged, denied = all_of.denied;
    EXPECT_EQ(report[0].rules[1].packets, judged);
    EXPECT_EQ(report[0].permitted + report[0].denied, judged);
    EXPECT_EQ(report[0].denied, denied);
    EXPECT_GT(denied, 0U);
    const auto& by_worker = report[0].rules[1].by_worker;
    ASSERT_EQ(by_worker.size(), 2U);
    EXPECT_EQ(by_worker[0] + by_worker[1], judged);
}

/// The old rule and the new one deny the packet, and the rules behind them permit it: it never passes in between.
TEST(acl_threads, no_packet_passes_while_a_rule_is_replaced_by_one_that_denies_it_too) {
    const std::string below = ", {action: count, name: all}, {action: permit, protocol: udp}";
    const std::string lists[] = {
        patched("{action: deny, protocol: udp}" + below, "permit"),
        patched("{action: deny, protocol: udp, dscp: 0}" + below, "permit")};
    path_lab l(lists[0], 2);
    l.workers_have_threads();
    judges all_of(l);
    for (int round = 1; round <= list_changes || all_of.judged.load() < 10'000; ++round) {
        ASSERT_TRUE(l.apply(lists[round % 2]));
        l.control();
        std::this_thread::yield();
    }
    all_of.stop();
    EXPECT_EQ(all_of.denied.load(), all_of.judged.load());
}

}  // namespace
}  // namespace turnpike
