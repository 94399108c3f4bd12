// SPDX-License-Identifier: BSD-3-Clause
// Many changes as one, against the oracle: for any set of changes in any order, lookups give the
// result of the changes made one after the other, and the reverse changes restore the table.
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "family.hpp"
#include "lib/sanitized.hpp"

namespace turnpike::fib::test {
namespace {

struct ipv4_changes : ipv4 {
    using change_type = change4;
};
struct ipv6_changes : ipv6 {
    using change_type = change6;
};

template <class Family>
class lab {
  public:
    using table_type = typename Family::table_type;
    using change_type = typename Family::change_type;
    using place = std::tuple<uint64_t, uint64_t, unsigned>;

    explicit lab(const config& c) : table(*table_type::create(c)) {}

    void request(const address& a, unsigned length, std::optional<uint64_t> next_hop) {
        changes.push_back({Family::from(a), static_cast<uint8_t>(length), next_hop});
        if (next_hop) {
            expected.add(a, length, *next_hop);
            routes[{a.high, a.low, length}] = *next_hop;
        } else {
            expected.remove(a, length);
            routes.erase({a.high, a.low, length});
        }
    }
    /// Returns the changes that revert it.
    std::vector<change_type> make() {
        const auto made = table->exchange(changes);
        EXPECT_TRUE(made) << made.error().message();
        return std::exchange(changes, {});
    }
    void check(const std::map<place, uint64_t>& wanted) {
        auto next = wanted.begin();
        table->for_each([&](const typename Family::route_type& r) {
            ASSERT_NE(next, wanted.end());
            const auto [high, low, length] = next->first;
            ASSERT_EQ(r.address, Family::from({high, low}));
            ASSERT_EQ(r.length, length);
            ASSERT_EQ(r.next_hop, next->second);
            ++next;
        });
        ASSERT_EQ(next, wanted.end());
        ASSERT_EQ(table->stats().routes, wanted.size());
    }
    void check_answers() {
        std::vector<address> at;
        for (const auto& [k, nexthop] : routes)
            add_edges(at, {std::get<0>(k), std::get<1>(k)}, std::get<2>(k), Family::bits);
        std::vector<typename Family::address_type> dst;
        for (const address& a : at) dst.push_back(Family::from(a));
        std::vector<uint64_t> nexthop(dst.size());
        table->lookup_bulk(dst, nexthop);
        for (size_t i = 0; i < at.size(); ++i) ASSERT_EQ(nexthop[i], expected.lookup(at[i]));
    }

    std::unique_ptr<table_type> table;
    oracle expected;
    std::map<place, uint64_t> routes;
    std::vector<change_type> changes;
};

/// sorted: as they should come; else as they fall. Next hops are few, or outgrow ids of a byte.
template <class Family>
void random_batches(uint32_t seed, bool sorted, uint32_t next_hops, uint32_t short_routes) {
    prefixes<Family> random(seed);
    lab<Family> l({.next_hop_bytes = 8,
                   .short_routes = short_routes,
                   .direct_bytes = seed % 2 == 0 ? config{}.direct_bytes : 0});
    std::vector<std::pair<address, unsigned>> known;
    for (int round = 0; round < (turnpike::test::slow ? 30 : 60); ++round) {
        struct wish {
            address a;
            unsigned length;
            std::optional<uint64_t> next_hop;
        };
        std::vector<wish> wishes;
        for (size_t n = random() % (round % 10 == 9 ? 1000 : 100); n-- > 0;) {
            if (known.empty() || random() % 2 == 0) {
                const unsigned length = random.any_length();
                known.emplace_back(random.any_address().masked(length), length);
            }
            // At times the same prefix several times, or an absent one.
            const auto [a, length] =
                random() % 2 == 0 ? known.back() : known[random() % known.size()];
            const bool there = random() % 3 != 0;
            wishes.push_back(
                {a, length, there ? std::optional(random() % next_hops) : std::nullopt});
        }
        if (sorted)
            std::stable_sort(wishes.begin(), wishes.end(), [](const wish& a, const wish& b) {
                return std::tuple(a.a.high, a.a.low, a.length) <
                       std::tuple(b.a.high, b.a.low, b.length);
            });
        const auto before = l.routes;
        for (const wish& w : wishes) l.request(w.a, w.length, w.next_hop);
        auto back = l.make();
        l.check(l.routes);
        l.check_answers();
        if (::testing::Test::HasFatalFailure()) return;
        if (random() % 4 != 0) continue;
        // Reverted, and made again: reverting the reverse changes gives the changes themselves,
        // each at its last.
        std::reverse(back.begin(), back.end());
        ASSERT_TRUE(l.table->exchange(back));
        l.check(before);
        std::reverse(back.begin(), back.end());
        ASSERT_TRUE(l.table->exchange(back));
        l.check(l.routes);
        l.check_answers();
        if (::testing::Test::HasFatalFailure()) return;
    }
    // All removed at once: no node and no next hop stays behind, except next hops shared by root
    // slots.
    for (const auto& [k, nexthop] : std::map(l.routes))
        l.request({std::get<0>(k), std::get<1>(k)}, std::get<2>(k), std::nullopt);
    l.make();
    l.check({});
    EXPECT_EQ(l.table->stats().next_hops, 1U);
    const auto levels = l.table->bytes_by_level();
    for (size_t level = 1; level < levels.size(); ++level) EXPECT_EQ(levels[level], 0U);
    EXPECT_LE(l.table->stats().live_bytes, 64U * (next_hops + 1));
}
TEST(fib4_exchange, sorted) { random_batches<ipv4_changes>(1, true, 100, 0); }
TEST(fib4_exchange, in_any_order) { random_batches<ipv4_changes>(2, false, 100, 0); }
TEST(fib4_exchange, ids_grow) { random_batches<ipv4_changes>(3, true, 100'000, 0); }
TEST(fib4_exchange, a_short_table) { random_batches<ipv4_changes>(8, false, 100, 127); }
TEST(fib4_exchange, few_next_hops) { random_batches<ipv4_changes>(9, false, 2, 0); }
TEST(fib6_exchange, few_next_hops) { random_batches<ipv6_changes>(10, false, 2, 0); }
TEST(fib6_exchange, sorted) { random_batches<ipv6_changes>(4, true, 100, 0); }
TEST(fib6_exchange, in_any_order) { random_batches<ipv6_changes>(5, false, 100, 0); }
TEST(fib6_exchange, ids_grow) { random_batches<ipv6_changes>(6, true, 100'000, 0); }
TEST(fib6_exchange, a_short_table) { random_batches<ipv6_changes>(7, false, 100, 300); }

template <class Family>
void refused_whole() {
    lab<Family> l({.max_routes = 3, .next_hop_bytes = 2});
    const address net = address{}.with(0, 16, 0x0a01);
    l.request(net, 16, 1);
    l.request(net, 24, 2);
    l.make();
    const auto routes = l.routes;
    const auto try_with = [&](auto... more) {
        using change = typename Family::change_type;
        std::vector<change> changes = {{Family::from(net), 16, 5},
                                       {Family::from(net), 24, std::nullopt},
                                       {Family::from(net), 17, 4},
                                       change(more)...};
        const auto refused = l.table->exchange(changes);
        EXPECT_EQ(*changes[0].next_hop, 5U);
        EXPECT_EQ(changes[1].next_hop, std::nullopt);
        l.check(routes);
        l.check_answers();
        EXPECT_EQ(l.table->stats().next_hops, 3U);  // and the default
        return refused ? 0 : refused.error().code;
    };
    using change = typename Family::change_type;
    EXPECT_EQ(try_with(change{Family::from(net), 20, 7}, change{Family::from(net), 21, 7}), ENOSPC);
    EXPECT_EQ(try_with(change{Family::from(net), 20, 0x10000}), EINVAL);
    EXPECT_EQ(try_with(change{Family::from(net), 8, 7}), EINVAL);  // bits behind the length
    EXPECT_EQ(try_with(change{Family::from(net), 129, 7}), EINVAL);
}
TEST(fib4_exchange, refused_whole) { refused_whole<ipv4_changes>(); }
TEST(fib6_exchange, refused_whole) { refused_whole<ipv6_changes>(); }

}  // namespace
}  // namespace turnpike::fib::test
