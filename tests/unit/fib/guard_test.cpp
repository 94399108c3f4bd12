// SPDX-License-Identifier: BSD-3-Clause
// Tables, addresses and answers that end where a page without access begins: no kernel touches it.
#include <gtest/gtest.h>

#include "family.hpp"
#include "lib/guarded_memory.hpp"
#include "lib/isa_param.hpp"
#include "lib/sanitized.hpp"

namespace turnpike::fib::test {
namespace {

using turnpike::test::guarded_memory;

/// Answer `at` from a guarded copy into a guarded array, in bursts of n from every kind of offset.
template <class Family>
void look_up(const typename Family::table_type& table, const oracle& expected,
             const std::vector<address>& at, size_t n) {
    using address_type = typename Family::address_type;
    guarded_memory pages;
    auto* dst = static_cast<address_type*>(pages.allocate(n * sizeof(address_type), 4));
    auto* nexthop = static_cast<uint64_t*>(pages.allocate(n * sizeof(uint64_t), 8));
    for (size_t from = 0; from < at.size(); from += n) {
        for (size_t i = 0; i < n; ++i) dst[i] = Family::from(at[(from + i) % at.size()]);
        table.lookup_bulk({dst, n}, {nexthop, n});
        for (size_t i = 0; i < n; ++i)
            ASSERT_EQ(nexthop[i], expected.lookup(at[(from + i) % at.size()]));
    }
}

/// max_bytes  of the arena: random routes fill it to its end, or are no more than max_routes
template <class Family>
void ends_before_the_guard(const std::string& kernel, uint64_t max_bytes = 48 * 1024,
                           unsigned max_routes = ~0U,
                           uint32_t short_routes = config{}.short_routes) {
    for (const uint64_t spread :
         {uint64_t{1}, uint64_t{300}, uint64_t{70'000}, uint64_t{1} << 40}) {
        guarded_memory pages;
        auto table = *Family::table_type::create({.next_hop_bytes = 8,
                                                  .kernel = kernel,
                                                  .allocator = pages.hook(),
                                                  .max_bytes = max_bytes,
                                                  .short_routes = short_routes});
        oracle expected;
        std::vector<address> at;
        const address last = address{~uint64_t{0}, ~uint64_t{0}}.masked(Family::bits);
        const auto add = [&](const address& a, unsigned length, uint64_t next_hop) {
            typename Family::table_type::change_type change{Family::from(a),
                                                            static_cast<uint8_t>(length), next_hop};
            // To the arena's end: as an addition, it would leave the reserve.
            if (!table->exchange({&change, 1}, true)) return false;
            expected.add(a, length, next_hop);
            add_edges(at, a, length, Family::bits);
            return true;
        };
        for (const unsigned length : Family::lengths) {
            ASSERT_TRUE(add(address{}, length, length % 7 * spread));
            ASSERT_TRUE(add(last.masked(length), length, length % 5 * spread));
        }
        prefixes<Family> random(41);
        unsigned refused = 0;
        while (refused < 3 && table->stats().routes < max_routes) {
            const unsigned length = random.any_length();
            refused += !add(random.any_address().masked(length), length, random() % 50 * spread);
        }
        EXPECT_EQ(table->readers_view()->direct, max_routes != ~0U);
        // The pages catch what reaches too far, with or without a sanitizer.
        for (const size_t n : {1U, 3U, 7U, 16U, 63U, 64U, 65U})
            if (!turnpike::test::slow || n == 7 || (!turnpike::test::emulated && n == 65))
                look_up<Family>(*table, expected, at, n);
        if (::testing::Test::HasFatalFailure()) return;
    }
}

class fib_guard : public ::testing::TestWithParam<std::string> {};

TEST_P(fib_guard, ipv4) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, lookup4_kernels());
    ends_before_the_guard<ipv4>(GetParam());
}
TEST_P(fib_guard, ipv6) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, lookup6_kernels());
    ends_before_the_guard<ipv6>(GetParam());
}
TEST_P(fib_guard, ipv6_direct_nodes) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, lookup6_kernels());
    ends_before_the_guard<ipv6>(GetParam(), config{}.max_bytes, 320, 0);
}

INSTANTIATE_TEST_SUITE_P(isa, fib_guard,
                         ::testing::ValuesIn(turnpike::test::kernel_names(lookup4_kernels())),
                         turnpike::test::isa_name);

}  // namespace
}  // namespace turnpike::fib::test
