// SPDX-License-Identifier: BSD-3-Clause
// The set of the operator's routes: compared with a map; copies are independent and cheap to compare.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "lib/sanitized.hpp"
#include "route_targets.hpp"
#include "state/routes.hpp"

namespace turnpike::state {
namespace {

using oracle = std::map<ip_prefix, route_target>;

ip_prefix prefix_of(uint32_t n) {
    ip_prefix p{ip_address::from_v4(n << 8), 24};
    if (n % 5 == 0) {
        p.address.v6 = true;
        p.length = 64;
    }
    return p.network();
}

route_target target_of(uint32_t n) {
    if (n == 0) return {.type = route_type::blackhole};
    return target_via(ip_address::from_v4(n), "east");
}

void expect_same(const route_set& got, const oracle& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    auto at = got.begin();
    for (const auto& [to, target] : wanted) {
        ASSERT_EQ(at->to, to);
        ASSERT_EQ(got.targets()[at->target], target);
        ASSERT_EQ(*got.find(to), target);
        ++at;
    }
    EXPECT_EQ(at, got.end());
}

/// The changes of diff() turn the first map into the second.
void expect_diff(const route_set& before, const route_set& after, oracle from, const oracle& to) {
    const route_changes c = diff(before, after);
    for (const ip_prefix& p : c.removed) ASSERT_EQ(from.erase(p), 1U);
    for (const route& r : c.set) {
        const auto there = from.find(r.to);
        ASSERT_TRUE(there == from.end() || there->second != after.targets()[r.target])
            << "nothing differs at " << r.to.text();
        from[r.to] = after.targets()[r.target];
    }
    EXPECT_EQ(from, to);
}

TEST(route_set, random_changes_and_copies) {
    std::mt19937 engine(7);
    const auto random = [&engine](uint32_t below) {
        return static_cast<uint32_t>(engine()) % below;
    };
    route_set set;
    oracle wanted;
    for (uint32_t n = 0; n < 3000; ++n) {
        const ip_prefix to = prefix_of(n * 3);
        set.add(to, set.target_index(target_of(n % 9)));
        wanted[to] = target_of(n % 9);
    }
    EXPECT_EQ(set.finish(), std::nullopt);
    expect_same(set, wanted);
    for (int round = 0; round < (turnpike::test::sanitized ? 20 : 60); ++round) {
        const route_set before = set;
        const oracle was = wanted;
        for (uint32_t i = 0; i < 1u << (round % 10); ++i) {
            const ip_prefix to = prefix_of(random(12000));
            if (random(2) == 0) {
                EXPECT_EQ(set.remove(to), wanted.erase(to) == 1);
            } else {
                const route_target t = target_of(random(40));
                set.set(to, t);
                wanted[to] = t;
            }
        }
        expect_same(set, wanted);
        expect_same(before, was);
        expect_diff(before, set, was, wanted);
        expect_diff(set, before, wanted, was);
        const ip_prefix some = prefix_of(random(12000));
        const auto from = wanted.lower_bound(some);
        const auto at = set.lower_bound(some);
        if (from == wanted.end())
            EXPECT_EQ(at, set.end());
        else
            EXPECT_EQ(at->to, from->first);
    }
    while (!wanted.empty()) {
        ASSERT_TRUE(set.remove(wanted.begin()->first));
        wanted.erase(wanted.begin());
    }
    expect_same(set, wanted);
    EXPECT_EQ(set.begin(), set.end());
    set.set(prefix_of(1), target_of(1));
    EXPECT_EQ(set.size(), 1U);
}

/// Sets are copied, restored, changed and released as states are: each set keeps its contents, and
/// diff() of any two is exact.
TEST(route_set, copies_of_copies_each_stay_what_they_were) {
    std::mt19937 engine(11);
    const auto random = [&engine](size_t below) { return static_cast<uint32_t>(engine() % below); };
    struct kept {
        route_set set;
        oracle is;
    };
    std::vector<kept> all(1);
    for (int round = 0; round < (turnpike::test::sanitized ? 100 : 400); ++round) {
        // A copy of any set, changed a little or, at times, nearly altogether; at times the
        // original is changed.
        const uint32_t from = random(all.size());
        if (all.size() < 12 && random(4) != 0) all.push_back(kept(all[from]));
        kept& one = random(3) == 0 ? all[from] : all.back();
        const uint32_t changes = round % 50 == 7 ? 9000 : random(30);
        for (uint32_t i = 0; i < changes; ++i) {
            const ip_prefix to = prefix_of(random(4000));
            if (random(5) < 2) {
                EXPECT_EQ(one.set.remove(to), one.is.erase(to) == 1);
            } else {
                const route_target t = target_of(random(40));
                EXPECT_EQ(one.set.set(to, t), !one.is.contains(to));
                one.is[to] = t;
            }
        }
        const kept &a = all[random(all.size())], &b = all[random(all.size())];
        expect_same(a.set, a.is);
        expect_diff(a.set, b.set, a.is, b.is);
        expect_same(b.set, b.is);
        if (random(4) == 0) all.erase(all.begin() + random(all.size()));
        if (all.empty()) all.resize(1);
        if (HasFatalFailure()) return;
    }
    for (const kept& k : all) expect_same(k.set, k.is);
}

/// Prefixes that come and go all over the address space leave no empty parts behind.
TEST(route_set, stays_small_where_routes_come_and_go) {
    route_set set;
    oracle wanted;
    for (uint32_t n = 0; n < 40'000; ++n) {
        set.set(prefix_of(n), target_of(1));
        wanted[prefix_of(n)] = target_of(1);
        if (n < 100) continue;
        EXPECT_TRUE(set.remove(prefix_of(n - 100)));
        wanted.erase(prefix_of(n - 100));
    }
    expect_same(set, wanted);
    EXPECT_LT(set.parts(), 200U);
}

TEST(route_set, grows_from_nothing_in_any_order) {
    for (const int step : {1, -1}) {
        route_set set;
        oracle wanted;
        for (int i = 0; i < 3000; ++i) {
            const auto n = static_cast<uint32_t>(step > 0 ? i : 3000 - i);
            set.set(prefix_of(n), target_of(1));
            wanted[prefix_of(n)] = target_of(1);
        }
        expect_same(set, wanted);
    }
}

/// Gateways that come and go leave nothing behind.
TEST(route_set, targets_that_no_route_has_are_used_again) {
    route_set set;
    set.set(prefix_of(1), target_of(1));
    for (uint32_t n = 2; n < 1000; ++n) {
        set.set(prefix_of(2), target_of(n));
        EXPECT_EQ(*set.find(prefix_of(2)), target_of(n));
        EXPECT_LE(set.targets().size(), 3U);
    }
    EXPECT_EQ(set.find_target(target_of(500)), std::nullopt);
    EXPECT_EQ(*set.find(prefix_of(1)), target_of(1));
}

/// A batch of a daemon's changes copies a set several times, which may have thousands of targets.
TEST(route_set, copies_share_targets_until_one_changes) {
    route_set set;
    for (uint32_t n = 0; n < 100; ++n) set.set(prefix_of(n), target_of(n % 10));
    const auto shares = [&](const route_set& other) { return other.targets() == set.targets(); };
    route_set copy = set;
    const route_set older = set;
    EXPECT_TRUE(shares(copy) && shares(older));
    EXPECT_FALSE(copy.remove(prefix_of(100)));
    EXPECT_FALSE(copy.set(prefix_of(7), target_of(7)));
    EXPECT_TRUE(shares(copy)) << "nothing changed";
    EXPECT_TRUE(copy.set(prefix_of(100), target_of(77)));
    EXPECT_TRUE(copy.remove(prefix_of(3)));
    EXPECT_FALSE(shares(copy));
    EXPECT_TRUE(shares(older));
    EXPECT_EQ(set.size(), 100U);
    EXPECT_FALSE(set.find_target(target_of(77)));
    EXPECT_EQ(set.uses_of(*set.find_target(target_of(3))), 10U);
    EXPECT_EQ(copy.uses_of(*copy.find_target(target_of(3))), 9U);
    EXPECT_EQ(diff(set, copy).size(), 2U);
    // The last owner changes its targets in place.
    const route_targets before = copy.targets();
    copy.set(prefix_of(101), target_of(77));
    EXPECT_TRUE(copy.targets() == before);
    // Both still share the targets that neither changed.
    EXPECT_EQ(&copy.targets()[*copy.find_target(target_of(3))],
              &set.targets()[*set.find_target(target_of(3))]);
}

/// The table is shared, and differences that follow cost their routes only.
TEST(route_set, a_replaced_target_concerns_all_its_routes) {
    constexpr uint32_t routes = 300, targets = 10;
    route_set set;
    oracle wanted;
    const auto change = [&](uint32_t n, uint32_t target) {
        set.set(prefix_of(n), target_of(target));
        wanted[prefix_of(n)] = target_of(target);
    };
    for (uint32_t n = 0; n < routes; ++n) change(n, n % targets);
    const auto replace = [](route_set& in, oracle& same, uint32_t target, uint32_t by) {
        in.replace_target(*in.find_target(target_of(target)), target_of(by));
        for (auto& [to, leads] : same)
            if (leads == target_of(target)) leads = target_of(by);
    };
    const auto replaced = [&] {
        std::pair out(set, wanted);
        replace(out.first, out.second, 3, 100);
        replace(out.first, out.second, 4, 5);  // both remain
        return out;
    };
    auto [first, first_wanted] = replaced();
    expect_same(first, first_wanted);
    expect_same(set, wanted);
    expect_diff(set, first, wanted, first_wanted);
    expect_diff(first, set, first_wanted, wanted);
    change(13, 6);
    change(16, 3);
    const auto [second, second_wanted] = replaced();
    expect_same(second, second_wanted);
    EXPECT_EQ(diff(first, second).size(), 2U);
    expect_diff(first, second, first_wanted, second_wanted);
    expect_diff(set, second, wanted, second_wanted);
    for (uint32_t n = 0; n < routes; ++n) first.remove(prefix_of(n));
    expect_same(first, {});
}

TEST(route_set, a_prefix_that_was_added_twice) {
    route_set set;
    const uint32_t t = set.target_index(target_of(1));
    for (const uint32_t n : {3U, 1U, 2U, 1U}) set.add(prefix_of(n), t);
    EXPECT_EQ(set.finish(), prefix_of(1));
}

}  // namespace
}  // namespace turnpike::state
