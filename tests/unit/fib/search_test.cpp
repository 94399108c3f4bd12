// SPDX-License-Identifier: BSD-3-Clause
// Searches of short tables (interval_search) beside the oracle: every number of levels, both families,
// every burst length around a vector, narrow and wide next hops.
#include <gtest/gtest.h>

#include "family.hpp"
#include "lib/guarded_memory.hpp"
#include "lib/isa_param.hpp"
#include "lib/sanitized.hpp"

namespace turnpike::fib::test {
namespace {

using turnpike::test::guarded_memory;

/// Whether kernels of this instruction set have searches (look_up_bits of lib/isa/simd).
bool searches(const std::string& kernel) { return kernel == "avx2" || kernel == "avx512"; }

template <class Family>
struct short_lab {
    using address_type = typename Family::address_type;
    explicit short_lab(config c) : expected(c.default_next_hop) {
        c.allocator = pages.hook();
        table = *Family::table_type::create(c);
    }
    bool add(const address& a, unsigned length, uint64_t next_hop) {
        if (!table->add(Family::from(a), length, next_hop)) return false;
        expected.add(a, length, next_hop);
        add_edges(at, a, length, Family::bits);
        return true;
    }
    /// Look up all edges in bursts of n, whose addresses and results end at a page without access.
    void check(size_t n, typename Family::address_type (*given)(const address&)) {
        guarded_memory ends;
        auto* dst = static_cast<address_type*>(ends.allocate(n * sizeof(address_type), 4));
        auto* nexthop = static_cast<uint64_t*>(ends.allocate(n * sizeof(uint64_t), 8));
        for (size_t from = 0; from < at.size(); from += n) {
            for (size_t i = 0; i < n; ++i) dst[i] = given(at[(from + i) % at.size()]);
            table->lookup_bulk({dst, n}, {nexthop, n});
            for (size_t i = 0; i < n; ++i)
                ASSERT_EQ(nexthop[i], expected.lookup(at[(from + i) % at.size()]))
                    << n << " at once, " << table->stats().routes << " routes";
        }
    }
    void check_bursts(typename Family::address_type (*given)(const address&) = &Family::from) {
        for (size_t n = 1; n <= (turnpike::test::slow ? 9 : 2 * 16 + 1); ++n) check(n, given);
        for (const size_t n : {64U, 65U, 250U}) check(n, given);
    }

    guarded_memory pages;
    std::unique_ptr<typename Family::table_type> table;
    oracle expected;
    std::vector<address> at{{}, address{~uint64_t{0}, ~uint64_t{0}}.masked(Family::bits)};
};

/// So many routes with gaps between them are 2 * routes intervals.
template <class Family>
void every_level(const std::string& kernel, uint64_t spread, unsigned next_hop_bytes) {
    for (const unsigned count : {1U, 4U, 5U, 8U, 9U, 16U, 17U, 32U, 33U, 64U, 65U, 127U}) {
        short_lab<Family> l({.next_hop_bytes = static_cast<uint8_t>(next_hop_bytes),
                             .default_next_hop = 5,
                             .kernel = kernel});
        prefixes<Family> random(count);
        for (unsigned i = 1; i <= count; ++i)
            ASSERT_TRUE(l.add(Family::bits == 32 ? address{uint64_t{0xff00'0000 + 2 * i} << 32, 0}
                                                 : address{0xffff'ffff'0000'0000 + 2 * i, 0},
                              Family::bits == 32 ? 32 : 64, random() % 7 * spread));
        unsigned levels = layout::search_least_levels;
        while (1U << levels < 2 * count + 1) ++levels;
        EXPECT_EQ(l.table->readers_view()->search.levels, levels) << count;
        EXPECT_EQ(l.table->readers_view()->search.nexthops32 != nullptr, spread * 6 >> 32 == 0);
        l.check_bursts();
        if (::testing::Test::HasFatalFailure()) return;
    }
}

/// Nested and adjacent prefixes of all lengths; IPv6 with and without routes longer than /64.
template <class Family>
void any_prefixes(const std::string& kernel, unsigned longest) {
    for (const uint32_t seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
        short_lab<Family> l({.next_hop_bytes = 8, .kernel = kernel});
        prefixes<Family> random(seed);
        unsigned searched = 0;
        for (unsigned i = 0; i < 100; ++i) {
            const unsigned length = std::min(random.any_length(), longest);
            ASSERT_TRUE(l.add(random.any_address().masked(length), length,
                              random() % 100 * (i < 50 ? 1 : 1'000'000'007)));
            searched += l.table->readers_view()->search.levels != 0;
            if (i % 9 == 0 && !turnpike::test::slow) l.check_bursts();
            if (::testing::Test::HasFatalFailure()) return;
        }
        EXPECT_EQ(searched, 100U);
        l.check_bursts();
    }
}

class fib_search : public ::testing::TestWithParam<std::string> {};

TEST_P(fib_search, every_level) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, lookup4_kernels());
    every_level<ipv4>(GetParam(), 1, 1);
    every_level<ipv4>(GetParam(), 70'000, 4);
    every_level<ipv4>(GetParam(), uint64_t{1} << 40, 8);
    every_level<ipv6>(GetParam(), 1, 2);
    every_level<ipv6>(GetParam(), 70'000, 4);
    every_level<ipv6>(GetParam(), uint64_t{1} << 40, 8);
}

TEST_P(fib_search, prefixes_of_any_length) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, lookup4_kernels());
    any_prefixes<ipv4>(GetParam(), 32);
    any_prefixes<ipv6>(GetParam(), 64);
    any_prefixes<ipv6>(GetParam(), 128);
}

TEST_P(fib_search, network_order) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, lookup4_kernels());
    short_lab<ipv4> l({.network_order = true, .kernel = GetParam()});
    prefixes<ipv4> random(9);
    for (unsigned i = 0; i < 100; ++i) {
        const unsigned length = random.any_length();
        ASSERT_TRUE(l.add(random.any_address().masked(length), length, i));
        if (i % 13 == 0)
            l.check_bursts([](const address& a) { return __builtin_bswap32(ipv4::from(a)); });
        if (HasFatalFailure()) return;
    }
}

/// Bursts of a vector or more are searched; others, and kernels without searches, use the nodes.
TEST_P(fib_search, is_what_answers) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, lookup4_kernels());
    short_lab<ipv4> l({.default_next_hop = 1, .kernel = GetParam()});
    ASSERT_TRUE(l.add({uint64_t{0x0a00'0000} << 32, 0}, 8, 2));
    const auto other = *fib4::create({.default_next_hop = 3, .short_routes = 0});
    view mixed = *other->readers_view();  // its nodes, the search of l
    mixed.search = l.table->readers_view()->search;
    EXPECT_EQ(other->readers_view()->search.levels, 0U);
    const std::vector<uint32_t> dst(40, 0x0a00'0001);
    std::vector<uint64_t> nexthop(dst.size());
    kernel->function(mixed, dst.data(), nexthop.data(), 40);
    for (const uint64_t h : nexthop) EXPECT_EQ(h, searches(GetParam()) ? 2U : 3U);
    kernel->function(mixed, dst.data(), nexthop.data(), 7);
    EXPECT_EQ(nexthop[0], 3U);
}

INSTANTIATE_TEST_SUITE_P(isa, fib_search,
                         ::testing::ValuesIn(turnpike::test::kernel_names(lookup4_kernels())),
                         turnpike::test::isa_name);

TEST(fib_search_limits, a_table_grows_out_of_it_and_returns) {
    short_lab<ipv4> l({});
    const auto is_short = [&] { return l.table->readers_view()->search.levels != 0; };
    const auto nth = [](unsigned i) { return address{uint64_t{i} << 40, 0}; };
    for (unsigned i = 0; i < short_table::max_routes4; ++i) {
        EXPECT_TRUE(is_short()) << i;
        ASSERT_TRUE(l.add(nth(i), 24, i));
    }
    EXPECT_TRUE(is_short());
    ASSERT_TRUE(l.add(nth(127), 24, 127));
    EXPECT_FALSE(is_short());
    l.check(64, &ipv4::from);
    for (unsigned i = 127; i >= 63; --i) {
        EXPECT_FALSE(is_short()) << "so that it does not come and go";
        ASSERT_TRUE(l.table->remove(ipv4::from(nth(i)), 24));
        l.expected.remove(nth(i), 24);
    }
    EXPECT_TRUE(is_short());
    l.check(64, &ipv4::from);
    EXPECT_EQ((*fib4::create({.short_routes = 0}))->readers_view()->search.levels, 0U);
}

}  // namespace
}  // namespace turnpike::fib::test
