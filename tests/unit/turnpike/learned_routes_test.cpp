// SPDX-License-Identifier: BSD-3-Clause
// Routes of the kernel are written beside transactions, where next hops exist. Oracle: the same routes by a transaction.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <random>
#include <set>

#include "lib/eal.hpp"
#include "lib/path_lab.hpp"
#include "lib/sanitized.hpp"
#include "state/next_hop_rules.hpp"

namespace turnpike::control {
namespace {

using namespace test;

constexpr const char* router =
    "control_plane: {netlink: true}\n"
    "vrfs: [{name: red, table: 10}]\n"
    "ports:\n"
    "  - {name: west, device: d0, addresses: [10.0.1.254/24], host_interface: true}\n"
    "  - {name: east, device: d1, addresses: [10.0.2.254/24, \"2001:db8:2::fe/64\"], "
    "host_interface: true}\n";
constexpr const char* limits_of_512 = "neighbours: {max_entries: 512}\n";

/// The CPU time of control's thread, in milliseconds: independent of other load.
double cpu_ms() {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

/// In a separate network namespace, in which control makes its host interfaces.
class learned_routes : public ::testing::Test {
  protected:
    void SetUp() override {
        if (::unshare(CLONE_NEWNET) != 0) GTEST_SKIP() << "needs its own network namespace";
        start("");
    }
    void start(const std::string& more, const std::string& limits = limits_of_512) {
        lab_.reset();
        lab_ = std::make_unique<running_lab>(router + limits + more);
        kernel_ = {};
        learn();
    }
    controller& control() { return lab_->controller(); }
    static ip_prefix network(uint32_t n, uint8_t length = 24) {
        return {ip_address::from_v4(0x1400'0000 + (n << 8)), length};
    }
    static ip_prefix network6(uint32_t n) {
        ip_prefix p = *parse_prefix("2001:db8:8000::/64");
        p.address.bytes[6] = static_cast<uint8_t>(n >> 8);
        p.address.bytes[7] = static_cast<uint8_t>(n);
        return p;
    }
    static state::route_member by(uint32_t host) {
        return {.via = ip_address::from_v4(0x0a00'0200 + host), .interface = "east"};
    }
    static state::route_target to(uint32_t host, uint32_t metric = 20, uint8_t protocol = 186) {
        return {.members = {by(host)}, .protocol = protocol, .metric = metric};
    }
    /// Changes wait for workers, which only this thread polls.
    void paused(const std::function<void()>& change) {
        lab_->worker().pause();
        change();
        lab_->worker().resume();
    }
    void learn() {
        for (bool done = false; !done && !HasFatalFailure();) {
            const double begun = cpu_ms();
            paused([&] {
                const auto learnt = control().learn(kernel_);
                ASSERT_TRUE(learnt);
                done = *learnt;
            });
            longest_ms_ = std::max(longest_ms_, cpu_ms() - begun);
            ++calls_;
        }
    }
    uint64_t transactions() { return control().learned_so_far().transactions; }
    uint32_t nexthop_of(const ip_prefix& p, uint8_t vrf = 0) {
        ip_address a = p.address;
        a.bytes[a.v6 ? 15 : 3] = static_cast<uint8_t>(a.bytes[a.v6 ? 15 : 3] + 1);
        return control().routing().tables().lookup(vrf, a);
    }
    /// The gateway that packets to a network are sent to; none: no route.
    std::string gateway_of(const ip_prefix& p, uint8_t vrf = 0) {
        const uint32_t nexthop = nexthop_of(p, vrf);
        if (nexthop == datapath::fixed_nexthop::no_route) return "none";
        if (nexthop < datapath::fixed_nexthop::first_free)
            return "fixed " + std::to_string(nexthop);
        const auto n = control().routing().neighbours().of_nexthop(nexthop);
        return n ? n->address.text() : "group";
    }

    std::unique_ptr<running_lab> lab_;
    state::learned kernel_{};
    double longest_ms_ = 0;  ///< of CPU time, of a call of learn()
    unsigned calls_ = 0;
};

TEST_F(learned_routes, are_written_without_a_transaction) {
    kernel_.routes.set(network(1), to(2));
    kernel_.routes.set(network(2), to(3));
    learn();
    const uint64_t before = transactions(), changes = control().changes();
    EXPECT_EQ(gateway_of(network(1)), "10.0.2.2");
    kernel_.routes.set(network(3), to(3));  // new
    kernel_.routes.set(network(1), to(3));  // changed; the other next hop has no route now
    kernel_.routes.set(network(4), to(2, 500, 188));  // by another daemon
    kernel_.routes.set(network(4, 23), to(3));
    learn();
    EXPECT_EQ(gateway_of(network(1)), "10.0.2.3");
    EXPECT_EQ(gateway_of(network(3)), "10.0.2.3");
    EXPECT_EQ(gateway_of(network(4)), "10.0.2.2");
    EXPECT_EQ(gateway_of(network(5)), "10.0.2.3");
    kernel_.routes.remove(network(4));
    kernel_.routes.set(network(2), to(2));
    learn();
    EXPECT_EQ(gateway_of(network(4)), "10.0.2.3");
    EXPECT_EQ(gateway_of(network(2)), "10.0.2.2");
    EXPECT_EQ(control().followed().route_count(), 4U);
    EXPECT_EQ(transactions(), before);
    EXPECT_EQ(control().changes(), changes);
}

TEST_F(learned_routes, by_new_next_hops_need_no_transaction) {
    const uint64_t before = transactions();
    kernel_.routes.set(network(1), to(2));
    kernel_.routes.set(network(2), to(4));
    kernel_.routes.set(network(5), {.type = state::route_type::prohibit});
    learn();
    EXPECT_EQ(gateway_of(network(1)), "10.0.2.2");
    EXPECT_EQ(gateway_of(network(2)), "10.0.2.4");
    EXPECT_EQ(nexthop_of(network(5)), datapath::fixed_nexthop::prohibited);
    EXPECT_TRUE(control().routing().neighbours().of_nexthop(nexthop_of(network(2)))->gateway);
    EXPECT_EQ(transactions(), before);
    // The first group: workers learn from the snapshot that there are groups.
    kernel_.routes.set(network(3), {.members = {by(2), by(4)}});
    learn();
    EXPECT_EQ(transactions(), before + 1);
    EXPECT_EQ(gateway_of(network(3)), "group");
    const uint32_t group = nexthop_of(network(3));
    kernel_.routes.set(network(4), {.members = {by(2), by(4)}, .metric = 7});
    kernel_.routes.remove(network(3));
    kernel_.routes.set(network(6), {.members = {by(2), by(5), by(6)}});
    kernel_.routes.set(network(7), {.members = {by(2)}, .mtu = 1400});
    learn();
    EXPECT_EQ(transactions(), before + 1);
    EXPECT_EQ(nexthop_of(network(4)), group);
    EXPECT_EQ(gateway_of(network(3)), "none");
    const auto members = control().routing().groups().of_nexthop(nexthop_of(network(6))).members;
    ASSERT_EQ(members.size(), 3U);
    for (const auto& m : members) EXPECT_GT(m.buckets, 0U);
    EXPECT_EQ(control().routing().groups().of_nexthop(nexthop_of(network(7))).mtu, 1400);
    // A route without a gateway changes which neighbours are on the link.
    kernel_.routes.set(network(8), {.members = {{.interface = "east"}}});
    learn();
    EXPECT_EQ(transactions(), before + 2);
    // From now on a prefix that contains a neighbour does, too.
    kernel_.routes.set(network(9), to(7));
    learn();
    EXPECT_EQ(transactions(), before + 2);
    kernel_.routes.set({*parse_address("10.0.2.0"), 28}, to(2));
    learn();
    EXPECT_EQ(transactions(), before + 3);
}

/// A neighbour may lose its host route to a longer route inside its connected network, which a transaction decides.
TEST_F(learned_routes, inside_a_connected_network_need_a_transaction_where_a_neighbour_is) {
    kernel_.routes.set(network(1), to(2));
    learn();
    const uint64_t before = transactions();
    kernel_.routes.set({*parse_address("10.0.2.64"), 26}, to(3));
    kernel_.routes.set({*parse_address("10.0.0.0"), 8}, to(3));
    learn();
    EXPECT_EQ(transactions(), before);
    kernel_.routes.set({*parse_address("10.0.2.0"), 26}, to(3));
    learn();
    EXPECT_EQ(transactions(), before + 1);
}

/// Gateways that no route has any more are forgotten by a transaction, long before they fill the table.
TEST_F(learned_routes, release_their_next_hops) {
    start("", "neighbours: {max_entries: 16384}\n");
    constexpr uint32_t changes = 5000;
    const uint64_t before = transactions();
    for (uint32_t n = 0; n < changes; ++n) {
        kernel_.routes.set(network(1), to(300 + n));
        learn();
        ASSERT_LT(control().routing().neighbours().size(), 1200U);
    }
    EXPECT_GE(transactions() - before, changes / 1100);
    EXPECT_LE(transactions() - before, changes / 1000);
    EXPECT_EQ(gateway_of(network(1)), by(300 + changes - 1).via->text());
    // With the limit in the way, one that goes makes room for the next at once.
    start("", "neighbours: {max_entries: 16}\n");
    for (uint32_t n = 0; n < 100; ++n) {
        kernel_.routes.set(network(1), to(2 + n));
        learn();
        ASSERT_EQ(gateway_of(network(1)), by(2 + n).via->text());
        ASSERT_FALSE(control().routing().no_room().any());
    }
}

TEST_F(learned_routes, yield_to_the_operators) {
    start("routes: [{to: 20.0.1.0/24, via: 10.0.2.9}]\n");
    kernel_.routes.set(network(2), to(2));
    kernel_.routes.set(network(1), to(3));
    learn();
    const uint64_t before = transactions();
    kernel_.routes.set(network(1), to(2));
    kernel_.routes.set({*parse_address("10.0.1.0"), 24}, to(2));  // connected
    learn();
    EXPECT_EQ(gateway_of(network(1)), "10.0.2.9");
    const auto connected = nexthop_of({*parse_address("10.0.1.0"), 24});
    EXPECT_NE(connected, nexthop_of(network(2)));
    EXPECT_EQ(transactions(), before);
    // The operator takes his route away: the kernel's counts.
    ASSERT_TRUE(lab_->apply(std::string(router) + limits_of_512));
    EXPECT_EQ(gateway_of(network(1)), "10.0.2.2");
}

/// An operator's route goes before the kernel's network of the same prefix, and decides on its neighbours.
TEST_F(learned_routes, of_an_address_yield_to_the_operators) {
    const ip_prefix net = *parse_prefix("10.0.9.0/24");
    const ip_address host = *parse_address("10.0.9.1");
    kernel_.addresses["west"] = {*parse_prefix("10.0.9.9/24")};
    learn();
    auto& neighbours = control().routing().neighbours();
    const uint16_t west = control().interfaces().indexes().at("west");
    neighbours.learn(west, host, {{2, 0, 0, 0, 9, 1}}, true, 1);
    EXPECT_EQ(gateway_of(net), "10.0.9.1");
    const std::string base = std::string(router) + limits_of_512;
    ASSERT_TRUE(lab_->apply(base + "routes: [{to: 10.0.9.0/24, via: 10.0.2.9}]\n"));
    EXPECT_EQ(gateway_of(net), "10.0.2.9");
    EXPECT_FALSE(neighbours.knows(west, host)) << "not on the link";
    // As a gateway, the host stays known, and is on the link again without the operator's route.
    const std::string gateway = "{to: 20.0.1.0/24, via: 10.0.9.1, port: west, onlink: true}";
    ASSERT_TRUE(lab_->apply(base + "routes: [" + gateway + "]\n"));
    neighbours.learn(west, host, {{2, 0, 0, 0, 9, 1}}, true, 1);
    ASSERT_TRUE(
        lab_->apply(base + "routes: [" + gateway + ", {to: 10.0.9.0/24, via: 10.0.2.9}]\n"));
    EXPECT_EQ(gateway_of(net), "10.0.2.9");
    ASSERT_TRUE(lab_->apply(base + "routes: [" + gateway + "]\n"));
    EXPECT_EQ(gateway_of(net), "10.0.9.1");
}

TEST_F(learned_routes, move_the_gateways_of_recursive_routes) {
    start("routes: [{to: 30.0.0.0/8, via: 20.0.1.7, recursive: true}]\n");
    kernel_.routes.set(network(1), to(2));
    kernel_.routes.set(network(9), to(3));
    learn();
    const auto members_of = [&] {
        std::vector<std::string> out;
        const uint32_t nexthop = control().routing().routes().lookup(*parse_address("30.0.0.1"));
        for (const auto& m : control().routing().groups().of_nexthop(nexthop).members)
            if (const auto n = control().routing().neighbours().of_nexthop(m.nexthop))
                out.push_back(n->address.text());
        return out;
    };
    EXPECT_EQ(members_of(), std::vector<std::string>{"10.0.2.2"});
    const uint64_t before = transactions();
    kernel_.routes.set(network(8), to(3));  // elsewhere
    learn();
    EXPECT_EQ(transactions(), before);
    kernel_.routes.set({*parse_address("20.0.1.0"), 28}, to(3));
    learn();
    EXPECT_EQ(transactions(), before + 1);
    EXPECT_EQ(members_of(), std::vector<std::string>{"10.0.2.3"});
}

/// Random changes in two tables and both families; after each batch, all networks lead where a transaction leads them.
TEST_F(learned_routes, equal_those_of_a_transaction) {
    std::mt19937 random(7);
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    const auto some = [&](bool v6) {
        state::route_target t{.protocol = static_cast<uint8_t>(186 + below(2)),
                              .metric = below(2) * 10};
        const unsigned what = below(10);
        if (what == 0) t.type = state::route_type::blackhole;
        const auto add = [&](unsigned host) {
            t.members.push_back(by(host));
            if (v6)
                t.members.back().via = parse_address("2001:db8:2::" + std::to_string(host)).value();
        };
        if (what != 0) add(what < 3 ? 2 : 2 + below(3));
        if (what == 1 || what == 2) add(5);
        return t;
    };
    for (unsigned batch = 0; batch < 300; ++batch) {
        SCOPED_TRACE(batch);
        for (unsigned n = 1 + below(20); n-- > 0;) {
            const bool v6 = below(2) == 0;
            state::route_set& in = below(3) == 0 ? kernel_.vrf_routes["red"] : kernel_.routes;
            const ip_prefix p =
                v6 ? network6(below(40)) : network(below(40), below(4) == 0 ? 22 : 24);
            if (below(3) == 0)
                in.remove(p.network());
            else
                in.set(p.network(), some(v6));
        }
        learn();
        std::vector<std::string> direct;
        const auto collect = [&](std::vector<std::string>& into) {
            for (const uint8_t vrf : {uint8_t{0}, uint8_t{1}})
                for (uint32_t n = 0; n < 40; ++n) {
                    into.push_back(gateway_of(network(n), vrf));
                    into.push_back(gateway_of(network6(n), vrf));
                }
        };
        collect(direct);
        if (batch % 10 != 9) continue;
        // A change of settings is a transaction; then nothing of the kernel's, and everything again.
        const uint64_t written = control().routing().routes().written();
        ASSERT_TRUE(lab_->apply(std::string(router) + limits_of_512 +
                                "icmp: {rate: " + std::to_string(100 + batch) + "}\n"));
        EXPECT_EQ(control().routing().routes().written(), written)
            << "a transaction finds no difference";
        const state::learned kept = std::exchange(kernel_, {});
        learn();
        kernel_ = kept;
        learn();
        std::vector<std::string> by_transaction;
        collect(by_transaction);
        ASSERT_EQ(direct, by_transaction);
    }
    EXPECT_GT(control().learned_so_far().all, 8 * transactions()) << "most are direct";
}

/// However many come at once: a transaction would make them without a pause.
TEST_F(learned_routes, new_groups_are_made_ahead) {
    start("", "neighbours: {max_entries: 1024}\n");
    kernel_.routes.set(network(0), {.members = {by(2), by(3)}});
    learn();
    const uint64_t before = transactions();
    uint32_t groups = 0;
    for (uint32_t a = 2; a < 40; ++a)
        for (uint32_t b = a + 1; b < 40; ++b)
            kernel_.routes.set(network(groups++), {.members = {by(a), by(b)}});
    learn();
    EXPECT_EQ(transactions(), before);
    for (uint32_t n = 0; n < groups; ++n) ASSERT_EQ(gateway_of(network(n)), "group") << n;
    EXPECT_EQ(control().routing().no_room(), left_out{});
}

/// Groups of 64 next hops, of which one goes with its link, and comes back.
TEST_F(learned_routes, groups_get_a_member_back_at_once) {
    start("", "neighbours: {max_entries: 1024}\n");
    const uint32_t groups = std::getenv("TURNPIKE_LONG") != nullptr ? 500 : 50;
    constexpr uint32_t members = 64;
    for (uint32_t g = 0; g < groups; ++g) {
        state::route_target t;
        for (uint32_t m = 0; m + 1 < members; ++m) {
            t.members.push_back(by(2 + m));
            t.members.back().weight = static_cast<uint16_t>(m == g % members ? 2 + g / members : 1);
        }
        t.members.push_back({.via = ip_address::from_v4(0x0a00'0102), .interface = "west"});
        t.members.back().weight = static_cast<uint16_t>(1 + g / members);
        ASSERT_TRUE(state::arrange_members(t.members));
        kernel_.routes.set(network(g), t);
    }
    const double started = cpu_ms();
    calls_ = 0;
    longest_ms_ = 0;
    learn();
    std::printf("%u groups of %u are made in %.0f ms, by %u calls of at most %.1f ms\n", groups,
                members, cpu_ms() - started, calls_, longest_ms_);
    const uint64_t scores = control().routing().groups().scores();
    EXPECT_EQ(scores, uint64_t{groups} * members * buckets_for(members)) << "each once";
    EXPECT_GE(calls_, groups / 4) << "some milliseconds each";
    std::set<uint32_t> nexthops;
    for (uint32_t g = 0; g < groups; ++g) nexthops.insert(nexthop_of(network(g)));
    ASSERT_EQ(nexthops.size(), groups);
    ASSERT_EQ(control().routing().no_room(), left_out{});
    const auto buckets_of_west = [&] {
        const uint16_t west = control().interfaces().indexes().at("west");
        size_t n = 0;
        for (const uint32_t nexthop : nexthops)
            for (const auto& m : control().routing().groups().of_nexthop(nexthop).members)
                if (control().routing().neighbours().of_nexthop(m.nexthop)->interface == west)
                    n += m.buckets;
        return n;
    };
    const size_t all = buckets_of_west();
    EXPECT_GT(all, groups);
    const uint16_t ethdev = lab_->snapshot().port[0].ethdev_id;
    ASSERT_EQ(rte_eth_dev_set_link_down(ethdev), 0);
    control().poll_links(1);
    EXPECT_EQ(buckets_of_west(), 0U);
    ASSERT_EQ(rte_eth_dev_set_link_up(ethdev), 0);
    const double begun = cpu_ms();
    control().poll_links(2);
    const double back_ms = cpu_ms() - begun;
    EXPECT_EQ(buckets_of_west(), all);
    // A sanitizer makes it several times as slow.
    EXPECT_LT(back_ms, (slow ? 1 : 0.1) * groups) << "50 ms of CPU time for 500 groups";
    std::printf("%u groups of %u have a member back after %.2f ms\n", groups, members, back_ms);
}

/// A transaction of many neighbours costs in proportion to them.
TEST_F(learned_routes, neighbours_cost_in_proportion) {
    start("", "neighbours: {max_entries: 131072}\n");
    const auto ms_of = [&](uint32_t neighbours) {
        kernel_.neighbours.clear();
        learn();
        for (uint32_t n = 0; n < neighbours; ++n)
            kernel_.neighbours.emplace(
                state::neighbour_name{"east", ip_address::from_v4(0x0a40'0000 + n)},
                mac_address{{2, 0, 0, 0, 0, 9}});
        const double begun = cpu_ms();
        learn();
        return cpu_ms() - begun;
    };
    const double few = ms_of(20'000), many = ms_of(60'000);
    EXPECT_EQ(control().routing().no_room(), left_out{});
    EXPECT_LT(many, 6 * few) << "9 would be a quadratic cost";
    std::printf("20,000 neighbours: %.0f ms, 60,000: %.0f ms\n", few, many);
}

/// An IXP's route server has thousands of next hops; a change of one route is not to cost for all of them.
TEST_F(learned_routes, cost_little_beside_many_next_hops) {
    start("", "neighbours: {max_entries: 65536}\n");
    constexpr uint32_t many = 16'000, batches = 200;
    const auto hop = [](uint32_t n) {
        return state::route_target{.members = {{.via = ip_address::from_v4(0x0a40'0000 + n),
                                                .interface = "east",
                                                .onlink = true}},
                                   .protocol = 186};
    };
    for (uint32_t n = 0; n < many; ++n) kernel_.routes.set(network(n), hop(n));
    learn();
    ASSERT_EQ(control().routing().no_room(), left_out{});
    const double begun = cpu_ms();
    for (uint32_t b = 0; b < batches; ++b) {
        kernel_.routes.set(network(b), hop(b + 1));
        learn();
    }
    const double each_ms = (cpu_ms() - begun) / batches;
    EXPECT_TRUE(slow || each_ms < 3) << each_ms << " ms of CPU time";
    std::printf("a change beside %u next hops: %.3f ms\n", many, each_ms);
}

/// A second of BGP's changes beside a table of many routes. TURNPIKE_LONG: a full table, and a million changes.
TEST_F(learned_routes, cost_control_nothing_and_keep_no_memory) {
    const bool is_long = std::getenv("TURNPIKE_LONG") != nullptr;
    const uint32_t prefixes = is_long ? 900'000 : slow ? 20'000 : 200'000;
    for (uint32_t n = 0; n < prefixes; ++n)
        kernel_.routes.set({ip_address::from_v4(0x1000'0000 + (n << 8)), 24}, to(2 + n % 100));
    // Routes that are not followed cost no more than others.
    for (uint32_t n = 0; n < prefixes / 10; ++n)
        kernel_.routes.set({ip_address::from_v4(0x6000'0000 + (n << 8)), 24},
                           {.members = {{.via = by(2).via, .interface = "absent"}}});
    double begun = cpu_ms();
    learn();
    const double all_ms = cpu_ms() - begun;
    const uint64_t before = transactions(), changes = control().changes();
    std::mt19937 random(3);
    const auto churn = [&](unsigned batches, unsigned each) {
        for (unsigned b = 0; b < batches; ++b) {
            for (unsigned n = 0; n < each; ++n) {
                const ip_prefix p{
                    ip_address::from_v4(0x1000'0000 +
                                        (static_cast<uint32_t>(random() % prefixes) << 8)),
                    24};
                if (random() % 4 == 0)
                    kernel_.routes.remove(p);
                else
                    kernel_.routes.set(p, to(2 + static_cast<uint32_t>(random() % 100)));
            }
            learn();
        }
    };
    churn(20, 1);
    begun = cpu_ms();
    churn(200, 3);  // 600 changes a second, each 5 ms
    const double second_ms = cpu_ms() - begun;
    // A sanitizer makes it several times as slow.
    EXPECT_LT(second_ms, slow ? 1000 : 100) << "a tenth of a second's CPU time";
    churn(is_long ? 4000 : slow ? 60 : 600, 1000);  // until three in four prefixes have routes
    const auto used = [] { return ::mallinfo2().uordblks; };
    const size_t bytes = used(), fib = control().routing().routes().v4().stats().bytes();
    const unsigned batches = is_long ? 1000 : slow ? 10 : 100;
    begun = cpu_ms();
    churn(batches, 1000);
    const double churn_ms = cpu_ms() - begun;
    EXPECT_LT(used(), bytes + bytes / 50 + (1U << 20));
    EXPECT_LT(control().routing().routes().v4().stats().bytes(), fib + fib / 50 + (1U << 20));
    EXPECT_EQ(transactions(), before);
    EXPECT_EQ(control().changes(), changes);
    std::printf(
        "%u routes: %.0f ms in all; 200 batches of three: %.2f ms; %u,000 changes: %.0f ms, %zu -> "
        "%zu bytes of memory, %zu -> %zu of FIB\n",
        prefixes, all_ms, second_ms, batches, churn_ms, bytes, used(), fib,
        control().routing().routes().v4().stats().bytes());
}

}  // namespace
}  // namespace turnpike::control
