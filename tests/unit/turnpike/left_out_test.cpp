// SPDX-License-Identifier: BSD-3-Clause
// Objects of the kernel that find no room are left out and counted; all others are followed, and those are tried again.
#include <gtest/gtest.h>
#include <rte_malloc.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "control/management/requests.hpp"
#include "lib/eal.hpp"
#include "lib/own_namespace.hpp"
#include "lib/path_lab.hpp"
#include "route_targets.hpp"

namespace turnpike::control {
namespace {

using namespace test;

constexpr const char* small =
    "control_plane: {netlink: true}\n"
    "ports:\n"
    "  - {name: west, device: d0, addresses: [10.0.1.254/24], host_interface: true}\n"
    "  - {name: east, device: d1, addresses: [10.0.2.254/24, \"2001:db8:2::fe/64\"], "
    "host_interface: true}\n"
    "neighbours: {max_entries: 16, reachable_ms: 50, retransmit_ms: 10}\n";

class left_out_objects : public ::testing::Test {
  protected:
    void TearDown() override {
        lab_.settle();  // frames of the host interfaces
        for (const uint16_t port : {uint16_t{0}, uint16_t{1}}) lab_.sent(port);
        lab_.check_balance();
    }

    static ip_prefix network(uint32_t n) {
        return {ip_address::from_v4(0x1400'0000 + (n << 8)), 24};
    }
    static state::route_member by(uint32_t host) {
        return {.via = ip_address::from_v4(0x0a00'0200 + host), .interface = "east"};
    }
    /// Learns these routes of the kernel.
    void learn(const std::function<void(state::route_set&)>& fill) {
        state::learned kernel;
        fill(kernel.routes);
        for (bool done = false; !done && !HasFatalFailure();)
            paused([&] {
                const auto learnt = lab_.controller().learn(kernel);
                ASSERT_TRUE(learnt) << learnt.error().message();
                done = *learnt;
            });
    }
    /// Changes wait for workers, which only this thread polls.
    void paused(const std::function<void()>& change) {
        lab_.worker().pause();
        change();
        lab_.worker().resume();
    }
    uint32_t nexthop_of(uint32_t n) {
        return lab_.controller().routing().routes().lookup(
            ip_address::from_v4(0x1400'0001 + (n << 8)));
    }
    bool has(uint32_t n) { return nexthop_of(n) != datapath::fixed_nexthop::no_route; }
    /// Calls control until a condition holds.
    /// each_ms  by which control's time advances
    void control_until(const std::function<bool()>& holds, uint64_t each_ms = 0) {
        using namespace std::chrono;
        for (const auto end = steady_clock::now() + 10s; !holds() && steady_clock::now() < end;) {
            control(each_ms);
            std::this_thread::sleep_for(1ms);
        }
    }
    void control(uint64_t later_ms) {
        now_ms_ += later_ms;
        paused([&] { lab_.control(later_ms); });
    }
    /// Until control has read the kernel's tables, and no message has come for a while.
    void read_the_kernel() {
        nlohmann::json before;
        unsigned quiet = 0;
        control_until(
            [&] {
                nlohmann::json now = control_plane();
                now.erase("since_s");
                quiet =
                    now == before && now["whole"] == 1 && now["asking"] == false ? quiet + 1 : 0;
                before = std::move(now);
                return quiet == 30;
            },
            100);
        ASSERT_EQ(quiet, 30U);
    }
    /// Fourteen routes of the kernel in a table that the operator's gateways fill: four change their gateways, and the
    /// former ones keep their entries until the change is committed.
    void leave_four_out() {
        read_the_kernel();
        std::string routes = "routes:\n";
        for (uint32_t n = 101; n <= 102; ++n)
            routes += "  - {to: " + network(n).text() + ", via: " + by(n).via->text() + "}\n";
        ASSERT_TRUE(lab_.apply(small + routes));
        const auto learn_by = [&](uint32_t last_four) {
            learn([&](state::route_set& kernel) {
                for (uint32_t n = 1; n <= 14; ++n)
                    kernel.set(network(n), {.members = {by(n <= 10 ? n : n + last_four)}});
            });
        };
        learn_by(0);
        ASSERT_FALSE(no_room().any());
        learn_by(10);
        ASSERT_EQ(no_room(), (left_out{.neighbours = 4}));
    }
    left_out no_room() { return lab_.controller().routing().no_room(); }
    nlohmann::json control_plane() {
        requests r(lab_.controller(), "none.yaml");
        const char* const request = R"({"request": "show", "what": "control-plane"})";
        return nlohmann::json::parse(r.answer(request, {}))["result"];
    }
    nlohmann::json shown() { return control_plane()["no_room"]; }

    own_namespace apart_{};
    running_lab lab_{small};
    uint64_t now_ms_ = 1;  ///< of control
};

TEST_F(left_out_objects, a_peer_with_too_many_next_hops_stops_nothing) {
    learn([](state::route_set& kernel) {
        for (uint32_t n = 1; n <= 40; ++n) kernel.set(network(n), {.members = {by(n)}});
    });
    size_t there = 0;
    for (uint32_t n = 1; n <= 40; ++n) there += has(n);
    EXPECT_EQ(there, 14U);
    EXPECT_EQ(no_room(), (left_out{.neighbours = 26}));
    EXPECT_EQ(shown(), (nlohmann::json{{"fib_full", 0},
                                       {"no_neighbour_entry", 26},
                                       {"no_next_hop", 0},
                                       {"paths", 0},
                                       {"permanent_neighbours", 0}}));
    // A route that goes and another that comes, by a gateway that is there.
    learn([](state::route_set& kernel) {
        for (uint32_t n = 2; n <= 40; ++n) kernel.set(network(n), {.members = {by(n)}});
        kernel.set(network(100), {.members = {by(2)}});
    });
    EXPECT_FALSE(has(1));
    EXPECT_TRUE(has(100));
    EXPECT_EQ(no_room(), (left_out{.neighbours = 25}));
    learn([](state::route_set& kernel) { kernel.set(network(40), {.members = {by(40)}}); });
    EXPECT_TRUE(has(40));
    EXPECT_FALSE(no_room().any());
}

/// A route that finds room decides on the neighbours inside of it, although it has not changed.
TEST_F(left_out_objects, the_neighbours_of_a_route_that_finds_room_lose_their_host_routes) {
    auto& known = lab_.controller().routing().neighbours();
    const uint16_t west = lab_.controller().interfaces().indexes().at("west");
    const ip_address host = *parse_address("10.0.1.200");
    const mac_address mac{{2, 0, 0, 0, 1, 200}};
    known.learn(west, host, mac, true, now_ms_);
    const auto learn_from = [&](uint32_t first) {
        learn([&](state::route_set& kernel) {
            for (uint32_t n = first; n <= 14; ++n) kernel.set(network(n), {.members = {by(n)}});
            kernel.set(*parse_prefix("10.0.1.128/25"), {.members = {by(30)}});
        });
    };
    const auto nexthop_of_host = [&] {
        return known.of_nexthop(lab_.controller().routing().routes().lookup(host));
    };
    learn_from(1);
    ASSERT_TRUE(no_room().any());
    ASSERT_EQ(nexthop_of_host()->address, host);
    learn_from(2);
    control_until([&] { return !no_room().any(); }, 100);
    ASSERT_FALSE(no_room().any());
    EXPECT_EQ(nexthop_of_host()->address, *by(30).via);
    EXPECT_FALSE(known.knows(west, host));
}

TEST_F(left_out_objects, a_group_forwards_by_the_members_that_have_room) {
    learn([](state::route_set& kernel) {
        for (uint32_t n = 1; n <= 13; ++n) kernel.set(network(n), {.members = {by(n)}});
        kernel.set(network(50), {.members = {by(30), by(31), by(32)}});
    });
    EXPECT_TRUE(has(50));
    EXPECT_EQ(no_room(), (left_out{.paths = 2}));
    EXPECT_EQ(shown()["paths"], 2);
}

TEST_F(left_out_objects, the_operators_routes_come_first_and_are_refused_as_ever) {
    std::string routes = "routes:\n";
    for (uint32_t n = 1; n <= 15; ++n)
        routes += "  - {to: " + network(100 + n).text() + ", via: " + by(n).via->text() + "}\n";
    ASSERT_TRUE(lab_.apply(small + routes));
    learn([](state::route_set& kernel) {
        for (uint32_t n = 1; n <= 40; ++n) kernel.set(network(n), {.members = {by(n)}});
    });
    for (uint32_t n = 101; n <= 115; ++n) EXPECT_TRUE(has(n)) << n;
    EXPECT_TRUE(has(15)) << "by a gateway of the operator's";
    EXPECT_EQ(no_room(), (left_out{.neighbours = 24}));
    for (uint32_t n = 16; n <= 18; ++n)
        routes += "  - {to: " + network(100 + n).text() + ", via: " + by(n).via->text() + "}\n";
    const auto refused = lab_.apply(small + routes);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ENOSPC);
}

TEST_F(left_out_objects, they_are_taken_in_as_soon_as_there_is_room) {
    leave_four_out();
    control_until([&] { return !no_room().any(); }, 100);
    EXPECT_FALSE(no_room().any());
    for (uint32_t n = 1; n <= 14; ++n) EXPECT_TRUE(has(n)) << n;
}

/// A retry compares all routes, so control leaves it to management.
TEST_F(left_out_objects, they_are_taken_in_by_management) {
    leave_four_out();
    controller& c = lab_.controller();
    control_calls calls;
    c.set_managed(true);
    c.repeat_beside(calls);
    EXPECT_EQ(no_room(), (left_out{.neighbours = 4})) << "nothing is due";
    for (int i = 0; i < 30; ++i) control(100);
    EXPECT_EQ(no_room(), (left_out{.neighbours = 4})) << "control does not do it";
    paused([&] { c.repeat_beside(calls); });
    EXPECT_FALSE(no_room().any());
    for (uint32_t n = 1; n <= 14; ++n) EXPECT_TRUE(has(n)) << n;
    const uint64_t changes = c.changes();
    paused([&] { c.repeat_beside(calls); });
    EXPECT_EQ(c.changes(), changes) << "nothing is due any more";
    c.set_managed(false);
}

/// A VRF's routes with a small FIB.
class full_fib : public ::testing::Test {
  protected:
    void SetUp() override { start(64); }
    void start(uint32_t max_routes) {
        table_.reset();
        domain_ = *rcu::qsbr::create("full", 1);
        nexthops_ = *next_hops::create(64, *domain_);
        table_ = *routes::create(*domain_, *nexthops_, max_routes);
    }
    void TearDown() override {
        table_.reset();
        domain_->synchronize();
    }
    static ip_prefix network(uint32_t n) {
        return {ip_address::from_v4(0x1400'0000 + (n << 8)), 24};
    }
    static ip_prefix network6(uint32_t n) {
        ip_address a = *parse_address("2001:db8::");
        a.bytes[5] = static_cast<uint8_t>(n);
        return {a, 48};
    }
    result<void> apply(bool retries = false) {
        auto is = std::make_unique<sets>(sets{operators_, learned_});
        const state::route_changes of_operators = diff(running_->operators, is->operators),
                                   of_learned = diff(running_->learned, is->learned);
        vrf_routes t;
        t.operators.set = &is->operators;
        t.operators.what = &of_operators;
        t.learned.set = &is->learned;
        t.learned.what = &of_learned;
        t.derived = derived_;
        t.operators.nexthop_of_target.assign(is->operators.targets().size(), nexthop_);
        t.learned.nexthop_of_target.assign(is->learned.targets().size(), 10);
        auto ready = table_->prepare(t, retries);
        if (!ready) return tl::unexpected<error>(ready.error());
        (*ready)->commit();
        running_.swap(is);
        return {};
    }
    size_t learned_in_fib() {
        size_t n = 0;
        table_->for_each({}, [&](const ip_prefix& to, uint32_t nexthop, route_origin from) {
            EXPECT_EQ(table_->lookup(to.address), nexthop) << to.text();
            n += from == route_origin::learned;
            return true;
        });
        return n;
    }

    const state::route_target via_ = state::target_via(*parse_address("10.0.0.2"), "here");
    uint32_t nexthop_ = 20;  ///< of the operator's routes
    std::unique_ptr<next_hops> nexthops_;
    std::unique_ptr<rcu::qsbr> domain_;
    std::unique_ptr<routes> table_;
    state::route_set operators_, learned_;
    std::map<ip_prefix, uint32_t> derived_;
    struct sets {
        state::route_set operators, learned;
    };
    std::unique_ptr<sets> running_ = std::make_unique<sets>();
};

TEST_F(full_fib, routes_without_room_are_left_out_and_removals_are_not_held_back) {
    for (uint32_t n = 0; n < 100; ++n) learned_.set(network(n), via_);
    for (uint32_t n = 0; n < 70; ++n) learned_.set(network6(n), via_);
    ASSERT_TRUE(apply());
    EXPECT_EQ(learned_in_fib(), 126U);
    EXPECT_EQ(table_->left_out(), 44U);
    EXPECT_FALSE(table_->has_room());
    operators_.set(network(200), via_);
    ASSERT_TRUE(apply()) << "one is reserved";
    EXPECT_EQ(table_->lookup(network(200).address), 20U);
    for (uint32_t n = 0; n < 10; ++n) learned_.remove(network(n));
    ASSERT_TRUE(apply());
    EXPECT_EQ(table_->lookup(network(0).address), datapath::fixed_nexthop::no_route);
    EXPECT_TRUE(table_->has_room());
    ASSERT_TRUE(apply(true));
    EXPECT_EQ(table_->left_out(), 44U - 9);
    EXPECT_EQ(learned_in_fib(), 125U);
    // Some that are left out go, and one becomes the operator's.
    for (uint32_t n = 90; n < 100; ++n) learned_.remove(network(n));
    for (uint32_t n = 20; n < 30; ++n) learned_.remove(network(n));
    ASSERT_TRUE(apply());
    ASSERT_TRUE(apply(true));
    EXPECT_EQ(table_->left_out(), 70U - 63 + 8) << "of IPv6, and of IPv4";
}

/// An address that moves to another link: the former neighbour takes its own host route only.
TEST_F(full_fib, a_host_route_belongs_to_one_neighbour) {
    const ip_address a = *parse_address("10.9.0.5");
    ASSERT_TRUE(table_->set_host(a, 30, 20));
    ASSERT_TRUE(table_->set_host(a, 31, 21));
    ASSERT_TRUE(table_->clear_host(a, 30));
    EXPECT_EQ(table_->lookup(a), 31U);
    ASSERT_TRUE(table_->clear_host(a, 31));
    EXPECT_EQ(table_->lookup(a), datapath::fixed_nexthop::no_route);
}

/// The same where the routes are written one by one.
TEST_F(full_fib, routes_that_are_added_to_a_full_table) {
    for (uint32_t n = 0; n < 60; ++n) learned_.set(network(n), via_);
    ASSERT_TRUE(apply());
    EXPECT_EQ(table_->left_out(), 0U);
    for (uint32_t n = 60; n < 70; ++n) learned_.set(network(n), via_);
    learned_.remove(network(5));
    ASSERT_TRUE(apply());
    EXPECT_EQ(table_->left_out(), 69U - 63);
    EXPECT_EQ(learned_in_fib(), 63U);
    learned_ = {};
    ASSERT_TRUE(apply());
    EXPECT_EQ(table_->left_out(), 0U);
    EXPECT_EQ(learned_in_fib(), 0U);
}

/// The same where the FIB is built anew.
TEST_F(full_fib, a_table_that_is_larger_than_the_fib) {
    start(9600);
    for (uint32_t n = 0; n < 12'000; ++n) learned_.set(network(n), via_);
    operators_.set(network(20'000), via_);
    ASSERT_TRUE(apply());
    EXPECT_EQ(learned_in_fib(), 9600U - 150 - 1);
    EXPECT_EQ(table_->left_out(), 12'000U - (9600 - 150 - 1));
    EXPECT_EQ(table_->lookup(network(20'000).address), 20U);
    for (uint32_t n = 0; n < 3000; ++n) learned_.remove(network(n));
    ASSERT_TRUE(apply());
    ASSERT_TRUE(table_->has_room());
    ASSERT_TRUE(apply(true));
    EXPECT_EQ(table_->left_out(), 0U);
    EXPECT_EQ(learned_in_fib(), 9000U);
}

/// A FIB whose arena is full, while EAL has no memory for a larger one.
class fib_without_memory : public full_fib {
  protected:
    void SetUp() override {
        start(1 << 16);
        for (size_t bytes = 64 << 20; bytes >= 4096; bytes /= 2)
            while (void* const block = rte_malloc(nullptr, bytes, 0)) blocks_.push_back(block);
    }
    void TearDown() override {
        domain_->offline(0);
        free_memory();
        full_fib::TearDown();
    }
    void free_memory() {
        for (void* const block : blocks_) rte_free(block);
        blocks_.clear();
    }
    /// Each network n has a node of 1 KB.
    static ip_prefix in_network(uint8_t n, uint8_t which) {
        ip_address a = *parse_address("2000::");
        a.bytes[1] = n;
        a.bytes[2] = which;
        return {a, 24};
    }
    void fill() {
        for (uint8_t n = 0; n < 60; ++n)
            for (const uint8_t which : {uint8_t{1}, uint8_t{2}})
                if (!operators_.at(in_network(n, which))) learned_.set(in_network(n, which), via_);
        ASSERT_TRUE(apply());
        ASSERT_GT(table_->left_out(), 20U);
        ASSERT_TRUE(in_fib(in_network(9, 2)));
    }
    std::optional<uint64_t> in_fib(const ip_prefix& to) const {
        return table_->v6().get(to.address.v6_bytes(), to.length);
    }

  private:
    std::vector<void*> blocks_;
};

TEST_F(fib_without_memory, removals_are_not_held_back) {
    fill();
    learned_.remove(in_network(0, 1));
    learned_.set(in_network(100, 1), via_);
    ASSERT_TRUE(apply());
    EXPECT_FALSE(in_fib(in_network(0, 1)));
    EXPECT_EQ(in_fib(in_network(0, 2)), 10U);
    learned_ = {};
    ASSERT_TRUE(apply());
    EXPECT_EQ(table_->v6().stats().routes, 0U);
    EXPECT_EQ(table_->left_out(), 0U);
}

/// The removal of a default route writes nearly all nodes. It takes nothing else of the change with it.
TEST_F(fib_without_memory, a_route_that_cannot_be_removed_is_retried) {
    const ip_prefix all = *parse_prefix("::/0");
    operators_.set(all, via_);
    fill();
    const size_t left_out = table_->left_out();
    operators_.remove(all);
    learned_.remove(in_network(0, 1));
    ASSERT_TRUE(apply());
    EXPECT_EQ(in_fib(all), 20U);
    EXPECT_FALSE(in_fib(in_network(0, 1)));
    EXPECT_EQ(table_->left_out(), left_out + 1);
    ASSERT_TRUE(apply(true));
    EXPECT_EQ(in_fib(all), 20U);
    free_memory();
    ASSERT_TRUE(apply(true));
    EXPECT_FALSE(in_fib(all));
    EXPECT_EQ(table_->left_out(), 0U);
    EXPECT_EQ(learned_in_fib(), 119U);
}

/// Without memory to load the table, the routes that differ are written.
TEST_F(fib_without_memory, a_rollback_is_completed_route_by_route) {
    for (uint8_t n = 0; n < 4; ++n) operators_.set(in_network(n, 1), via_);
    ASSERT_TRUE(apply());
    fill();
    domain_->synchronize();
    domain_->online(0);  // a worker that is not quiescent: nothing that is replaced is freed
    const state::route_set before = operators_;
    for (uint8_t n = 0; n < 4; ++n) operators_.remove(in_network(n, 1));
    operators_.set(in_network(200, 1), via_);
    ASSERT_FALSE(apply());
    ASSERT_TRUE(table_->incomplete());
    operators_ = before;
    learned_.remove(in_network(9, 2));
    ASSERT_TRUE(apply()) << "a change of the kernel's meanwhile";
    EXPECT_TRUE(table_->incomplete());
    ASSERT_TRUE(apply(true));
    EXPECT_TRUE(table_->incomplete()) << "still without memory";
    domain_->offline(0);
    domain_->reclaim();
    ASSERT_TRUE(apply(true));
    EXPECT_FALSE(table_->incomplete());
    for (uint8_t n = 0; n < 4; ++n) EXPECT_EQ(in_fib(in_network(n, 1)), 20U) << n;
    EXPECT_FALSE(in_fib(in_network(9, 2)));
    EXPECT_FALSE(in_fib(in_network(200, 1)));
}

/// Memory that a removal frees is free after the worker's next burst, or control's next round.
TEST_F(fib_without_memory, removals_wait_for_workers) {
    fill();
    std::atomic<bool> ends{false};
    domain_->synchronize();
    std::thread reader([&] {
        domain_->online(0);
        while (!ends) {
            std::this_thread::sleep_for(std::chrono::microseconds(250));
            domain_->quiescent(0);
        }
        domain_->offline(0);
    });
    // One of the two in each network: its node is copied.
    for (uint8_t n = 0; n < 60; ++n) learned_.remove(in_network(n, 2));
    const bool applied = apply().has_value();
    ends = true;
    reader.join();
    ASSERT_TRUE(applied);
    for (uint8_t n = 0; n < 60; ++n) EXPECT_FALSE(in_fib(in_network(n, 2))) << unsigned{n};
    EXPECT_EQ(in_fib(in_network(9, 1)), 10U);
}

/// Refused growths are remembered only until there may be room.
TEST_F(fib_without_memory, an_operators_route_is_tried_although_growths_were_refused) {
    fill();
    for (uint8_t n = 0; n < 20; ++n) {
        learned_.set(in_network(static_cast<uint8_t>(100 + n), 1), via_);
        ASSERT_TRUE(apply());
    }
    free_memory();
    operators_.set(in_network(200, 1), via_);
    const auto applied = apply();
    ASSERT_TRUE(applied) << applied.error().message();
    EXPECT_EQ(in_fib(in_network(200, 1)), 20U);
}

TEST_F(fib_without_memory, an_address_is_tried_although_growths_were_refused) {
    fill();
    for (uint8_t n = 0; n < 20; ++n) {
        learned_.set(in_network(static_cast<uint8_t>(100 + n), 1), via_);
        ASSERT_TRUE(apply());
    }
    free_memory();
    derived_[in_network(200, 1)] = 30;
    const auto applied = apply();
    ASSERT_TRUE(applied) << applied.error().message();
    EXPECT_EQ(in_fib(in_network(200, 1)), 30U);
}

TEST_F(fib_without_memory, a_neighbour_is_tried_although_growths_were_refused) {
    fill();
    for (uint8_t n = 0; n < 20; ++n) {
        learned_.set(in_network(static_cast<uint8_t>(100 + n), 1), via_);
        ASSERT_TRUE(apply());
    }
    free_memory();
    const ip_address a = *parse_address("2001:db8::7");
    const auto set = table_->set_host(a, 30, 31);
    ASSERT_TRUE(set) << set.error().message();
    EXPECT_EQ(table_->lookup(a), 30U);
}

/// Routes of a refused change may be left in the FIB: until they are gone, no other owner gets
/// the indices of their next hops.
TEST_F(fib_without_memory, next_hops_of_a_refused_change_are_not_reused) {
    for (uint8_t n = 0; n < 4; ++n) operators_.set(in_network(n, 1), via_);
    ASSERT_TRUE(apply());
    fill();
    domain_->synchronize();
    domain_->online(0);
    nexthop_handle refused = nexthops_->allocate();
    const uint32_t index = refused.index();
    const state::route_set before = operators_;
    for (uint8_t n = 0; n < 4; ++n) operators_.remove(in_network(n, 1));
    operators_.set(in_network(200, 1), via_);
    nexthop_ = index;
    ASSERT_FALSE(apply());
    ASSERT_TRUE(table_->incomplete());
    refused = {};
    nexthop_ = 20;
    operators_ = before;
    domain_->offline(0);
    domain_->synchronize();
    EXPECT_NE(nexthops_->allocate().index(), index);
    domain_->synchronize();
    ASSERT_TRUE(apply(true));
    ASSERT_FALSE(table_->incomplete());
    domain_->synchronize();
    EXPECT_EQ(nexthops_->allocate().index(), index);
}

/// Another next hop would take its index, and receive the packets of a route that could not be removed.
TEST_F(full_fib, a_pinned_next_hop_is_not_reused) {
    nexthop_handle owner = nexthops_->allocate();
    const uint32_t index = owner.index();
    auto pin = nexthops_->pin(index), again = nexthops_->pin(index);
    (*nexthops_)[index].kind.store(datapath::nexthop_kind::adjacency);
    owner = {};
    EXPECT_EQ((*nexthops_)[index].kind.load(), datapath::nexthop_kind::drop) << "at once";
    domain_->synchronize();
    EXPECT_NE(nexthops_->allocate().index(), index);
    domain_->synchronize();
    pin.reset();
    domain_->synchronize();
    EXPECT_NE(nexthops_->allocate().index(), index);
    domain_->synchronize();
    again.reset();
    domain_->synchronize();
    EXPECT_EQ(nexthops_->allocate().index(), index);
}

}  // namespace
}  // namespace turnpike::control
