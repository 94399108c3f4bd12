// SPDX-License-Identifier: BSD-3-Clause
// A table beside the oracle: each change goes to both, and lookups are compared.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <utility>

#include "unit/fib/family.hpp"

namespace turnpike::fib::test {

template <class Family>
struct checked_table {
    using table_type = typename Family::table_type;
    std::unique_ptr<table_type> table;
    oracle expected;
    std::map<std::pair<uint64_t, std::pair<uint64_t, unsigned>>, uint64_t> routes;

    explicit checked_table(const config& c) : expected(c.default_next_hop) {
        auto made = table_type::create(c);
        EXPECT_TRUE(made) << made.error().message();
        table = std::move(*made);
    }
    static auto key(const address& a, unsigned length) {
        return std::pair(a.high, std::pair(a.low, length));
    }
    void add(const address& a, unsigned length, uint64_t next_hop) {
        const auto ok = table->add(Family::from(a), length, next_hop);
        ASSERT_TRUE(ok) << ok.error().message();
        expected.add(a, length, next_hop);
        routes[key(a, length)] = next_hop;
    }
    void remove(const address& a, unsigned length) {
        const bool there = routes.erase(key(a, length)) != 0;
        const auto ok = table->remove(Family::from(a), length);
        ASSERT_EQ(bool{ok}, there);
        ASSERT_TRUE(there || ok.error().code == ENOENT);
        expected.remove(a, length);
    }
    void check(const std::vector<address>& at) const {
        std::vector<typename Family::address_type> dst;
        for (const address& a : at) dst.push_back(Family::from(a));
        std::vector<uint64_t> nexthop(dst.size(), ~uint64_t{0});
        table->lookup_bulk(dst, nexthop);
        for (size_t i = 0; i < at.size(); ++i)
            ASSERT_EQ(nexthop[i], expected.lookup(at[i]))
                << std::hex << at[i].high << ' ' << at[i].low << " at " << std::dec << i;
    }
    void check_edges(prefixes<Family>& random) const {
        std::vector<address> at;
        for (const auto& [k, next_hop] : routes)
            add_edges(at, {k.first, k.second.first}, k.second.second, Family::bits);
        for (int i = 0; i < 500; ++i) at.push_back(random.any_address());
        at.push_back({});
        at.push_back(address{~uint64_t{0}, ~uint64_t{0}}.masked(Family::bits));
        check(at);
    }
    void check_order() const {
        auto next = routes.begin();
        table->for_each([&](const typename Family::route_type& r) {
            ASSERT_NE(next, routes.end());
            const address a{next->first.first, next->first.second.first};
            EXPECT_EQ(r.address, Family::from(a));
            EXPECT_EQ(r.length, next->first.second.second);
            EXPECT_EQ(r.next_hop, next->second);
            EXPECT_EQ(table->get(r.address, r.length), next->second);
            ++next;
        });
        EXPECT_EQ(next, routes.end());
    }
};

}  // namespace turnpike::fib::test
