// SPDX-License-Identifier: BSD-3-Clause
// Routes change while a worker looks up: it sees the old or the new next hop of what changes, and
// the one next hop of what does not.
#include "datapath/route_table.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "lib/eal.hpp"
#include "rcu/qsbr.hpp"

namespace turnpike::datapath {
namespace {

constexpr next_hop stable{hop_kind::connected, 7}, one{hop_kind::gateway, 1},
    other{hop_kind::gateway, 2};

ip_prefix prefix(const char* text) { return *parse_prefix(text); }
ip_address address(const char* text) { return *parse_address(text); }

class routes : public ::testing::Test {
  protected:
    void SetUp() override {
        domain = *rcu::qsbr::create("routes", 1);
        auto made = route_table::create(domain->hook());
        ASSERT_TRUE(made) << made.error().message();
        table = std::move(*made);
    }
    void add(const char* to, next_hop hop) const { ASSERT_TRUE(table->add(prefix(to), hop)); }
    std::unique_ptr<rcu::qsbr> domain;
    std::unique_ptr<route_table> table;
};

TEST_F(routes, longest_match_in_both_families) {
    add("10.0.0.0/8", one);
    add("10.1.0.0/16", other);
    add("::/0", one);
    add("2001:db8::/32", other);
    EXPECT_EQ(table->lookup(address("10.2.0.1")).index, 1U);
    EXPECT_EQ(table->lookup(address("10.1.0.1")).index, 2U);
    EXPECT_EQ(table->lookup(address("192.0.2.1")).kind, hop_kind::none);
    EXPECT_EQ(table->lookup(address("2001:db8::1")).index, 2U);
    EXPECT_EQ(table->lookup(address("2001:db9::1")).index, 1U);
    EXPECT_EQ(table->routes(false), 2U);
    EXPECT_EQ(table->routes(true), 2U);
    EXPECT_EQ(table->get(prefix("10.1.0.0/16"))->index, 2U);
    EXPECT_FALSE(table->get(prefix("10.1.0.0/17")));
    EXPECT_TRUE(table->remove(prefix("10.1.0.0/16")));
    EXPECT_FALSE(table->remove(prefix("10.1.0.0/16")));
    EXPECT_EQ(table->lookup(address("10.1.0.1")).index, 1U);
}

TEST_F(routes, a_worker_looks_up_while_they_change) {
    add("192.0.2.0/24", stable);
    add("10.0.0.0/8", one);
    add("2001:db8::/32", stable);
    add("2001:db9::/32", one);
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> looked{0}, wrong{0};
    std::thread worker([&] {
        cpu_set_t all;  // EAL pinned the main thread, and this one inherited it
        memset(&all, 0xff, sizeof all);
        sched_setaffinity(0, sizeof all, &all);
        domain->online(0);
        const uint32_t v4[2] = {address("192.0.2.1").v4(), address("10.9.8.7").v4()};
        const fib::address6 v6[2] = {address("2001:db8::1").bytes, address("2001:db9:9::1").bytes};
        while (!stop.load(std::memory_order_relaxed)) {
            uint64_t hop[4];
            table->lookup4(v4, hop, 2);
            table->lookup6(v6, hop + 2, 2);
            for (int i = 0; i < 4; i += 2) {
                wrong += hop[i] != stable.packed();
                wrong += hop[i + 1] != one.packed() && hop[i + 1] != other.packed();
            }
            ++looked;
            domain->quiescent(0);
        }
        domain->offline(0);
    });
    for (int round = 0; round < 20'000 || looked < 100; ++round) {
        const next_hop hop = round % 2 ? one : other;
        ASSERT_TRUE(table->add(prefix("10.9.0.0/16"), hop));
        ASSERT_TRUE(table->add(prefix("10.9.8.0/25"), hop));
        ASSERT_TRUE(table->add(prefix("2001:db9:9::/48"), hop));
        ASSERT_TRUE(table->remove(prefix("10.9.8.0/25")));
        ASSERT_TRUE(table->remove(prefix("10.9.0.0/16")));
        ASSERT_TRUE(table->remove(prefix("2001:db9:9::/48")));
        domain->reclaim();
        if (round % 64 == 0) std::this_thread::yield();
    }
    stop.store(true, std::memory_order_relaxed);
    worker.join();
    EXPECT_EQ(wrong, 0U);
    EXPECT_GE(looked, 100U);
}

}  // namespace
}  // namespace turnpike::datapath
