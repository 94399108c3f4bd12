// SPDX-License-Identifier: BSD-3-Clause
// Newly generated tables and rule sets: the same for the same seed, valid for both sides.
#include "bench/fresh.hpp"

#include <gtest/gtest.h>
#include <bit>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/draw.hpp"
#include "bench/fresh_routes.hpp"
#include "bench/fresh_rules.hpp"

namespace turnpike::bench {
namespace {

constexpr unsigned drawn_sets = 12;
constexpr uint64_t drawn_seed = 2026;

bool equal_entries(const fib::entry& a, const fib::entry& b) {
    return a.prefix == b.prefix && a.length == b.length && a.next_hop == b.next_hop;
}

TEST(bench_fresh, a_seed_gives_the_same_table_again_and_another_gives_another) {
    for (const int family : {4, 6}) {
        const auto once = draw_table(family, 7), again = draw_table(family, 7);
        ASSERT_EQ(once.table.size(), again.table.size());
        EXPECT_TRUE(
            std::equal(once.table.begin(), once.table.end(), again.table.begin(), equal_entries));
        EXPECT_EQ(once.statistics, again.statistics);
        EXPECT_EQ(make_traffic(once.table, family, "zipf", 100, once.traffic),
                  make_traffic(again.table, family, "zipf", 100, again.traffic));
        EXPECT_NE(once.statistics, draw_table(family, 8).statistics);
    }
}

TEST(bench_fresh, tables_are_valid_and_differ_in_size) {
    for (const int family : {4, 6}) {
        std::set<size_t> magnitudes;
        for (unsigned number = 1; number <= drawn_sets; ++number) {
            const auto drawn = draw_table(family, seed_of_set(drawn_seed, number));
            ASSERT_FALSE(drawn.table.empty());
            std::set<std::tuple<uint64_t, uint64_t, unsigned>> seen;
            for (const fib::entry& r : drawn.table) {
                ASSERT_LE(r.length, family == 4 ? 32 : 128);
                ASSERT_EQ(r.prefix, r.prefix.masked(r.length));
                ASSERT_TRUE(seen.insert({r.prefix.high, r.prefix.low, r.length}).second);
                ASSERT_GE(r.next_hop, 1U);
                ASSERT_LE(r.next_hop, drawn.next_hops);
            }
            // rte_fib stores 15 bits in 2 bytes
            if (drawn.width_bytes == 2) {
                ASSERT_LT(drawn.next_hops, 1U << 15);
            }
            magnitudes.insert(std::bit_width(drawn.table.size()));
        }
        EXPECT_GT(magnitudes.size(), 4U);
    }
}

TEST(bench_fresh, trains_repeat_addresses) {
    const auto table = eight_routes(4);
    const auto repeated = [&](uint64_t train) {
        const auto all = make_traffic(table, 4, "prefix", 10'000, {.train = train});
        EXPECT_EQ(all.size(), 10'000U);
        size_t n = 0;
        for (size_t i = 1; i < all.size(); ++i) n += all[i] == all[i - 1];
        return n;
    };
    EXPECT_LT(repeated(1), 200U);
    EXPECT_NEAR(static_cast<double>(repeated(4)), 7500, 500);
}

TEST(bench_fresh, a_seed_gives_the_same_rules_again_and_another_gives_another) {
    const auto once = draw_rules("set", 7), again = draw_rules("set", 7);
    EXPECT_EQ(once.set.rules, again.set.rules);
    EXPECT_EQ(once.statistics, again.statistics);
    EXPECT_EQ(once.header_seed, again.header_seed);
    EXPECT_NE(once.set.rules, draw_rules("set", 8).set.rules);
}

template <unsigned Words>
void expect_valid(const rule_set& set) {
    for (size_t i = 0; i < set.rules.size(); ++i) {
        const acl::rule& r = set.rules[i];
        ASSERT_TRUE(acl::pack<Words>(r)) << i;
        ASSERT_EQ(r.priority, set.rules.size() - i);
        ASSERT_EQ(r.user_data, i + 1);
        for (const auto* a : {&r.source, &r.destination}) {  // prefixes, as rte_acl has only these
            bool ended = false;
            for (const uint8_t byte : a->mask) {
                ASSERT_TRUE(byte == 0xff || !(ended && byte != 0));
                ASSERT_EQ(std::countl_one(byte), std::popcount(byte));
                ended = ended || byte != 0xff;
            }
        }
    }
}

TEST(bench_fresh, rules_are_valid_and_differ_in_kind) {
    std::set<acl::family> families;
    std::set<size_t> magnitudes;
    for (unsigned number = 1; number <= 2 * drawn_sets; ++number) {
        const auto drawn = draw_rules("set", seed_of_set(drawn_seed, number));
        ASSERT_FALSE(drawn.set.rules.empty());
        drawn.set.kind == acl::family::ipv4 ? expect_valid<acl::ipv4_words>(drawn.set)
                                            : expect_valid<acl::ipv6_words>(drawn.set);
        if (HasFatalFailure()) return;
        families.insert(drawn.set.kind);
        magnitudes.insert(std::bit_width(drawn.set.rules.size()));
        // Only the last rule may match everything: it would hide those below it.
        for (size_t i = 0; i + 1 < drawn.set.rules.size(); ++i) {
            acl::rule r = drawn.set.rules[i];
            r.priority = r.user_data = 1;
            ASSERT_NE(r, acl::rule{}) << i;
        }
    }
    EXPECT_EQ(families.size(), 2U);
    EXPECT_GT(magnitudes.size(), 4U);
}

TEST(bench_fresh, the_least_ratio_of_a_width_is_named) {
    const auto cell = [](const char* set, int bits, double ratio) {
        return nlohmann::json{{"set", set},
                              {"width_bits", bits},
                              {"traffic", "random"},
                              {"noise", 0.01},
                              {"ratio", ratio}};
    };
    nlohmann::json cells{cell("fresh-1", 256, 4), cell("fresh-2", 256, 1), cell("fresh-2", 256, 2),
                         cell("fresh-3", 512, 0.5)};
    cells.push_back(cell("fresh-4", 256, 1));
    cells.back()["ratio"] = nullptr;  // without a peer
    const auto all = [](const nlohmann::json&) { return true; };
    const auto summary = summarise_fresh(cells, "set", 256, all);
    EXPECT_EQ(summary["sets"], 2);
    EXPECT_EQ(summary["rows"], 3);
    EXPECT_EQ(summary["least"], 1);
    EXPECT_EQ(summary["least_of"], "fresh-2, random");
    EXPECT_NEAR(summary["geomean"].get<double>(), 2, 1e-9);
    EXPECT_TRUE(summarise_fresh(cells, "set", 128, all).is_null());
}

}  // namespace
}  // namespace turnpike::bench
