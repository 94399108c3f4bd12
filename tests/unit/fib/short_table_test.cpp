// SPDX-License-Identifier: BSD-3-Clause
// Short IPv6 tables, which are looked up as intervals: beside the oracle, while they grow and shrink.
#include <gtest/gtest.h>

#include <map>

#include "family.hpp"
#include "lib/isa_param.hpp"
#include "lib/sanitized.hpp"

namespace turnpike::fib::test {
namespace {

bool is_short(const fib6& t) { return t.readers_view()->trees != nullptr; }

struct routes {
    explicit routes(config c) : table(*fib6::create(c)), expected(c.default_next_hop) {}
    void add(const address& a, unsigned length, uint64_t next_hop) {
        ASSERT_TRUE(table->add(ipv6::from(a), length, next_hop));
        expected.add(a, length, next_hop);
        there[{a.high, a.low, length}] = next_hop;
    }
    void remove_any(uint64_t random) {
        const auto victim = std::next(there.begin(), static_cast<long>(random % there.size()));
        const auto [high, low, length] = victim->first;
        ASSERT_TRUE(table->remove(ipv6::from({high, low}), length));
        expected.remove({high, low}, length);
        there.erase(victim);
    }
    void check(prefixes<ipv6>& random) const {
        std::vector<address> at{{}, {~uint64_t{0}, ~uint64_t{0}}};
        for (const auto& [k, next_hop] : there)
            add_edges(at, {std::get<0>(k), std::get<1>(k)}, std::get<2>(k), 128);
        for (int i = 0; i < 100; ++i) at.push_back(random.any_address());
        std::vector<ipv6_address> dst;
        for (const address& a : at) dst.push_back(ipv6::from(a));
        std::vector<uint64_t> nexthop(dst.size());
        table->lookup_bulk(dst, nexthop);
        for (size_t i = 0; i < at.size(); ++i)
            ASSERT_EQ(nexthop[i], expected.lookup(at[i]))
                << std::hex << at[i].high << ' ' << at[i].low << std::dec << ", " << there.size()
                << " routes";
    }

    std::unique_ptr<fib6> table;
    oracle expected;
    std::map<std::tuple<uint64_t, uint64_t, unsigned>, uint64_t> there;
};

class fib_short : public ::testing::TestWithParam<std::string> {};

TEST_P(fib_short, random_changes) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, lookup6_kernels());
    for (const uint64_t spread : {uint64_t{1}, uint64_t{0x1234'5678'9abc}}) {
        prefixes<ipv6> random(77);
        routes r({.next_hop_bytes = 8, .default_next_hop = 7, .kernel = GetParam()});
        unsigned short_checks = 0, long_checks = 0;
        // Towards the longest and back, three times.
        const int steps = turnpike::test::slow ? 1'000 : 4'000;
        for (int step = 0; step < steps; ++step) {
            const bool growing = step * 6 / steps % 2 == 0;
            if (r.there.empty() || random() % 8 < (growing ? 7 : 1)) {
                const unsigned length = random.any_length();
                r.add(random.any_address().masked(length), length, random() % 300 * spread);
            } else {
                r.remove_any(random());
            }
            if (HasFatalFailure()) return;
            if (step % 16 == 0) {
                r.check(random);
                ++(is_short(*r.table) ? short_checks : long_checks);
            }
            if (HasFatalFailure()) return;
            EXPECT_TRUE(is_short(*r.table) || r.there.size() > short_table::max_routes / 2);
            EXPECT_FALSE(is_short(*r.table) && r.there.size() > short_table::max_routes);
        }
        EXPECT_GT(short_checks, 20U);
        EXPECT_TRUE(turnpike::test::slow || long_checks > 20);
    }
}

/// A tree of each depth, above and below: networks, and hosts of one network.
TEST_P(fib_short, trees_of_every_depth) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, lookup6_kernels());
    for (const bool hosts : {false, true})
        for (const unsigned count : {1U, 4U, 5U, 40U, 41U, 182U, 364U}) {
            prefixes<ipv6> random(count);
            routes r({.kernel = GetParam()});
            for (unsigned i = 0; i < count; ++i)  // with gaps: two intervals a route
                r.add(hosts ? address{0x2001'0db8'0000'0001, 4 * i} : address{uint64_t{2} * i, 0},
                      hosts ? 128 : 64, i + 1);
            ASSERT_TRUE(is_short(*r.table)) << count;
            const tree* trees = r.table->readers_view()->trees;
            EXPECT_EQ(trees[hosts ? 1 : 0].levels, count < 5 ? 1U : count < 41 ? 2U : 3U) << count;
            r.check(random);
            if (HasFatalFailure()) return;
        }
}

TEST_P(fib_short, the_ends_of_all_addresses) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, lookup6_kernels());
    prefixes<ipv6> random(5);
    routes r({.default_next_hop = 9, .kernel = GetParam()});
    const uint64_t all = ~uint64_t{0};
    r.add({}, 0, 1);
    r.check(random);
    r.add({all, all}, 128, 2);
    r.add({all, 0}, 64, 3);
    r.add({}, 128, 4);
    r.add({}, 64, 5);
    r.add({all, all - 1}, 127, 6);
    r.add({uint64_t{1} << 63, 0}, 1, 7);
    r.add({all - 1, all}, 128, 8);  // its network ends where another one begins
    r.check(random);
    while (!r.there.empty()) {
        r.remove_any(random());
        r.check(random);
        if (HasFatalFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(isa, fib_short,
                         ::testing::ValuesIn(turnpike::test::kernel_names(lookup6_kernels())),
                         turnpike::test::isa_name);

TEST(fib_short_limits, as_long_as_asked_for) {
    prefixes<ipv6> random(3);
    routes r({.short_routes = 10});
    for (unsigned i = 0; i < 11; ++i) {
        EXPECT_TRUE(is_short(*r.table)) << i;
        r.add({uint64_t{i} << 32, 0}, 64, i);
    }
    EXPECT_FALSE(is_short(*r.table));
    while (r.there.size() > 6) r.remove_any(0);
    EXPECT_FALSE(is_short(*r.table)) << "so that it does not come and go";
    r.remove_any(0);
    EXPECT_TRUE(is_short(*r.table));
    r.check(random);
    EXPECT_FALSE(is_short(*routes({.short_routes = 0}).table));
}

TEST(fib_short_limits, a_load_decides_anew) {
    std::vector<route6> many;
    for (uint16_t i = 0; i <= short_table::max_routes; ++i)
        many.push_back({{{0x20, static_cast<uint8_t>(i >> 8), static_cast<uint8_t>(i)}}, 24, i});
    const auto table = *fib6::create({});
    ASSERT_TRUE(table->load(many));
    EXPECT_FALSE(is_short(*table));
    many.pop_back();
    ASSERT_TRUE(table->load(many));
    EXPECT_TRUE(is_short(*table));
    const ipv6_address at{{0x20, 0, 99, 5}};
    uint64_t nexthop = 0;
    table->lookup_bulk({&at, 1}, {&nexthop, 1});
    EXPECT_EQ(nexthop, 99U);
}

}  // namespace
}  // namespace turnpike::fib::test
