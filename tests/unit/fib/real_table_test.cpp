// SPDX-License-Identifier: BSD-3-Clause
// Both families on a real full table against the oracle: every next-hop width, then changes at the
// table's own prefixes.
#include <gtest/gtest.h>

#include <cstdlib>

#include "bench/routes.hpp"
#include "family.hpp"
#include "lib/source_tree.hpp"

namespace turnpike::fib::test {
namespace {

template <class Family>
bench::routes unpack(const std::filesystem::path& packed) {
    return bench::read_routes(packed.string(), Family::bits == 32 ? 4 : 6);
}

template <class Family>
class changed_table {
  public:
    changed_table(bench::routes routes, uint64_t distinct) : routes_(std::move(routes)) {
        bench::assign_next_hops(routes_, distinct);
        for (const entry& r : routes_) expected_.add(r.prefix, r.length, r.next_hop);
    }

    void load(uint8_t next_hop_bytes) {
        table_ = *Family::table_type::create({.next_hop_bytes = next_hop_bytes});
        std::vector<typename Family::route_type> routes;
        for (const entry& r : routes_)
            routes.push_back({Family::from(r.prefix), r.length, r.next_hop});
        const auto ok = table_->load(routes);
        ASSERT_TRUE(ok) << ok.error().message();
        ASSERT_EQ(table_->stats().routes, routes_.size());
    }

    /// Answers at the edges of one in `every` prefixes, and at random addresses.
    void check(size_t every) {
        std::vector<address> at;
        for (size_t i = random_() % every; i < routes_.size(); i += every)
            add_edges(at, routes_[i].prefix, routes_[i].length, Family::bits);
        for (int i = 0; i < 50'000; ++i) at.push_back(address{random_(), 0}.masked(Family::bits));
        std::vector<typename Family::address_type> dst;
        for (const address& a : at) dst.push_back(Family::from(a));
        std::vector<uint64_t> nexthop(dst.size());
        table_->lookup_bulk(dst, nexthop);
        for (size_t i = 0; i < at.size(); ++i)
            ASSERT_EQ(nexthop[i], expected_.lookup(at[i]))
                << std::hex << at[i].high << ' ' << at[i].low;
    }

    /// Withdrawals, replacements and more specifics, as a day of updates brings them.
    void change(unsigned updates) {
        for (unsigned k = 0; k < updates; ++k) {
            const entry& r = routes_[random_() % routes_.size()];
            const uint64_t next_hop = 1 + random_() % 200;
            const unsigned deeper = std::min(Family::bits, r.length + 1U + unsigned(random_() % 9));
            const unsigned length = random_() % 3 == 0 ? deeper : r.length;
            const auto at = Family::from(r.prefix);
            if (random_() % 2 == 0 && table_->get(at, length)) {
                ASSERT_TRUE(table_->remove(at, length));
                expected_.remove(r.prefix, length);
            } else {
                ASSERT_TRUE(table_->add(at, length, next_hop));
                expected_.add(r.prefix, length, next_hop);
            }
        }
    }

  private:
    bench::routes routes_;
    oracle expected_;
    std::unique_ptr<typename Family::table_type> table_;
    std::mt19937_64 random_{17};
};

template <class Family>
void every_width_then_changes(std::initializer_list<uint8_t> widths) {
    TURNPIKE_SHARED_OR_SKIP(packed, "data/bgp/full-table-2024-01.txt.gz");
    changed_table<Family> t(unpack<Family>(packed), 200);
    for (const uint8_t bytes : widths) {
        SCOPED_TRACE(int{bytes});
        t.load(bytes);
        t.check(20);
        if (::testing::Test::HasFatalFailure()) return;
    }
    for (int round = 0; round < 5; ++round) {
        t.change(20'000);
        t.check(10);
        if (::testing::Test::HasFatalFailure()) return;
    }
}
TEST(fib4_real_table, every_width_then_changes) { every_width_then_changes<ipv4>({1, 2, 4, 8}); }
TEST(fib6_real_table, every_width_then_changes) { every_width_then_changes<ipv6>({2, 4, 8}); }

}  // namespace
}  // namespace turnpike::fib::test
