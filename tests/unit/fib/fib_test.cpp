// SPDX-License-Identifier: BSD-3-Clause
// Both families against the oracle: any order of changes, every burst size, every kernel, failures.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>

#include "checked_table.hpp"
#include "lib/isa_param.hpp"
#include "lib/sanitized.hpp"

namespace turnpike::fib::test {
namespace {

/// {kernel, next hops: how many and how large}, so that every id coding is met.
struct nexthops_case {
    const char* name;
    uint32_t distinct;
    uint64_t spread;
};
constexpr nexthops_case nexthops_cases[] = {{"few", 2, 1},  // nodes whose slots lead to one leaf
                                            {"narrow", 200, 1},
                                            {"table8", 200, 0x1234'5678'9abc},
                                            {"wide", 60'000, 1},
                                            {"table16", 3'000, 0x1'0000'0001}};

template <class Family>
void random_changes(const std::string& kernel, const nexthops_case& nexthops,
                    bool network_order = false) {
    // Changes do not depend on the kernel, so each kernel gets a different sequence: more sequences
    // in the same time.
    uint32_t seed = 1;
    for (const auto& row : Family::kernels()) {
        if (row.name == kernel) break;
        ++seed;
    }
    prefixes<Family> random(seed);
    checked_table<Family> b({.name = "test",
                             .next_hop_bytes = 8,
                             .default_next_hop = 7,
                             .network_order = network_order,
                             .kernel = kernel});
    ASSERT_EQ(b.table->kernel(), kernel);
    std::vector<std::pair<address, unsigned>> known;
    const int steps = turnpike::test::emulated ? 400 : turnpike::test::slow ? 1'600 : 4'000;
    for (int step = 0; step < steps; ++step) {
        const uint64_t next_hop = random() % nexthops.distinct * nexthops.spread;
        if (known.empty() || random() % 3 != 0) {
            const unsigned length = random.any_length();
            known.emplace_back(random.any_address().masked(length), length);
            b.add(known.back().first, length, next_hop);
        } else {
            const auto [a, length] = known[random() % known.size()];
            random() % 3 == 0 ? b.add(a, length, next_hop) : b.remove(a, length);
        }
        if (::testing::Test::HasFatalFailure()) return;
        if (step % 800 == 799 && !network_order) b.check_edges(random);
    }
    b.check_order();
    while (!b.routes.empty()) {  // empty again, and nothing left behind
        const auto k =
            std::next(b.routes.begin(), random() % std::min<size_t>(b.routes.size(), 50))->first;
        b.remove({k.first, k.second.first}, k.second.second);
    }
    b.check_edges(random);
    EXPECT_EQ(b.table->stats().routes, 0U);
    EXPECT_EQ(b.table->stats().next_hops, 1U);
}

template <class Family>
void every_burst_size(const std::string& kernel) {
    prefixes<Family> random(11);
    checked_table<Family> b({.name = "test", .kernel = kernel});
    for (int i = 0; i < (turnpike::test::emulated ? 300 : 3'000); ++i) {
        const unsigned length = random.any_length();
        b.add(random.any_address().masked(length), length, random() % 250);
    }
    std::vector<address> at;
    for (const auto& [k, nexthop] : b.routes)
        add_edges(at, {k.first, k.second.first}, k.second.second, Family::bits);
    for (size_t n = 0; n <= 130; ++n)
        for (size_t start = 0; start < 4; ++start) {
            const size_t from = random() % (at.size() - 140) + start;
            b.check(
                {at.begin() + static_cast<long>(from), at.begin() + static_cast<long>(from + n)});
        }
    // Trains of one destination, whole and with one address of another anywhere in them.
    for (const size_t n : {2U, 3U, 8U, 31U, 32U, 33U, 64U, 65U, 130U}) {
        std::vector<address> train(n, at[random() % at.size()]);
        b.check(train);
        for (size_t i = 0; i < n; ++i) {
            const address kept = train[i];
            train[i] = random() % 2 ? at[random() % at.size()] : kept;
            (Family::bits == 32 || random() % 2 ? train[i].high : train[i].low) ^=
                uint64_t{1} << (Family::bits == 32 ? 32 + random() % 32 : random() % 64);
            b.check(train);
            train[i] = kept;
        }
    }
}

class fib : public ::testing::TestWithParam<std::string> {};

TEST_P(fib, ipv4_random_changes) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, lookup4_kernels());
    for (const nexthops_case& nexthops : nexthops_cases) {
        SCOPED_TRACE(nexthops.name);
        random_changes<ipv4>(GetParam(), nexthops);
    }
}
TEST_P(fib, ipv6_random_changes) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, lookup6_kernels());
    for (const nexthops_case& nexthops : nexthops_cases) {
        SCOPED_TRACE(nexthops.name);
        random_changes<ipv6>(GetParam(), nexthops);
    }
}
TEST_P(fib, ipv4_every_burst_size) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, lookup4_kernels());
    every_burst_size<ipv4>(GetParam());
}
TEST_P(fib, ipv6_every_burst_size) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, lookup6_kernels());
    every_burst_size<ipv6>(GetParam());
}

TEST_P(fib, ipv4_network_order_answers_the_same) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, lookup4_kernels());
    auto host = *fib4::create({.kernel = GetParam()});
    auto network = *fib4::create({.network_order = true, .kernel = GetParam()});
    prefixes<ipv4> random(5);
    for (int i = 0; i < (turnpike::test::emulated ? 200 : 2'000); ++i) {
        const unsigned length = random.any_length();
        const uint32_t a = ipv4::from(random.any_address().masked(length));
        ASSERT_TRUE(host->add(a, length, random() % 99));
        ASSERT_TRUE(network->add(a, length, *host->get(a, length)));
    }
    std::vector<uint32_t> dst(1000), swapped(1000);
    for (size_t i = 0; i < dst.size(); ++i)
        swapped[i] = swap_bytes(dst[i] = i < 100 ? 0x01020304 : ipv4::from(random.any_address()));
    std::vector<uint64_t> a(1000), b(1000);
    host->lookup_bulk(dst, a);
    network->lookup_bulk(swapped, b);
    EXPECT_EQ(a, b);
}

// A next hop that looks like an escape not yet followed.
TEST_P(fib, ipv4_next_hop_of_all_ones) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, lookup4_kernels());
    checked_table<ipv4> b({.name = "test", .next_hop_bytes = 8, .kernel = GetParam()});
    prefixes<ipv4> random(2);
    b.add({uint64_t{0x0a000000} << 32, 0}, 8, ~uint64_t{0});
    for (uint32_t i = 0; i < 300; ++i)
        b.add({uint64_t{0x0a000000 + i * 64} << 32, 0}, 26 + i % 7, ~uint64_t{i});
    b.check_edges(random);
}

// More than 256 byte nodes, which a one-byte id could not name, under more than 256 next hops
// later.
TEST_P(fib, ipv4_many_extensions_then_wider_ids) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, lookup4_kernels());
    checked_table<ipv4> b({.name = "test", .next_hop_bytes = 4, .kernel = GetParam()});
    prefixes<ipv4> random(3);
    for (uint32_t i = 0; i < 5'000; ++i)
        b.add({uint64_t{0x0a000000 + i * 128} << 32, 0}, 25 + i % 8, i % 200);
    b.check_edges(random);
    const auto rebuilds = b.table->stats().rebuilds;
    for (uint32_t i = 0; i < 5'000; i += 3)
        b.add({uint64_t{0x0a000000 + i * 128} << 32, 0}, 32, 1000 + i);
    EXPECT_GT(b.table->stats().rebuilds, rebuilds);
    b.check_edges(random);
    for (uint32_t i = 0; i < 100; ++i) b.add({uint64_t{0x0a000000 + i} << 32, 0}, 32, 100'000 + i);
    b.check_edges(random);
}

INSTANTIATE_TEST_SUITE_P(isa, fib,
                         ::testing::ValuesIn(turnpike::test::kernel_names(lookup4_kernels())),
                         turnpike::test::isa_name);

bool permitted(std::string_view kernel, uint16_t width, auto kernels) {
    const auto row = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const auto& r) { return r.name == kernel; });
    return row != kernels.end() && isa::may_run(*row, width);
}

/// Grows through every form of a table: short ones of each depth, nodes, rebuilds.
template <class Family>
void a_measured_kernel_is_one_that_the_width_permits() {
    for (const uint16_t width : std::initializer_list<uint16_t>{64, 128, 256, 512}) {
        prefixes<Family> random(9);
        checked_table<Family> b(
            {.name = "test", .max_simd_bitwidth = width, .measure_kernels = true});
        const std::string first(b.table->kernel());
        for (int i = 0; i < (turnpike::test::emulated ? 100 : 1'000); ++i) {
            const unsigned length = random.any_length();
            b.add(random.any_address().masked(length), length, random() % 250);
            ASSERT_TRUE(permitted(b.table->kernel(), width, Family::kernels()))
                << b.table->kernel();
        }
        if (width <= 256) {
            EXPECT_EQ(b.table->kernel(), first) << "one of 256 bits: nothing to compare";
        }
        b.check_edges(random);
        // A kernel that was selected by name stays.
        ASSERT_TRUE(b.table->select_kernel(width, "scalar"));
        ASSERT_TRUE(b.table->load({}));
        ASSERT_TRUE(b.table->add(Family::from({}), 0, 1));
        EXPECT_EQ(b.table->kernel(), "scalar");
        ASSERT_TRUE(b.table->select_kernel(width, "auto"));
        EXPECT_TRUE(permitted(b.table->kernel(), width, Family::kernels()));
    }
}
TEST(fib4_kernels, measured) { a_measured_kernel_is_one_that_the_width_permits<ipv4>(); }
TEST(fib6_kernels, measured) { a_measured_kernel_is_one_that_the_width_permits<ipv6>(); }

TEST(fib4_edges, default_route_first_and_last) {
    for (const bool first : {true, false}) {
        checked_table<ipv4> b({.name = "test", .default_next_hop = 9});
        prefixes<ipv4> random(1);
        if (first) b.add({}, 0, 1);
        b.add(address{}.with(0, 8, 255), 8, 2);  // covers 255.255.255.255
        b.add(address{}.with(0, 32, 0xffff'ffff), 32, 3);
        b.add(address{}.with(0, 32, 0x0a00'0000), 8, 4);
        b.add(address{}.with(0, 32, 0x0a00'0000), 24, 4);  // the parent's next hop
        b.add({}, 32, 5);
        b.check_edges(random);
        if (!first) b.add({}, 0, 1);
        b.check_edges(random);
        b.remove({}, 0);
        b.check_edges(random);
    }
}

// Root 2^18 and 2^16 entries of 4 bytes; a block of 64 slots is one line, and four more for links; a host node
// with IDs of one byte four; a page 1 KB; a byte node with two boundaries 40 + 3 * 4 bytes, one line; a direct node as a page.
TEST(fib4_edges, bytes_by_level) {
    auto t = *fib4::create({});
    ASSERT_TRUE(t->add(0x0a000000, 24, 1));
    EXPECT_EQ(t->bytes_by_level(), (level_bytes{1 << 20, 64}));
    ASSERT_TRUE(t->add(0x0a000080, 32, 2));
    EXPECT_EQ(t->bytes_by_level(), (level_bytes{1 << 20, 320, 256}));  // the block has an escape
    EXPECT_EQ(t->stats().live_bytes, 320U + 256 + 64);  // and what all other slots share
}
/// An allocator with a budget.
struct budget {
    size_t left = ~size_t{0};
    unsigned refused = 0;
    memory hook() {
        return {this,
                [](void* self, size_t bytes, size_t alignment) -> void* {
                    auto& me = *static_cast<budget*>(self);
                    if (bytes > me.left) {
                        ++me.refused;
                        return nullptr;
                    }
                    return std::aligned_alloc(alignment,
                                              (bytes + alignment - 1) / alignment * alignment);
                },
                [](void*, void* what) { std::free(what); }};
    }
};

template <class Family>
void exhaustion_then_recovery() {
    budget memory_left;
    checked_table<Family> b({.name = "small", .allocator = memory_left.hook()});
    prefixes<Family> random(21);
    memory_left.left = 0;  // growth fails from here on
    int refused = 0;
    std::pair<address, unsigned> last;
    for (int i = 0; i < 20'000 && refused < 50; ++i) {
        const unsigned length = random.any_length();
        const address a = random.any_address().masked(length);
        const auto ok = b.table->add(Family::from(a), length, random() % 100);
        if (ok) {
            b.expected.add(a, length, *b.table->get(Family::from(a), length));
            b.routes[b.key(a, length)] = *b.table->get(Family::from(a), length);
            continue;
        }
        ASSERT_EQ(ok.error().code, ENOMEM) << ok.error().message();
        last = {a, length};
        ++refused;
        if (refused % 10 == 1) b.check_edges(random);
    }
    ASSERT_EQ(refused, 50);
    b.check_order();
    memory_left.left = ~size_t{0};
    b.table->retry_growth();
    b.add(last.first, last.second, 77);
    b.check_edges(random);
}
TEST(fib4_limits, exhaustion_then_recovery) { exhaustion_then_recovery<ipv4>(); }
TEST(fib6_limits, exhaustion_then_recovery) { exhaustion_then_recovery<ipv6>(); }

/// Frees that wait, as for readers that are not quiescent yet.
struct held_frees {
    std::vector<rcu::deferred> items;
    rcu::defer_free hook() {
        return {this, [](void* self, rcu::deferred item) {
                    static_cast<held_frees*>(self)->items.push_back(item);
                }};
    }
    ~held_frees() { release(); }
    void release() {
        for (size_t i = 0; i < items.size(); ++i) items[i].release(items[i].owner, items[i].what);
        items.clear();
    }
};

/// A table whose routes fill its arena, two in each node, without memory for a larger one.
template <class Family>
struct full_table {
    static constexpr unsigned root_bits =
                                  Family::bits == 32 ? layout::root4_bits : layout::root6_bits,
                              length = root_bits + 8 - (Family::bits == 32 ? 6 : 0);
    budget memory_left{};
    held_frees frees{};
    checked_table<Family> b;
    uint32_t nodes = 0;
    std::vector<address> all{};

    explicit full_table(uint64_t bytes)
        : b({.name = "full",
             .allocator = memory_left.hook(),
             .defer_free = frees.hook(),
             .short_routes = 0}) {
        while (b.table->stats().node_bytes < bytes && try_add(++nodes)) frees.release();
        memory_left.left = 0;
        while (try_add(++nodes)) frees.release();
    }
    static address at(uint32_t node, unsigned which) {
        return {uint64_t{node} << (64 - root_bits) | uint64_t{which} << (64 - length), 0};
    }
    bool try_add(uint32_t node) {
        for (const unsigned which : {1U, 2U}) {
            const uint64_t nexthop = (node + which) % 100 + 1;
            const auto added = b.table->add(Family::from(at(node, which)), length, nexthop);
            if (!added) {
                EXPECT_EQ(added.error().code, ENOMEM) << added.error().message();
                return false;
            }
            b.expected.add(at(node, which), length, nexthop);
            b.routes[b.key(at(node, which), length)] = nexthop;
            all.push_back(at(node, which));
        }
        return true;
    }
};

/// A removal needs a new node before it frees the old one.
template <class Family>
void removals_find_room() {
    for (const uint64_t bytes : {uint64_t{0}, uint64_t{1} << 18}) {
        full_table<Family> full(bytes);
        ASSERT_GT(full.nodes, 20U);
        for (const unsigned which : {2U, 1U})
            for (uint32_t node = 1; node < full.nodes; ++node) {
                full.b.remove(full.at(node, which), full.length);
                if (::testing::Test::HasFatalFailure()) return;
                full.frees.release();
            }
        full.b.check(full.all);
    }
}
TEST(fib4_limits, removals_find_room) { removals_find_room<ipv4>(); }
TEST(fib6_limits, removals_find_room) { removals_find_room<ipv6>(); }

template <class Family>
void removals_are_undone() {
    full_table<Family> full(0);
    using change = typename Family::table_type::change_type;
    std::vector<change> changes;
    for (uint32_t node = 1; node < 3; ++node)
        changes.push_back(
            {Family::from(full.at(node, 1)), static_cast<uint8_t>(full.length), std::nullopt});
    ASSERT_TRUE(full.b.table->exchange(changes));
    EXPECT_EQ(full.b.table->get(changes[0].address, full.length), std::nullopt);
    std::reverse(changes.begin(), changes.end());
    ASSERT_FALSE(full.b.table->exchange(changes)) << "the old nodes are not free yet";
    ASSERT_TRUE(full.b.table->exchange(changes, true));
    full.b.check(full.all);
    full.b.check_order();
}
TEST(fib4_limits, removals_are_undone) { removals_are_undone<ipv4>(); }
TEST(fib6_limits, removals_are_undone) { removals_are_undone<ipv6>(); }

/// An attempt to grow visits the whole table.
template <class Family>
void refusals_are_cheap() {
    full_table<Family> full(0);
    full.memory_left.refused = 0;
    for (unsigned n = 0; n < 1000; ++n) ASSERT_FALSE(full.try_add(full.nodes));
    EXPECT_GT(full.memory_left.refused, 10U);
    EXPECT_LT(full.memory_left.refused, 60U);
    full.memory_left.left = ~size_t{0};
    unsigned tries = 0;
    while (!full.try_add(full.nodes)) ASSERT_LT(++tries, 65U);
    full.memory_left.left = 0;
    while (full.try_add(++full.nodes)) full.frees.release();
    for (unsigned n = 0; n < 10; ++n) ASSERT_FALSE(full.try_add(full.nodes));
    full.memory_left.left = ~size_t{0};
    ASSERT_FALSE(full.try_add(full.nodes));
    full.b.table->retry_growth();
    EXPECT_TRUE(full.try_add(full.nodes));
    full.b.check(full.all);
}
TEST(fib4_limits, refusals_are_cheap) { refusals_are_cheap<ipv4>(); }
TEST(fib6_limits, refusals_are_cheap) { refusals_are_cheap<ipv6>(); }

TEST(fib_arena, a_larger_block_is_split) {
    arena a({}, 64 + 1024);
    constexpr uint32_t line = arena::units(64), lines = 16;
    const uint32_t whole = a.allocate(lines * line);
    ASSERT_NE(whole, arena::none);
    EXPECT_EQ(a.allocate(line), arena::none);
    a.release(whole, lines * line);
    std::set<uint32_t> offsets;
    for (uint32_t n = 0; n < lines - 1; ++n) offsets.insert(a.allocate(line));
    for (uint32_t n = 0; n < 4; ++n) offsets.insert(a.allocate(1));
    EXPECT_EQ(offsets.size(), lines + 3);
    EXPECT_FALSE(offsets.contains(arena::none));
    EXPECT_EQ(a.allocate(1), arena::none);
    EXPECT_EQ(a.live_bytes(), 1024U);
}

TEST(fib_arena, additions_leave_room_for_changes_and_these_for_removals) {
    arena a({}, 256 * 1024);
    const auto fill = [&](arena::leave leaves) {
        a.set_leave(leaves);
        while (a.allocate(arena::units(64)) != arena::none) continue;
        return a.capacity_bytes() - a.live_bytes();
    };
    EXPECT_EQ(fill(arena::leave::reserve), a.reserve_bytes() + 64);
    EXPECT_EQ(fill(arena::leave::half_reserve), a.reserve_bytes() / 2 + 64);
    EXPECT_EQ(fill(arena::leave::nothing), 64U);
}

TEST(fib4_limits, max_routes_is_enospc_and_replace_still_works) {
    auto t = *fib4::create({.name = "two", .max_routes = 2});
    ASSERT_TRUE(t->add(0x0a000000, 8, 1));
    ASSERT_TRUE(t->add(0x0b000000, 8, 2));
    const auto third = t->add(0x0c000000, 8, 3);
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().code, ENOSPC);
    EXPECT_TRUE(t->add(0x0a000000, 8, 4));
    const route4 many[] = {{0, 8, 1}, {1u << 24, 8, 1}, {2u << 24, 8, 1}};
    EXPECT_EQ(t->load(many).error().code, ENOSPC);
    EXPECT_EQ(t->get(0x0a000000, 8), 4U);
}

TEST(fib4_limits, what_is_refused_and_why) {
    EXPECT_EQ(fib4::create({.next_hop_bytes = 3}).error().code, EINVAL);
    EXPECT_EQ(fib6::create({.next_hop_bytes = 1}).error().code, EINVAL);
    EXPECT_EQ(fib4::create({.kernel = "mmx"}).error().code, EINVAL);
    const std::string vectors = turnpike::test::narrowest_vectors(lookup4_kernels());
    EXPECT_EQ(fib4::create({.max_simd_bitwidth = 64, .kernel = vectors}).error().code, ENOTSUP);
    auto t = *fib4::create({.next_hop_bytes = 1});
    EXPECT_EQ(t->add(0, 33, 1).error().code, EINVAL);
    EXPECT_EQ(t->add(1, 24, 1).error().code, EINVAL);
    EXPECT_EQ(t->add(0, 24, 256).error().code, EINVAL);
    EXPECT_TRUE(t->add(0, 24, 255));
    EXPECT_EQ(t->remove(0, 25).error().code, ENOENT);
}

template <class Family>
void load_equals_adds() {
    prefixes<Family> random(9);
    checked_table<Family> b({.name = "loaded"});
    std::vector<typename Family::route_type> routes;
    for (int i = 0; i < 20'000; ++i) {
        const unsigned length = random.any_length();
        const address a = random.any_address().masked(length);
        const uint64_t next_hop = random() % 300;
        routes.push_back({Family::from(a), static_cast<uint8_t>(length), next_hop});
        b.expected.add(a, length, next_hop);
        b.routes[b.key(a, length)] = next_hop;
    }
    ASSERT_TRUE(b.table->add(routes[0].address, routes[0].length, 1));
    ASSERT_TRUE(b.table->load(routes));
    b.check_edges(random);
    b.check_order();
    for (int i = 0; i < 5'000; ++i) {
        const auto k = std::next(b.routes.begin(), random() % 20)->first;
        b.remove({k.first, k.second.first}, k.second.second);
        if (b.routes.size() < 30) break;
    }
    b.check_edges(random);
}
TEST(fib4_load, equals_adds) { load_equals_adds<ipv4>(); }
TEST(fib6_load, equals_adds) { load_equals_adds<ipv6>(); }

/// Releases nodes in the order in which they were deferred.
void release_all(std::deque<rcu::deferred>& held) {
    for (; !held.empty(); held.pop_front())
        held.front().release(held.front().owner, held.front().what);
}

// Nothing is reused before quiescence: with a hook that holds back, readers of an old view still
// find the old nodes.
TEST(fib4_defer, old_nodes_live_until_the_hook_releases) {
    std::deque<rcu::deferred> held;
    auto t = *fib4::create(
        {.defer_free = {&held, [](void* to, rcu::deferred item) {
                            static_cast<std::deque<rcu::deferred>*>(to)->push_back(item);
                        }}});
    for (uint32_t i = 0; i < 1'000; ++i) ASSERT_TRUE(t->add(0x0a000000 + (i << 8), 24, i % 100));
    const uint64_t live = t->stats().live_bytes;
    release_all(held);
    EXPECT_LT(t->stats().live_bytes, live);
    t.reset();  // which hands the hook what the table still had
    EXPECT_FALSE(held.empty());
    release_all(held);
}

// A table may go while the hook still keeps what it deferred: what those items write into goes
// behind them, and all of it goes.
template <class Family>
void a_table_may_go_first() {
    std::deque<rcu::deferred> held;
    long blocks = 0;
    const memory counting{&blocks,
                          [](void* count, size_t bytes, size_t alignment) -> void* {
                              ++*static_cast<long*>(count);
                              return std::aligned_alloc(
                                  alignment, (bytes + alignment - 1) / alignment * alignment);
                          },
                          [](void* count, void* what) {
                              if (what != nullptr) --*static_cast<long*>(count);
                              std::free(what);
                          }};
    auto t = *Family::table_type::create(
        {.next_hop_bytes = 8,
         .allocator = counting,
         .defer_free = {&held, [](void* to, rcu::deferred item) {
                            static_cast<std::deque<rcu::deferred>*>(to)->push_back(item);
                        }}});
    prefixes<Family> random(3);
    for (uint64_t i = 0; i < 1'000; ++i) {
        const unsigned length = random.any_length();
        const address a = random.any_address().masked(length);
        ASSERT_TRUE(t->add(Family::from(a), length, (i % 100) << 40));
        if (i % 2 == 0) continue;
        ASSERT_TRUE(t->remove(Family::from(a), length));
    }
    const size_t pending = held.size();
    t.reset();
    EXPECT_GT(pending, 0u);
    ASSERT_GT(held.size(), pending) << "the items would write into a removed table";
    ASSERT_GT(blocks, 0);
    release_all(held);
    EXPECT_EQ(blocks, 0);
}
TEST(fib4_defer, a_table_may_go_first) { a_table_may_go_first<ipv4>(); }
TEST(fib6_defer, a_table_may_go_first) { a_table_may_go_first<ipv6>(); }

}  // namespace
}  // namespace turnpike::fib::test
