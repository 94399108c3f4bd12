// SPDX-License-Identifier: BSD-3-Clause
// Readers beside a writer, also under TSan: nested prefixes change in turns, and every answer is
// one that was valid. Quiescence is counted here, without DPDK, so that TSan sees all of it; the
// binding to rte_rcu_qsbr is tested in tests/peer.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "family.hpp"
#include "lib/epochs.hpp"

namespace turnpike::fib::test {
namespace {

constexpr unsigned reader_count = 2;

/// A family of nested prefixes: /16 (always there), /24 and /28 below it come and go. The next hop
/// says whose it is: level << 40 | group << 20 | version.
constexpr uint32_t groups = 64;
constexpr unsigned levels[] = {16, 24, 28};
uint64_t next_hop_of(unsigned level, uint32_t group, uint64_t version) {
    return uint64_t{level} << 40 | uint64_t{group} << 20 | (version & 0xfffff);
}
template <class Family>
address prefix_of(uint32_t group) {
    return address{}.with(0, 16, 0x2000 + group).with(16, 12, 0x345);
}

struct ipv4_together : ipv4 {
    using change_type = change4;
};
struct ipv6_together : ipv6 {
    using change_type = change6;
};

/// Up to sixteen families change as one: in each a route is another, or goes.
template <class Family>
void change_together(typename Family::table_type& table, std::atomic<uint64_t> (&newest)[groups][3],
                     prefixes<Family>& random) {
    if constexpr (requires { typename Family::change_type; }) {
        std::vector<typename Family::change_type> changes;
        const auto first = static_cast<uint32_t>(random() % groups);
        for (uint32_t i = 0; i < 1 + random() % 16; ++i) {
            const uint32_t g = (first + i) % groups;
            const auto level = static_cast<unsigned>(random() % 3);
            const auto at = Family::from(prefix_of<Family>(g).masked(levels[level]));
            std::optional<uint64_t> next_hop;
            if (level == 0 || random() % 3 != 0) {
                const uint64_t version = newest[g][level].load() + 1;
                newest[g][level].store(version);
                next_hop = next_hop_of(level, g, version);
            }
            changes.push_back({at, static_cast<uint8_t>(levels[level]), next_hop});
        }
        EXPECT_TRUE(table.exchange(changes));
    }
}

template <class Family>
void churn(uint32_t short_routes = 0, uint64_t direct_bytes = config{}.direct_bytes) {
    turnpike::test::epochs<reader_count> domain;
    auto table = *Family::table_type::create({.next_hop_bytes = 8,
                                              .defer_free = domain.hook(),
                                              .short_routes = short_routes,
                                              .direct_bytes = direct_bytes});
    // The version announced last. Whether a /24 or /28 is there a reader cannot know, but a /16
    // always is, so the default next hop never shows.
    std::atomic<uint64_t> newest[groups][3] = {};
    for (uint32_t g = 0; g < groups; ++g)
        ASSERT_TRUE(
            table->add(Family::from(prefix_of<Family>(g).masked(16)), 16, next_hop_of(0, g, 0)));
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> wrong{0}, answers{0};
    const auto read = [&](unsigned id) {
        std::vector<typename Family::address_type> dst;
        for (uint32_t g = 0; g < groups; ++g) dst.push_back(Family::from(prefix_of<Family>(g)));
        std::vector<uint64_t> nexthop(dst.size());
        uint64_t before[groups][3];
        while (!stop.load()) {
            for (uint32_t g = 0; g < groups; ++g)
                for (unsigned l = 0; l < 3; ++l) before[g][l] = newest[g][l].load();
            table->lookup_bulk(dst, nexthop);
            for (uint32_t g = 0; g < groups; ++g) {
                const auto level = static_cast<unsigned>(nexthop[g] >> 40);
                const uint64_t version = nexthop[g] & 0xfffff;
                // A version is announced (newest) before it is shown, and shown before the next is.
                const bool fresh = level < 3 && (nexthop[g] >> 20 & 0xfffff) == g &&
                                   version + 1 >= before[g][level] &&
                                   version <= newest[g][level].load();
                wrong += !fresh;
            }
            answers += groups;
            domain.quiescent(id);
        }
        domain.leave(id);
    };
    std::vector<std::thread> readers;
    for (unsigned id = 0; id < reader_count; ++id) readers.emplace_back(read, id);
    prefixes<Family> random(51);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    // By turns: parent, child, grandchild replaced; child and grandchild removed and added again.
    while (std::chrono::steady_clock::now() < end || answers.load() < 1000) {
        if (random() % 2 == 0) change_together<Family>(*table, newest, random);
        const auto g = static_cast<uint32_t>(random() % groups);
        const auto level = static_cast<unsigned>(random() % 3);
        const auto at = Family::from(prefix_of<Family>(g).masked(levels[level]));
        if (level != 0 && random() % 2 == 0) (void)table->remove(at, levels[level]);
        const uint64_t version = newest[g][level].load() + 1;
        newest[g][level].store(version);
        const auto added = table->add(at, levels[level], next_hop_of(level, g, version));
        if (!added) ADD_FAILURE() << added.error().message();
        if (random() % 16 == 0) domain.reclaim();
        if (level != 0 && random() % 4 == 0) (void)table->remove(at, levels[level]);
        if (::testing::Test::HasFailure()) break;
    }
    stop.store(true);
    for (auto& r : readers) r.join();
    domain.reclaim();
    EXPECT_EQ(domain.pending(), 0U);
    EXPECT_EQ(wrong.load(), 0U);
}
TEST(fib4_churn, nested_prefixes_answer_old_or_new) { churn<ipv4>(); }
TEST(fib6_churn, nested_prefixes_answer_old_or_new) { churn<ipv6>(); }
TEST(fib6_churn, compressed_nodes) { churn<ipv6>(0, 0); }
TEST(fib4_churn, changed_together) { churn<ipv4_together>(); }
TEST(fib6_churn, changed_together) { churn<ipv6_together>(150); }
/// 64 to 192 routes, of which 127 are short.
TEST(fib4_churn, a_table_that_is_short_at_times) { churn<ipv4>(short_table::max_routes4); }
TEST(fib6_churn, a_short_table_too) { churn<ipv6>(short_table::max_routes); }
/// 64 to 192 routes: it is short, and is not, and is again.
TEST(fib6_churn, a_table_that_is_short_at_times) { churn<ipv6>(150); }

}  // namespace
}  // namespace turnpike::fib::test
