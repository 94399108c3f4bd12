// SPDX-License-Identifier: BSD-3-Clause
// Every change with every one of its allocations failing, from operator new and from the table's
// own hook: it reports ENOMEM and the table is exactly as it was, or it worked all the same.
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "family.hpp"
#include "lib/failing_new.hpp"
#include "lib/sanitized.hpp"

namespace turnpike::fib::test {
namespace {

using turnpike::test::allocations_until_failure;
using turnpike::test::never;

template <class Family>
struct snapshot {
    std::vector<std::tuple<typename Family::address_type, unsigned, uint64_t>> routes;
    std::vector<uint64_t> answers;
    bool operator==(const snapshot&) const = default;
};

/// The routes, and the results of lookups, at every edge of the routes and of `more`.
template <class Family>
snapshot<Family> snapshot_of(const typename Family::table_type& table,
                             const std::vector<address>& at) {
    snapshot<Family> s;
    table.for_each([&](const typename Family::route_type& r) {
        s.routes.emplace_back(r.address, r.length, r.next_hop);
    });
    std::vector<typename Family::address_type> dst;
    for (const address& a : at) dst.push_back(Family::from(a));
    s.answers.resize(dst.size());
    table.lookup_bulk(dst, s.answers);
    EXPECT_EQ(table.stats().routes, s.routes.size());
    return s;
}

/// Run `change` with its n-th allocation and all later ones failing, for n = 0 until it works.
template <class Family, class Change>
void fail_each(typename Family::table_type& table, const std::vector<address>& at,
               const Change& change) {
    const auto before = snapshot_of<Family>(table, at);
    const uint32_t nexthops = table.stats().next_hops;
    for (long n = 0;; ++n) {
        ASSERT_LT(n, 10'000);
        table.retry_growth();
        allocations_until_failure = n;
        const auto ok = change(table);
        allocations_until_failure = never;
        if (ok) return;
        ASSERT_EQ(ok.error().code, ENOMEM);
        ASSERT_EQ(snapshot_of<Family>(table, at), before) << "allocation " << n;
        ASSERT_EQ(table.stats().next_hops, nexthops) << "allocation " << n;
    }
}

template <class Family>
void create_fails_whole() {
    for (long n = 0;; ++n) {
        ASSERT_LT(n, 10'000);
        const config c{.name = "a name too long for the small string",
                       .allocator = turnpike::test::failing_memory()};
        allocations_until_failure = n;
        const auto made = Family::table_type::create(c);
        allocations_until_failure = never;
        if (made) return;
        ASSERT_EQ(made.error().code, ENOMEM);
    }
}
TEST(fib4_failures, create_fails_whole) { create_fails_whole<ipv4>(); }
TEST(fib6_failures, create_fails_whole) { create_fails_whole<ipv6>(); }

template <class Family>
void every_change_fails_whole() {
    prefixes<Family> random(31);
    auto table = *Family::table_type::create({.name = "a name too long for the small string",
                                              .next_hop_bytes = 8,
                                              .allocator = turnpike::test::failing_memory()});
    std::map<std::tuple<uint64_t, uint64_t, unsigned>, uint64_t> oracle_routes;
    oracle expected;
    std::vector<address> at;
    // Next hops grow until ids outgrow one byte, and nodes until the arena is full.
    for (uint32_t step = 0; step < (turnpike::test::sanitized ? 280 : 700); ++step) {
        const unsigned length = random.any_length();
        const address a = random.any_address().masked(length);
        const uint64_t next_hop = step;
        if (at.size() > 400) at.resize(200);
        add_edges(at, a, length, Family::bits);
        fail_each<Family>(*table, at,
                          [&](auto& t) { return t.add(Family::from(a), length, next_hop); });
        oracle_routes[{a.high, a.low, length}] = next_hop;
        expected.add(a, length, next_hop);
        if (::testing::Test::HasFatalFailure()) return;
        if (step % 3 == 0) {
            const auto victim = std::next(oracle_routes.begin(),
                                          static_cast<long>(random() % oracle_routes.size()));
            const auto [high, low, victim_length] = victim->first;
            const address v{high, low};
            fail_each<Family>(*table, at, [&, bits = victim_length](auto& t) {
                return t.remove(Family::from(v), bits);
            });
            expected.remove(v, victim_length);
            oracle_routes.erase(victim);
        }
        if (::testing::Test::HasFatalFailure()) return;
    }
    const auto end = snapshot_of<Family>(*table, at);
    for (size_t i = 0; i < at.size(); ++i) ASSERT_EQ(end.answers[i], expected.lookup(at[i]));
    EXPECT_EQ(end.routes.size(), oracle_routes.size());
    std::vector<typename Family::route_type> routes(3, {Family::from(address{}), 0, 5});
    fail_each<Family>(*table, at, [&](auto& t) { return t.load(routes); });
    EXPECT_EQ(table->stats().routes, 1U);
}
TEST(fib4_failures, every_change_fails_whole) { every_change_fails_whole<ipv4>(); }
TEST(fib6_failures, every_change_fails_whole) { every_change_fails_whole<ipv6>(); }

struct change_of_ipv4 : ipv4 {
    using change_type = change4;
};
struct change_of_ipv6 : ipv6 {
    using change_type = change6;
};

/// Changes that come together: all of them are made, or none.
template <class Family>
void every_exchange_fails_whole() {
    prefixes<Family> random(37);
    auto table = *Family::table_type::create({.name = "a name too long for the small string",
                                              .next_hop_bytes = 8,
                                              .allocator = turnpike::test::failing_memory()});
    std::vector<std::pair<address, unsigned>> known;
    std::map<std::tuple<uint64_t, uint64_t, unsigned>, uint64_t> routes;
    oracle expected;
    for (uint32_t round = 0; round < (turnpike::test::sanitized ? 10 : 25); ++round) {
        std::vector<typename Family::change_type> changes;
        std::vector<address> at;
        for (uint32_t i = 0; i < 1 + round * 4; ++i) {
            if (known.empty() || random() % 2 == 0) {
                const unsigned length = random.any_length();
                known.emplace_back(random.any_address().masked(length), length);
            }
            const auto [a, length] =
                random() % 2 == 0 ? known.back() : known[random() % known.size()];
            std::optional<uint64_t> next_hop;
            if (random() % 3 != 0) next_hop = round * 100 + i;
            changes.push_back({Family::from(a), static_cast<uint8_t>(length), next_hop});
            add_edges(at, a, length, Family::bits);
            const std::tuple slot(a.high, a.low, length);
            if (next_hop) {
                routes[slot] = *next_hop;
                expected.add(a, length, *next_hop);
            } else {
                routes.erase(slot);
                expected.remove(a, length);
            }
        }
        auto tried = changes;  // it has room for them
        fail_each<Family>(*table, at, [&](auto& t) {
            tried.assign(changes.begin(), changes.end());
            return t.exchange(tried);
        });
        if (::testing::Test::HasFatalFailure()) return;
        const auto now = snapshot_of<Family>(*table, at);
        ASSERT_EQ(now.routes.size(), routes.size());
        for (size_t i = 0; i < at.size(); ++i) ASSERT_EQ(now.answers[i], expected.lookup(at[i]));
    }
}
TEST(fib4_failures, every_exchange_fails_whole) { every_exchange_fails_whole<change_of_ipv4>(); }
TEST(fib6_failures, every_exchange_fails_whole) { every_exchange_fails_whole<change_of_ipv6>(); }

/// A table that has to grow, and for whose usual spare room there is no memory, takes less.
template <class Family>
void grows_by_less() {
    struct pool {
        size_t largest = ~size_t{0};
    } from;
    const memory limited{&from,
                         [](void* self, size_t bytes, size_t alignment) -> void* {
                             if (bytes > static_cast<pool*>(self)->largest) return nullptr;
                             return std::aligned_alloc(
                                 alignment, (bytes + alignment - 1) / alignment * alignment);
                         },
                         [](void*, void* what) { std::free(what); }};
    auto table = *Family::table_type::create({.name = "limited", .allocator = limited});
    prefixes<Family> random(41);
    const auto add = [&] {
        const unsigned length = random.any_length();
        return table->add(Family::from(random.any_address().masked(length)),
                          static_cast<uint8_t>(length), random() % 1000);
    };
    while (table->stats().node_bytes < 2 << 20) ASSERT_TRUE(add());
    // More than the table has, and less than twice that.
    from.largest = table->stats().node_bytes * 3 / 2;
    const uint64_t rebuilds = table->stats().rebuilds;
    while (table->stats().rebuilds == rebuilds) {
        const auto added = add();
        ASSERT_TRUE(added) << added.error().message();
    }
}
TEST(fib4_failures, grows_by_less) { grows_by_less<ipv4>(); }
TEST(fib6_failures, grows_by_less) { grows_by_less<ipv6>(); }

// A route whose removal prunes nodes, while neither a new node nor a rebuild has room: what earlier removals freed is
// held for readers.
TEST(fib4_failures, remove_without_memory_keeps_the_route) {
    std::vector<rcu::deferred> held;
    held.reserve(100'000);
    auto table = *fib4::create(
        {.allocator = turnpike::test::failing_memory(),
         .defer_free = {&held,
                        [](void* to, rcu::deferred item) {
                            static_cast<std::vector<rcu::deferred>*>(to)->push_back(item);
                        }},
         .max_bytes = 34 * 1024});
    std::vector<uint32_t> there;
    for (uint32_t i = 0; i < 100'000; ++i) {
        const uint32_t a = i / 2 << 14 | i % 2 << 8 | 1;  // two in a block
        if (!table->add(a, 32, 1 + i % 2)) break;
        there.push_back(a);
    }
    allocations_until_failure = 0;
    unsigned refused = 0;
    for (const uint32_t a : there) {
        const auto ok = table->remove(a, 32);
        refused += !ok;
        const auto now = table->get(a, 32);
        ASSERT_EQ(bool{ok}, !now.has_value());
        uint64_t nexthop;
        table->lookup_bulk({&a, 1}, {&nexthop, 1});
        ASSERT_EQ(nexthop != 0, now.has_value());
    }
    allocations_until_failure = never;
    EXPECT_GT(refused, 0U);
    table.reset();
    for (const rcu::deferred& item : held) item.release(item.owner, item.what);
}

}  // namespace
}  // namespace turnpike::fib::test
