// SPDX-License-Identifier: BSD-3-Clause
// Nodes of IPv6 tables: which form they have, and that nothing is left of them.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "checked_table.hpp"

namespace turnpike::fib::test {
namespace {

TEST(fib6_edges, nodes_are_direct_while_they_fit) {
    checked_table<ipv6> b({.name = "test", .short_routes = 0, .direct_bytes = 256 * 1024});
    checked_table<ipv6> limited({.name = "test", .max_bytes = 64 * 1024, .short_routes = 0});
    prefixes<ipv6> random(5);
    const auto network = [](uint32_t i) {
        return address{0x2001'0db8'0000'0000, 0}.with(32, 32, i * 101 << 16);
    };
    for (uint32_t i = 0; i < 600; ++i) {
        b.add(network(i), 48, 1 + i % 5);
        if (i < 100) limited.add(network(i), 48, 1 + i % 5);
        if (i % 100 == 0) b.check_edges(random);
        if (i == 20) {
            EXPECT_TRUE(b.table->readers_view()->direct);
        }
    }
    EXPECT_FALSE(b.table->readers_view()->direct) << "256 nodes of 1 KB";
    EXPECT_FALSE(limited.table->readers_view()->direct);
    b.check_edges(random);
    limited.check_edges(random);
    while (b.routes.size() > 3) b.remove(network(static_cast<uint32_t>(b.routes.size() - 1)), 48);
    b.check_edges(random);
}

/// The last 64 bits are a tree while they have few routes, with direct nodes above it, and with compressed ones.
TEST(fib6_edges, hosts_of_a_network_are_a_tree) {
    for (const uint64_t direct_bytes : {uint64_t{0}, config{}.direct_bytes}) {
        checked_table<ipv6> b({.name = "test", .short_routes = 0, .direct_bytes = direct_bytes});
        prefixes<ipv6> random(7);
        const uint64_t network = 0x2001'0db8'0001'0002;
        std::vector<std::pair<address, unsigned>> hosts;
        b.add({network, 0}, 64, 9);
        b.add({network + 1, 0}, 48 + 16, 8);
        const uint64_t without = b.table->bytes_by_level()[7];
        EXPECT_EQ(without, 0U);
        for (uint32_t i = 0; i < 600; ++i) {
            const unsigned length = i % 7 == 0 ? 65 + static_cast<unsigned>(random() % 63) : 128;
            const address a = address{network, uint64_t{random()} << 32 | random()}.masked(length);
            if (b.table->get(ipv6::from(a), length)) continue;
            hosts.emplace_back(a, length);
            b.add(a, length, i % 5);
            if (i == 30) {
                const level_bytes levels = b.table->bytes_by_level();
                EXPECT_GT(levels[7], 0U);
                EXPECT_EQ(std::accumulate(levels.begin() + 8, levels.end(), uint64_t{0}), 0U);
            }
            if (i % 60 == 0) b.check_edges(random);
            if (::testing::Test::HasFatalFailure()) return;
        }
        const level_bytes many = b.table->bytes_by_level();
        EXPECT_GT(std::accumulate(many.begin() + 8, many.end(), uint64_t{0}), 0U)
            << "more than a tree holds";
        b.check_edges(random);
        while (hosts.size() > 20) {
            b.remove(hosts.back().first, hosts.back().second);
            hosts.pop_back();
        }
        b.add({network, 0}, 64, 7);  // the network's node is built again
        b.check_edges(random);
        const level_bytes few = b.table->bytes_by_level();
        EXPECT_EQ(std::accumulate(few.begin() + 8, few.end(), uint64_t{0}), 0U);
        for (const auto& [a, length] : hosts) b.remove(a, length);
        b.check_edges(random);
    }
}

TEST(fib6_edges, a_lookup_ends_above_nodes_of_one_leaf) {
    checked_table<ipv6> b({.name = "test", .short_routes = 0});
    const address provider{0x2001'0db8'0000'0000, 0}, site{0x2001'0db8'0001'0000, 0},
        subnet{0x2001'0db8'0001'0002, 0};
    const auto page_entry = [&] {
        const view& v = *b.table->readers_view();
        const uint32_t page = v.root[0x2001];
        uint32_t entry;
        std::memcpy(&entry,
                    v.nodes + (page & ~(layout::page_align - 1)) +
                        4 * (0x0dU >> (page & layout::page_shift_mask)),
                    sizeof entry);
        return entry;
    };
    prefixes<ipv6> random(3);
    b.add({0x2001'0d00'0000'0000, 0}, 24, 1);
    b.add(provider, 32, 1);
    EXPECT_EQ(page_entry() & layout::node_bit, 0U) << "as the route around it";
    b.add(site, 48, 1);
    b.add(subnet, 64, 1);
    EXPECT_EQ(page_entry() & layout::node_bit, 0U);
    b.add(subnet, 64, 2);  // changes the deepest node: all above it are linked again
    EXPECT_EQ(page_entry() & layout::node_bit, layout::node_bit);
    b.check_edges(random);
    b.remove(subnet, 64);
    b.add(site, 48, 2);
    b.check_edges(random);
    b.add(site, 48, 1);
    b.add(provider, 32, 3);
    b.check_edges(random);
    b.remove(provider, 32);
    b.check_edges(random);
}

TEST(fib6_edges, drift_of_parents_and_children) {
    // ADD parent, ADD children, DEL parent, DEL children, again and again, must not use anything
    // up.
    checked_table<ipv6> b({.name = "test"});
    prefixes<ipv6> random(1);
    const address parent = address{}.with(0, 32, 0x20010db8);
    uint64_t live = 0;
    for (int round = 0; round < 200; ++round) {
        b.add(parent, 32, 1);
        for (uint32_t i = 0; i < 50; ++i) b.add(parent.with(32, 32, i * 0x01010101), 64 + i, 2 + i);
        b.remove(parent, 32);
        for (uint32_t i = 0; i < 50; ++i) b.remove(parent.with(32, 32, i * 0x01010101), 64 + i);
        if (round == 0) live = b.table->stats().live_bytes;
    }
    EXPECT_EQ(b.table->stats().live_bytes, live);
    b.check_edges(random);
}

TEST(fib6_edges, bytes_by_level) {
    for (const uint64_t direct_bytes : {uint64_t{0}, config{}.direct_bytes}) {
        auto t = *fib6::create({.direct_bytes = direct_bytes});
        ASSERT_TRUE(t->add({0x20, 1, 0x0d, 0xb8}, 32, 1));
        EXPECT_EQ(t->bytes_by_level(),
                  (level_bytes{1 << 18, 1024, direct_bytes == 0 ? 64U : 1024U}));
        ASSERT_TRUE(t->remove({0x20, 1, 0x0d, 0xb8}, 32));
        EXPECT_EQ(t->bytes_by_level(), (level_bytes{1 << 18}));
    }
}

}  // namespace
}  // namespace turnpike::fib::test
