// SPDX-License-Identifier: BSD-3-Clause
// The neighbour state machine against RFC 4861, with a simulated clock.
#include "control/neighbours/neighbours.hpp"

#include "datapath/burst.hpp"

#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "lib/any_cpu.hpp"
#include "lib/eal.hpp"
#include "lib/sanitized.hpp"
#include "rcu/qsbr.hpp"
#include "route_targets.hpp"

namespace turnpike::control {
namespace {

using datapath::drop_reason;
using nstate = neighbour_state;

constexpr mac_address mac_a{{2, 0, 0, 0, 0, 0xa}}, mac_b{{2, 0, 0, 0, 0, 0xb}};
const ip_address host = *parse_address("10.0.0.2"), host6 = *parse_address("2001:db8::2");

/// The machine between a table of hops, real FIBs and two interfaces; the test is its dependencies.
class machine : public ::testing::Test {
  protected:
    static constexpr uint16_t here = 1, elsewhere = 2;  // places

    void SetUp() override {
        pool = rte_pktmbuf_pool_create("machine", 1023, 0, datapath::mbuf_private_bytes, 256,
                                       SOCKET_ID_ANY);
        ASSERT_NE(pool, nullptr);
        wanted.limits = {.limit = 8,
                         .queue_len = 4,
                         .reachable_ms = 600,  // at most 900, by its random factor
                         .retransmit_ms = 100,
                         .attempts = 3,
                         .negative_ms = 500,
                         .gc_stale_ms = 5000};
        start();
    }
    void TearDown() override {
        n.reset();
        table.reset();
        link = {};
        domain->synchronize();
        EXPECT_EQ(nexthops->in_use(), datapath::fixed_nexthop::first_free) << "every hop came back";
        domain.reset();
        EXPECT_EQ(rte_mempool_in_use_count(pool), 0U);
        rte_mempool_free(pool);
    }
    void start(uint32_t max_held = 100) {
        n.reset();
        table.reset();
        link = {};
        domain.reset();
        domain = *rcu::qsbr::create("machine", 1);
        nexthops = *next_hops::create(4 * wanted.limits.limit + 16, *domain);
        link = nexthops->allocate();
        ours.link_nexthop = link.index();
        table = *route_tables::create(*domain, *nexthops);
        n = std::make_unique<neighbours>(
            *nexthops, *table, max_held,
            neighbour_callbacks{.solicit =
                                    [this](uint16_t, const ip_address&, const mac_address* known) {
                                        if (may_ask) known == nullptr ? ++asked_all : ++asked_one;
                                        return may_ask;
                                    },
                                .send =
                                    [this](rte_mbuf* m, const datapath::next_hop& nexthop) {
                                        sent.push_back(mac_in(nexthop));
                                        last_sent = m;
                                        rte_pktmbuf_free(m);
                                    },
                                .drop =
                                    [this](rte_mbuf* m, drop_reason why) {
                                        ++gave_up[why];
                                        last_given_up = m;
                                        rte_pktmbuf_free(m);
                                    },
                                .notify =
                                    [this](const neighbour_event& e) {
                                        last_told = e.whose;
                                        events.emplace_back(e.from, e.to);
                                    }});
        ASSERT_TRUE(apply());
    }
    /// Applies `wanted` as the running configuration, as the controller does.
    result<void> apply() {
        const state::configuration before;
        const state::changes none;
        transaction c{.before = before, .after = wanted, .what = none, .learned = learned};
        routes_in_progress routes;
        vrf_routes& main = routes.tables.emplace_back();
        main.operators.set = &wanted.routes;
        main.learned.set = &learned.routes[""];
        uint16_t ifindex = here;
        for (const char* name : {"here", "elsewhere"}) {
            if (wanted.interfaces.find(name) == nullptr)
                wanted.interfaces.add(name, {.addresses = {*parse_prefix("10.0.0.1/16"),
                                                           *parse_prefix("2001:db8::ff/64")}});
            datapath::interface& i = c.snapshot->interfaces[ifindex];
            i.kind = datapath::interface_kind::routed;
            i.mac = {{2, 0, 0, 0, 0, 1}};
            i.mtu = mtu;
            i.addresses = &ours;
            c.ifindex_of[name] = ifindex++;
        }
        static const state::route_set no_routes;
        const state::route_changes same;
        main.operators.what = main.learned.what = &same;
        main.derived = longer;
        for (const char* to : {"10.0.0.0/16", "2001:db8::/64"})
            main.derived.emplace(*parse_prefix(to), link.index());
        auto staged = n->prepare(c, routes);
        if (!staged) return tl::unexpected<error>(staged.error());
        vrf_routes networks{.derived = main.derived};
        for (resolved_routes* some : {&networks.operators, &networks.learned}) {
            some->set = &no_routes;
            some->what = &same;
        }
        auto tables = table->main().prepare(networks);
        if (!tables) return tl::unexpected<error>(tables.error());
        (*tables)->commit();
        const auto began = std::chrono::steady_clock::now();
        (*staged)->commit();
        commit_time = std::chrono::steady_clock::now() - began;
        snapshot = std::move(c.snapshot);
        learned_nexthops = main.learned.nexthops_of_members;
        return {};
    }
    static mac_address mac_in(const datapath::next_hop& nexthop) {
        uint8_t frame[datapath::next_hop::rewrite_bytes];
        nexthop.write(frame);
        return packet::header_at<mac_address>(frame);
    }
    /// A route by way of the host.
    result<void> add_gateway(const ip_address& a) {
        wanted.routes.target_index(state::target_via(a, "here"));
        return apply();
    }
    /// The whole of a flush. Returns the number of deleted entries.
    uint32_t flush(const neighbours::filter& which, drop_reason why) const {
        auto f = n->begin_flush(which, why);
        while (!f.is_done()) n->continue_flush(f, now);
        return f.deleted();
    }
    void packet_for(const ip_address& a, uint16_t interface = here) {
        n->resolve(rte_pktmbuf_alloc(pool), interface, a, now);
    }
    void pass(uint64_t ms) {
        for (const uint64_t end = now + ms; now < end;) {
            n->tick(++now);
            domain->reclaim();
        }
    }
    [[nodiscard]] uint32_t in(nstate s) const { return n->by_state()[static_cast<size_t>(s)]; }
    void answer(const mac_address& mac, bool solicited = true, bool overrides = true) {
        n->confirm(here, host, {.mac = mac, .solicited = solicited, .overrides = overrides}, now);
    }
    /// As a worker does: the MAC it would send to; marks the neighbour used.
    [[nodiscard]] bool worker_sees(mac_address& mac) const {
        datapath::next_hop& nexthop = (*nexthops)[table->lookup(0, host)];
        if (nexthop.kind != datapath::nexthop_kind::adjacency) return false;
        nexthop.mark_used();
        mac = mac_in(nexthop);
        return true;
    }
    /// As a worker does with a packet to a failed neighbour.
    [[nodiscard]] bool worker_drops() const {
        datapath::next_hop& nexthop = (*nexthops)[table->lookup(0, host)];
        if (nexthop.kind != datapath::nexthop_kind::failed) return false;
        EXPECT_EQ(nexthop.reason, drop_reason::neighbour_failed);
        nexthop.mark_used();
        return true;
    }

    rte_mempool* pool = nullptr;
    state::configuration wanted;
    state::followed learned;
    std::unique_ptr<rcu::qsbr> domain;
    std::unique_ptr<next_hops> nexthops;
    std::unique_ptr<route_tables> table;
    std::vector<std::vector<uint32_t>> learned_nexthops;
    datapath::interface_addresses ours{.v6 = {parse_address("fe80::ff:fe00:1")->v6_bytes()}};
    nexthop_handle link;                   ///< next hop of the connected networks
    std::map<ip_prefix, uint32_t> longer;  ///< routes inside them
    std::unique_ptr<datapath::snapshot> snapshot;
    std::unique_ptr<neighbours> n;
    known_neighbour last_told;
    uint16_t mtu = 1500;
    std::chrono::steady_clock::duration commit_time{};
    bool may_ask = true;
    int asked_all = 0, asked_one = 0;
    const rte_mbuf *last_sent = nullptr, *last_given_up = nullptr;
    std::vector<mac_address> sent;
    std::map<drop_reason, int> gave_up;
    std::vector<std::pair<std::optional<mac_address>, std::optional<mac_address>>> events;
    uint64_t now = 1000;
};

/// No solicitation may be sent during duplicate address detection: it does not count as an
/// unanswered one.
TEST_F(machine, a_try_that_may_not_be_made_is_none) {
    may_ask = false;
    packet_for(host);
    pass(10 * wanted.limits.retransmit_ms);
    EXPECT_EQ(n->pending(), 1U);
    may_ask = true;
    pass(100);
    EXPECT_EQ(asked_all, 1) << "soon";
    pass(wanted.limits.retransmit_ms * wanted.limits.attempts);
    EXPECT_EQ(asked_all, static_cast<int>(wanted.limits.attempts));
    EXPECT_EQ(n->pending(), 0U);
}

/// The log has a line when a neighbour is found, moves and is lost, and none for the states
/// between.
TEST_F(machine, what_happens_to_it_is_told_once) {
    packet_for(host);
    EXPECT_TRUE(events.empty());
    answer(mac_a);
    answer(mac_a);
    n->learn(here, host, mac_a, true, now);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(last_told.address, host);
    EXPECT_EQ(last_told.interface, here);
    EXPECT_EQ(events[0], std::pair(std::optional<mac_address>{}, std::optional(mac_a)));
    n->learn(here, host, mac_b, true, now);
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[1], std::pair(std::optional(mac_a), std::optional(mac_b)));
    for (int i = 0; i < 20 && events.size() < 3; ++i) {
        mac_address seen;
        (void)worker_sees(seen);
        pass(100);
    }
    ASSERT_EQ(events.size(), 3U);
    EXPECT_EQ(events[2], std::pair(std::optional(mac_b), std::optional<mac_address>{}));
    pass(2 * wanted.limits.negative_ms);
    packet_for(host);
    pass(400);
    ASSERT_EQ(events.size(), 4U) << "it never answered";
    EXPECT_EQ(events[3].first, std::nullopt);
    EXPECT_EQ(events[3].second, std::nullopt);
}

TEST_F(machine, packets_wait_for_the_answer_and_then_go) {
    packet_for(host);
    packet_for(host);
    EXPECT_EQ(asked_all, 1);
    EXPECT_EQ(n->pending(), 2U);
    answer(mac_a);
    EXPECT_EQ(sent, (std::vector{mac_a, mac_a}));
    EXPECT_EQ(n->pending(), 0U);
    EXPECT_EQ(in(nstate::reachable), 1U);
    mac_address seen;
    EXPECT_TRUE(worker_sees(seen));
    EXPECT_EQ(seen, mac_a);
    packet_for(host);  // punted before the worker saw the answer
    EXPECT_EQ(sent.size(), 3U);
}

TEST_F(machine, silence_fails_it_and_gives_up_what_waits) {
    packet_for(host);
    pass(299);
    EXPECT_EQ(asked_all, 3);
    EXPECT_EQ(in(nstate::incomplete), 1U);
    pass(1);
    EXPECT_EQ(in(nstate::failed), 1U);
    EXPECT_EQ(gave_up[drop_reason::neighbour_failed], 1);
    packet_for(host);  // not asked for again so soon
    EXPECT_EQ(gave_up[drop_reason::neighbour_failed], 2);
    EXPECT_EQ(asked_all, 3);
    pass(100 + 500);
    EXPECT_EQ(asked_all, 4) << "one probe, for the packet that was dropped";
    EXPECT_EQ(in(nstate::failed), 0U) << "forgotten";
    packet_for(host);
    EXPECT_EQ(asked_all, 5);
}

/// Workers drop its packets by its next hop, and say so; it is probed once per retransmit_ms meanwhile.
TEST_F(machine, a_failed_neighbour_drops_at_the_worker_and_is_probed_at_one_rate) {
    packet_for(host);
    pass(300);
    ASSERT_EQ(asked_all, 3);
    for (int ms = 0; ms < 2000; ++ms) {
        ASSERT_TRUE(worker_drops()) << ms;
        pass(1);
    }
    EXPECT_EQ(asked_all, 3 + 20);
    EXPECT_TRUE(n->asks(here, host)) << "an answer is expected, and spends no token";
    answer(mac_a);
    mac_address seen;
    EXPECT_TRUE(worker_sees(seen)) << "it is back with its first answer";
    EXPECT_EQ(in(nstate::reachable), 1U);
}

TEST_F(machine, a_failed_neighbour_that_nobody_uses_is_not_probed) {
    packet_for(host);
    pass(300 + 500);
    EXPECT_EQ(asked_all, 3);
    EXPECT_EQ(n->size(), 0U);
    EXPECT_FALSE(worker_drops()) << "its host route is gone";
    ASSERT_TRUE(add_gateway(host));
    packet_for(host);
    pass(300);
    EXPECT_TRUE(worker_drops());
    pass(1000);
    EXPECT_FALSE(worker_drops()) << "a gateway's next packet starts resolution";
    EXPECT_EQ(n->size(), 1U);
    EXPECT_EQ(n->timers(), 0U);
}

/// RFC 4861 section 7.3.3: it may have another MAC address now.
TEST_F(machine, a_probe_without_answer_leads_to_a_multicast_at_once) {
    for (const bool gateway : {false, true}) {
        if (gateway) {
            ASSERT_TRUE(add_gateway(host));
        }
        packet_for(host);
        answer(mac_a);
        asked_all = 0;
        pass(1000);
        mac_address seen;
        ASSERT_TRUE(worker_sees(seen));
        pass(400);
        ASSERT_EQ(in(nstate::failed), 1U);
        packet_for(host);
        EXPECT_EQ(asked_all, 1);
        answer(mac_b);
        ASSERT_TRUE(worker_sees(seen));
        EXPECT_EQ(seen, mac_b);
    }
}

/// A scan of a network: RFC 6583.
TEST_F(machine, solicitations_have_a_rate_per_interface) {
    wanted.limits = {.limit = 4096, .solicit_rate = 100, .negative_ms = 60'000};
    start();
    const uint64_t from = now;
    for (uint32_t i = 0; i < 5000; ++i) {
        packet_for(ip_address::from_v4(0x0a00'1000 + i));
        if (i % 5 == 0) pass(1);
    }
    const auto seconds = static_cast<double>(now - from) / 1000;
    EXPECT_LE(asked_all, 100 + static_cast<int>(seconds * 100) + 1);
    EXPECT_GE(asked_all, static_cast<int>(seconds * 100) - 1) << "the rate is used";
    EXPECT_GT(gave_up[drop_reason::resolve_rate], 4000);
    EXPECT_LE(n->size(), 201U) << "no entry without its solicitation";
    asked_all = 0;
    for (uint32_t i = 0; i < 50; ++i) packet_for(ip_address::from_v4(0x0a00'0300 + i), elsewhere);
    EXPECT_EQ(asked_all, 50) << "another interface has another rate limit";
}

/// A probe of a known neighbour is not behind a scan.
TEST_F(machine, a_scan_delays_no_probe) {
    wanted.limits.limit = 4096;
    wanted.limits.solicit_rate = 1;
    start();
    n->learn(here, host, mac_a, true, now);
    for (uint32_t i = 0; i < 10; ++i) packet_for(ip_address::from_v4(0x0a00'1000 + i));
    mac_address seen;
    ASSERT_TRUE(worker_sees(seen));
    pass(100);
    EXPECT_EQ(asked_one, 1);
}

/// The new packet replaces the oldest (RFC 1122 section 2.3.2.2, RFC 4861 section 7.2.2).
TEST_F(machine, no_more_than_the_limit_waits_and_the_oldest_goes) {
    rte_mbuf* const first = rte_pktmbuf_alloc(pool);
    n->resolve(first, here, host, now);
    for (int i = 0; i < 3; ++i) packet_for(host);
    EXPECT_EQ(n->pending(), 4U);
    rte_mbuf* const last = rte_pktmbuf_alloc(pool);
    n->resolve(last, here, host, now);
    EXPECT_EQ(n->pending(), 4U);
    EXPECT_EQ(gave_up[drop_reason::neighbour_queue_full], 1);
    EXPECT_EQ(last_given_up, first);
    answer(mac_a);
    EXPECT_EQ(last_sent, last);
}

TEST_F(machine, an_unused_neighbour_grows_stale_and_is_forgotten) {
    packet_for(host);
    answer(mac_a);
    pass(1000);
    EXPECT_EQ(in(nstate::stale), 1U);
    pass(5100);
    EXPECT_EQ(n->size(), 0U);
    EXPECT_EQ(asked_one, 0);
}

TEST_F(machine, a_stale_neighbour_that_is_used_is_asked_by_unicast) {
    packet_for(host);
    answer(mac_a);
    pass(1000);
    mac_address seen;
    ASSERT_TRUE(worker_sees(seen));
    pass(100);
    EXPECT_EQ(in(nstate::probe), 1U);
    EXPECT_EQ(asked_one, 1);
    EXPECT_TRUE(worker_sees(seen)) << "it is used on while it is asked";
    answer(mac_a);
    EXPECT_EQ(in(nstate::reachable), 1U);
}

/// RFC 4861 section 6.3.2: between half and one and a half of the base, and not the same for all.
TEST_F(machine, neighbours_that_were_resolved_together_become_stale_one_by_one) {
    constexpr uint32_t all = 7;
    const auto confirm_all = [&] {
        for (uint32_t i = 0; i < all; ++i) {
            const ip_address one = ip_address::from_v4(0x0a00'0100 + i);
            packet_for(one);
            n->confirm(here, one, {.mac = mac_a, .solicited = true}, now);
        }
    };
    confirm_all();
    ASSERT_EQ(in(nstate::reachable), all);
    pass(wanted.limits.reachable_ms / 2 - 1);
    EXPECT_EQ(in(nstate::reachable), all);
    unsigned steps = 0;
    for (uint32_t ms = 0, before = all; ms <= wanted.limits.reachable_ms + 2; ++ms) {
        pass(1);
        steps += in(nstate::reachable) != std::exchange(before, in(nstate::reachable));
    }
    EXPECT_EQ(in(nstate::reachable), 0U);
    EXPECT_GT(steps, 1U);
}

TEST_F(machine, a_neighbour_that_vanished_fails) {
    packet_for(host);
    answer(mac_a);
    pass(1000);
    mac_address seen;
    ASSERT_TRUE(worker_sees(seen));
    pass(400);
    EXPECT_EQ(asked_one, 3);
    EXPECT_EQ(in(nstate::failed), 1U);
    EXPECT_FALSE(worker_sees(seen));
}

TEST_F(machine, a_changed_mac_is_taken_over_when_it_overrides) {
    packet_for(host);
    answer(mac_a);
    answer(mac_b, true, false);  // RFC 4861 section 7.2.5: no override: kept, but now doubtful
    mac_address seen;
    ASSERT_TRUE(worker_sees(seen));
    EXPECT_EQ(seen, mac_a);
    EXPECT_EQ(in(nstate::stale), 1U);
    answer(mac_b, false, true);
    ASSERT_TRUE(worker_sees(seen));
    EXPECT_EQ(seen, mac_b);
    EXPECT_EQ(in(nstate::stale), 1U);
}

TEST_F(machine, an_announcement_nobody_asked_for_makes_no_neighbour) {
    answer(mac_a);
    n->learn(here, host, mac_a, false, now);
    EXPECT_EQ(n->size(), 0U);
    n->learn(here, host, mac_a, true, now);  // a solicitation for our address
    EXPECT_EQ(in(nstate::stale), 1U);
}

TEST_F(machine, the_limit_holds_and_failed_ones_make_room) {
    for (uint32_t i = 0; i < 7; ++i) packet_for(ip_address::from_v4(0x0a00'0100 + i));
    EXPECT_EQ(n->size(), 7U);
    pass(300);
    EXPECT_EQ(in(nstate::failed), 7U);
    packet_for(host);
    EXPECT_EQ(gave_up[drop_reason::neighbour_limit], 0);
    EXPECT_EQ(n->size(), 7U) << "an eighth is kept for gateways and static neighbours";
    EXPECT_EQ(in(nstate::incomplete), 1U);
}

// An entry learnt from unsolicited messages is evicted before one that we solicited, and that before a
// reachable one.
TEST_F(machine, spoofed_solicitations_do_not_lock_the_table) {
    packet_for(host);
    answer(mac_a);
    packet_for(host6);
    n->confirm(here, host6, {.mac = mac_b, .solicited = true}, now);
    pass(1000);
    n->confirm(here, host, {.mac = mac_a, .solicited = true}, now);  // host6 is stale now
    for (uint32_t i = 0; i < 1000; ++i)
        n->learn(here, ip_address::from_v4(0x0a00'0100 + i), mac_b, true, now);
    EXPECT_EQ(n->size(), 7U);
    EXPECT_EQ(in(nstate::reachable), 1U);
    packet_for(host6);
    EXPECT_EQ(sent.back(), mac_b) << "host6 is still known";
    const ip_address fresh = ip_address::from_v4(0x0a00'0909);
    packet_for(fresh);
    EXPECT_EQ(gave_up[drop_reason::neighbour_limit], 0)
        << "there is room for the neighbour of a packet";
    EXPECT_TRUE(n->asks(here, fresh));
}

TEST_F(machine, an_interface_has_its_share) {
    for (uint32_t i = 0; i < 3; ++i)  // elsewhere's half
        n->learn(elsewhere, ip_address::from_v4(0x0a00'0200 + i), mac_b, true, now);
    for (uint32_t i = 0; i < 1000; ++i)
        n->learn(here, ip_address::from_v4(0x0a00'0100 + i), mac_b, true, now);
    for (uint32_t i = 0; i < 3; ++i) packet_for(ip_address::from_v4(0x0a00'0200 + i), elsewhere);
    EXPECT_EQ(sent.size(), 3U) << "none of elsewhere's was taken";
}

/// A host can answer for any number of invented addresses.
TEST_F(machine, reachable_neighbours_of_one_interface_lock_no_other) {
    wanted.limits.limit = 32;
    start();
    const auto invented = [](uint32_t i) { return ip_address::from_v4(0x0a00'0100 + i); };
    const auto other = [](uint32_t i) { return ip_address::from_v4(0x0a00'0800 + i); };
    for (uint32_t i = 0; i < 8; ++i) n->learn(elsewhere, other(i), mac_b, true, now);
    for (uint32_t i = 0; i < 100; ++i) {
        n->learn(here, invented(i), mac_a, true, now);
        n->confirm(here, invented(i), {.mac = mac_a, .solicited = true}, now);
    }
    EXPECT_EQ(in(nstate::reachable), 20U);
    EXPECT_EQ(n->size(), 28U) << "an eighth is kept for gateways and static neighbours";
    for (uint32_t i = 0; i < 8; ++i)
        EXPECT_TRUE(n->knows(elsewhere, other(i))) << "below its share";
    for (uint32_t i = 80; i < 100; ++i) EXPECT_TRUE(n->knows(here, invented(i))) << "the newest";
    EXPECT_EQ(table->lookup(0, invented(0)), link.index()) << "without a host route";
    for (uint32_t i = 8; i < 14; ++i) {
        packet_for(other(i), elsewhere);
        EXPECT_TRUE(n->asks(elsewhere, other(i)));
    }
    EXPECT_EQ(in(nstate::reachable), 14U) << "the shares are equal";
    // Gateways fill the eighth, and then the room of dynamic entries.
    EXPECT_TRUE(n->has_room());
    for (uint32_t i = 0; i < 10; ++i)
        ASSERT_TRUE(add_gateway(ip_address::from_v4(0x0a00'0a00 + i))) << i;
    EXPECT_TRUE(n->add_gateway(elsewhere, other(99), false));
    EXPECT_EQ(n->size(), 32U);
    EXPECT_TRUE(n->has_room());
    EXPECT_EQ(gave_up[drop_reason::neighbour_failed] + gave_up[drop_reason::neighbour_limit], 0);
    // A static neighbour on the interface of the many.
    wanted.neighbours[{"here", ip_address::from_v4(0x0a00'0b00)}] = {.mac = mac_b};
    ASSERT_TRUE(apply());
    EXPECT_EQ(n->size(), 32U);
    wanted.routes = {};
    wanted.neighbours.clear();
    ASSERT_TRUE(apply());
}

TEST_F(machine, reachable_neighbours_go_after_all_others_of_interfaces_above_their_share) {
    wanted.limits.limit = 16;  // a share: 7
    start();
    const auto reachable = [](uint32_t i) { return ip_address::from_v4(0x0a00'0100 + i); };
    const auto stale = [](uint32_t i) { return ip_address::from_v4(0x0a00'0800 + i); };
    const auto resolve_one = [&](uint32_t i) {
        n->learn(here, reachable(i), mac_a, true, now);
        n->confirm(here, reachable(i), {.mac = mac_a, .solicited = true}, now);
    };
    for (uint32_t i = 0; i < 10; ++i) n->learn(elsewhere, stale(i), mac_b, true, now);
    for (uint32_t i = 0; i < 7; ++i) resolve_one(i);
    EXPECT_EQ(in(nstate::reachable), 7U);
    EXPECT_EQ(in(nstate::stale), 7U);
    EXPECT_FALSE(n->knows(elsewhere, stale(2)));
    resolve_one(7);
    EXPECT_EQ(in(nstate::stale), 7U) << "elsewhere has its share";
    EXPECT_FALSE(n->knows(here, reachable(0))) << "the oldest";
    EXPECT_TRUE(n->knows(here, reachable(1)));
    resolve_one(2);
    n->learn(here, reachable(8), mac_a, true, now);
    n->learn(here, reachable(9), mac_a, true, now);
    EXPECT_FALSE(n->knows(here, reachable(8))) << "an unsolicited one goes before the reachable";
    EXPECT_TRUE(n->knows(here, reachable(2)));
}

TEST_F(machine, an_interface_without_any_to_forget_takes_the_others) {
    for (uint32_t i = 0; i < 5; ++i) ASSERT_TRUE(add_gateway(ip_address::from_v4(0x0a00'0100 + i)));
    for (uint32_t i = 0; i < 3; ++i)
        n->learn(elsewhere, ip_address::from_v4(0x0a00'0200 + i), mac_b, true, now);
    ASSERT_EQ(n->size(), 8U);
    ASSERT_TRUE(n->has_room());
    packet_for(ip_address::from_v4(0x0a00'0109));
    EXPECT_EQ(gave_up[drop_reason::neighbour_limit], 0);
    EXPECT_TRUE(n->asks(here, ip_address::from_v4(0x0a00'0109)));
}

TEST_F(machine, a_lower_limit_is_reached_entry_by_entry) {
    for (uint32_t i = 0; i < 7; ++i)
        n->learn(here, ip_address::from_v4(0x0a00'0100 + i), mac_b, true, now);
    wanted.limits.limit = 4;
    ASSERT_TRUE(apply());
    for (uint32_t i = 0; i < 3; ++i) {
        packet_for(ip_address::from_v4(0x0a00'0200 + i));
        EXPECT_TRUE(n->asks(here, ip_address::from_v4(0x0a00'0200 + i)));
        EXPECT_EQ(n->size(), 6 - i);
    }
    EXPECT_EQ(gave_up[drop_reason::neighbour_limit], 0);
}

TEST_F(machine, a_change_with_a_lower_limit_makes_room) {
    for (uint32_t i = 0; i < 6; ++i)
        n->learn(here, ip_address::from_v4(0x0a00'0100 + i), mac_b, true, now);
    wanted.limits.limit = 4;
    ASSERT_TRUE(add_gateway(ip_address::from_v4(0x0a00'0200)));
    EXPECT_EQ(n->size(), 5U);
}

/// Management prepares changes, and control alone drops packets.
TEST_F(machine, packets_of_an_entry_that_a_change_evicts_are_dropped_by_the_next_tick) {
    for (uint32_t i = 0; i < 7; ++i) packet_for(ip_address::from_v4(0x0a00'0100 + i));
    for (uint32_t i = 0; i < 2; ++i) ASSERT_TRUE(add_gateway(ip_address::from_v4(0x0a00'0200 + i)));
    EXPECT_EQ(n->size(), 8U);
    EXPECT_TRUE(gave_up.empty());
    EXPECT_EQ(n->pending(), 7U);
    n->tick(now);
    EXPECT_EQ(gave_up, (std::map<drop_reason, int>{{drop_reason::neighbour_limit, 1}}));
    EXPECT_EQ(n->pending(), 6U);
}

/// Control commits a change, and may not pause for each neighbour that it does not concern.
TEST_F(machine, a_change_updates_the_neighbours_that_it_concerns) {
    constexpr uint32_t many = 20'000;
    wanted.limits.limit = 2 * many;
    start();
    const auto address = [](uint32_t number) {
        ip_address a = host6;
        std::memcpy(&a.bytes[10], &number, sizeof number);
        return a;
    };
    for (uint32_t i = 0; i < many; ++i) n->learn(here, address(i), mac_a, true, now);
    ASSERT_EQ(n->size(), many);
    mtu = 9000;
    ASSERT_TRUE(apply());
    const auto all = commit_time;
    EXPECT_EQ((*nexthops)[table->lookup(0, address(many - 1))].mtu, 9000);
    ASSERT_TRUE(add_gateway(host));
    EXPECT_LT(10 * commit_time, all);
}

/// A snapshot is copied and freed when a device vanishes.
TEST_F(machine, a_neighbour_that_comes_after_the_snapshot_of_the_change_has_gone) {
    snapshot->interfaces[here] = {};
    snapshot.reset();
    packet_for(host);
    answer(mac_a);
    EXPECT_EQ((*nexthops)[table->lookup(0, host)].mtu, 1500);
}

TEST_F(machine, all_that_waits_is_bounded_and_the_oldest_goes) {
    wanted.limits.limit = 64;
    start(10);
    for (uint32_t i = 0; i < 16; ++i) packet_for(ip_address::from_v4(0x0a00'0100 + i));
    EXPECT_EQ(n->pending(), 10U);
    EXPECT_EQ(gave_up[drop_reason::pending_limit], 6);
    n->confirm(here, ip_address::from_v4(0x0a00'0100), {.mac = mac_a, .solicited = true}, now);
    EXPECT_TRUE(sent.empty()) << "the first one's packet was the oldest";
    n->confirm(here, ip_address::from_v4(0x0a00'010f), {.mac = mac_a, .solicited = true}, now);
    EXPECT_EQ(sent.size(), 1U);
}

TEST_F(machine, a_neighbour_has_one_timer) {
    packet_for(host);
    for (int i = 0; i < 10'000; ++i) answer(i % 2 ? mac_a : mac_b);
    EXPECT_EQ(n->timers(), 1U);
}

TEST_F(machine, an_answer_without_an_address_confirms_what_is_known_and_nothing_else) {
    packet_for(host);
    n->confirm(here, host, {.solicited = true}, now);  // RFC 4861 section 7.2.5
    EXPECT_EQ(in(nstate::incomplete), 1U);
    EXPECT_TRUE(sent.empty());
    answer(mac_a);
    pass(1000);
    EXPECT_EQ(in(nstate::stale), 1U);
    n->confirm(here, host, {.solicited = true}, now);
    EXPECT_EQ(in(nstate::reachable), 1U);
    mac_address seen;
    ASSERT_TRUE(worker_sees(seen));
    EXPECT_EQ(seen, mac_a);
}

TEST_F(machine, a_gateway_is_never_forgotten) {
    ASSERT_TRUE(add_gateway(host));
    ASSERT_TRUE(apply()) << "again";
    EXPECT_EQ(n->size(), 1U);
    packet_for(host);
    pass(2000);
    EXPECT_EQ(in(nstate::failed), 1U);
    packet_for(host);
    answer(mac_a);
    EXPECT_EQ(sent.size(), 1U);
    flush({.interface = here}, drop_reason::port_down);
    mac_address seen;
    EXPECT_FALSE(worker_sees(seen));
    packet_for(host);
    answer(mac_b);
    EXPECT_EQ(n->size(), 1U);
    ASSERT_TRUE(worker_sees(seen));
    EXPECT_EQ(seen, mac_b);
}

TEST_F(machine, an_operator_flushes_one_or_all_dynamic_entries) {
    const ip_address other = ip_address::from_v4(host.v4() + 1),
                     fixed = ip_address::from_v4(host.v4() + 2);
    wanted.neighbours[{"here", fixed}] = {.mac = mac_a};
    ASSERT_TRUE(apply());
    for (const ip_address& a : {host, other}) n->learn(here, a, mac_b, true, now);
    ASSERT_EQ(n->size(), 3U);
    constexpr auto why = drop_reason::neighbour_failed;
    EXPECT_EQ(flush({.interface = 999}, why), 0U);
    EXPECT_EQ(flush({.address = fixed}, why), 0U) << "static";
    EXPECT_EQ(flush({.interface = here, .address = other}, why), 1U);
    EXPECT_EQ(n->size(), 2U);
    EXPECT_EQ(flush({}, why), 1U);
    EXPECT_EQ(n->size(), 1U);
}

/// Without a link, the next packet starts address resolution.
TEST_F(machine, a_flushed_gateway_is_asked_at_once) {
    ASSERT_TRUE(add_gateway(host));
    packet_for(host);
    answer(mac_a);
    int asked = asked_all;
    EXPECT_EQ(flush({}, drop_reason::neighbour_failed), 1U);
    EXPECT_EQ(asked_all, asked + 1);
    EXPECT_EQ(in(nstate::incomplete), 1U);
    answer(mac_b);
    mac_address seen;
    ASSERT_TRUE(worker_sees(seen)) << "without a packet";
    EXPECT_EQ(seen, mac_b);
    asked = asked_all;
    EXPECT_EQ(flush({.interface = here}, drop_reason::port_down), 1U);
    pass(wanted.limits.retransmit_ms);
    EXPECT_EQ(asked_all, asked);
    EXPECT_EQ(in(nstate::failed), 1U);
    wanted.routes = {};
    ASSERT_TRUE(apply());
}

/// Thousands of entries hold control up for a part of them only.
TEST_F(machine, a_flush_goes_on_by_parts) {
    constexpr uint32_t all = 10 * neighbours::max_deleted;
    wanted.limits = {.limit = 4 * all};
    start();
    const auto host_at = [](uint32_t i) { return ip_address::from_v4(0x0a00'0100 + i); };
    for (uint32_t i = 0; i < all; ++i)
        for (const uint16_t interface : {here, elsewhere})
            n->learn(interface, host_at(i), mac_a, true, now);
    ASSERT_EQ(n->size(), 2 * all);
    n->flush_by_ticks({.interface = here}, drop_reason::port_down);
    // One that is resolved meanwhile, and one that is new, stay.
    n->confirm(here, host_at(all - 1), {.mac = mac_a, .solicited = true}, now);
    n->learn(here, host_at(all), mac_b, true, now);
    for (uint32_t before = n->size(); n->size() != all + 2; before = n->size()) {
        n->tick(now);
        ASSERT_LT(n->size(), before);
        ASSERT_GE(n->size(), before - neighbours::max_deleted);
    }
    EXPECT_TRUE(n->knows(here, host_at(all - 1)) && n->knows(here, host_at(all)));
    // The entries of one address, on each interface.
    EXPECT_EQ(flush({.address = host_at(all - 1)}, drop_reason::neighbour_failed), 2U);
    EXPECT_EQ(flush({.address = host_at(2 * all)}, drop_reason::neighbour_failed), 0U);
    // A visit of many others is bounded, too.
    auto nothing = n->begin_flush({}, drop_reason::neighbour_failed);
    n->continue_flush(nothing, now);
    EXPECT_EQ(nothing.deleted(), neighbours::max_deleted);
    EXPECT_FALSE(nothing.is_done());
    EXPECT_EQ(flush({}, drop_reason::neighbour_failed), all - neighbours::max_deleted);
    EXPECT_EQ(n->size(), 0U);
}

/// Timers that are due together, as of the gateways of a flush, are spread over iterations of control.
TEST_F(machine, many_due_timers_are_spread) {
    constexpr uint32_t all = 4 * neighbours::max_timers;
    wanted.limits = {.limit = 4 * all, .solicit_rate = 4 * all};
    start();
    for (uint32_t i = 0; i < all; ++i)
        n->resolve(rte_pktmbuf_alloc(pool), here, ip_address::from_v4(0x0a00'0100 + i), now);
    const int asked = asked_all;
    now += wanted.limits.retransmit_ms;
    for (uint32_t part = 1; part <= 4; ++part) {
        n->tick(now);
        EXPECT_EQ(asked_all - asked, static_cast<int>(part * neighbours::max_timers));
    }
    n->tick(now);
    EXPECT_EQ(asked_all - asked, static_cast<int>(all)) << "each once";
    flush({}, drop_reason::neighbour_failed);
}

TEST_F(machine, a_known_neighbour_that_becomes_a_gateway_stays_known) {
    packet_for(host);
    answer(mac_a);
    ASSERT_TRUE(add_gateway(host));
    EXPECT_EQ(in(nstate::reachable), 1U);
    wanted.routes = {};
    ASSERT_TRUE(apply());
    pass(7000);
    EXPECT_EQ(n->size(), 0U) << "forgotten like any other";
}

TEST_F(machine, a_static_neighbour_is_never_asked_changed_or_forgotten) {
    wanted.neighbours[{"here", host}] = {.mac = mac_a};
    ASSERT_TRUE(add_gateway(host));  // a route by way of it
    answer(mac_b);
    n->learn(here, host, mac_b, true, now);
    flush({.interface = here}, drop_reason::port_down);
    pass(20'000);
    packet_for(host);
    EXPECT_EQ(sent, std::vector{mac_a});
    EXPECT_EQ(asked_all + asked_one, 0);
    wanted.neighbours[{"here", host}] = {.mac = mac_b};
    ASSERT_TRUE(apply());
    packet_for(host);
    EXPECT_EQ(sent.back(), mac_b);
    wanted.neighbours.clear();
    wanted.routes = {};
    ASSERT_TRUE(apply());
    EXPECT_EQ(n->size(), 0U);
}

/// The log reports the gateway; other routes of the routing daemon remain valid.
TEST_F(machine, a_gateway_that_is_our_own_link_local_address) {
    const ip_address self = *parse_address("fe80::ff:fe00:1"), other = *parse_address("fe80::2");
    wanted.routes.target_index(state::target_via(self, "here"));
    ASSERT_FALSE(apply());
    wanted.routes = {};
    learned.routes[""].target_index(state::target_via(self, "here"));
    learned.routes[""].target_index(state::target_via(other, "here"));
    ASSERT_TRUE(apply());
    ASSERT_EQ(learned_nexthops.size(), 2U);
    EXPECT_EQ(learned_nexthops[0], std::vector{datapath::fixed_nexthop::unreachable});
    EXPECT_GE(learned_nexthops[1].at(0), datapath::fixed_nexthop::first_free);
    EXPECT_EQ(n->size(), 1U);
    learned.routes.clear();
    ASSERT_TRUE(apply());
}

/// Next hops of the kernel's routes leave one entry in eight to others, and those without room stop nothing.
TEST_F(machine, kernel_gateways_beyond_the_limit_are_left_out) {
    for (uint32_t i = 0; i < 9; ++i)
        learned.routes[""].target_index(
            state::target_via(ip_address::from_v4(0x0a00'0100 + i), "here"));
    ASSERT_TRUE(apply());
    size_t there = 0;
    for (const auto& nexthops_of_target : learned_nexthops)
        there += nexthops_of_target.at(0) != no_nexthop;
    EXPECT_EQ(there, 7U);
    EXPECT_FALSE(n->has_room());
    packet_for(host);
    EXPECT_TRUE(n->knows(here, host)) << "a host on the link has room";
    flush({.interface = here}, drop_reason::port_down);
    ASSERT_TRUE(add_gateway(host)) << "and so has the operator's gateway";
    wanted.routes = {};
    // One that goes makes room for one that was left out, when its entry has gone.
    learned.routes.clear();
    for (uint32_t i = 1; i < 9; ++i)
        learned.routes[""].target_index(
            state::target_via(ip_address::from_v4(0x0a00'0100 + i), "here"));
    ASSERT_TRUE(apply());
    EXPECT_TRUE(n->has_room());
    ASSERT_TRUE(apply());
    there = 0;
    for (const auto& nexthops_of_target : learned_nexthops)
        there += nexthops_of_target.at(0) != no_nexthop;
    EXPECT_EQ(there, 7U);
    EXPECT_FALSE(n->has_room());
    learned.routes.clear();
    ASSERT_TRUE(apply());
    EXPECT_TRUE(n->has_room());
}

/// Linux forwards by the longest prefix, whatever address a host on the link claims.
TEST_F(machine, a_longer_route_inside_the_network_takes_the_host_route_away) {
    mac_address mac{};
    packet_for(host);
    answer(mac_a);
    EXPECT_TRUE(worker_sees(mac));
    longer = {{*parse_prefix("10.0.0.0/24"), datapath::fixed_nexthop::blackhole}};
    ASSERT_TRUE(apply());
    EXPECT_EQ(table->lookup(0, host), datapath::fixed_nexthop::blackhole);
    n->learn(here, host, mac_b, true, now);
    EXPECT_EQ(table->lookup(0, host), datapath::fixed_nexthop::blackhole);
    longer.clear();
    ASSERT_TRUE(apply());
    n->learn(here, host, mac_a, true, now);
    EXPECT_TRUE(worker_sees(mac));
}

/// ECMP groups leave such a gateway out and need it probed, so that it can come back.
TEST_F(machine, a_gateway_of_a_group_that_fails_is_probed_until_it_answers) {
    wanted.sharing.use_neigh = state::use_neigh::both;
    const ip_address other = *parse_address("10.0.0.3");
    wanted.routes.target_index(
        {.members = {{.via = host, .interface = "here"}, {.via = other, .interface = "here"}}});
    ASSERT_TRUE(apply());
    packet_for(host);
    answer(mac_a);
    const uint32_t nexthop = n->of_nexthop(table->lookup(0, host))->nexthop;
    const auto kind = [&] { return (*nexthops)[nexthop].kind.load(); };
    EXPECT_EQ(kind(), datapath::nexthop_kind::adjacency);
    pass(wanted.limits.reachable_ms * 3 / 2 + 1);
    (*nexthops)[nexthop].mark_used();
    pass(wanted.limits.retransmit_ms * (wanted.limits.attempts + 2));
    EXPECT_EQ(kind(), datapath::nexthop_kind::failed) << "at once, not after a second resolution";
    const int asked = asked_all;
    pass(10 * wanted.limits.negative_ms);
    EXPECT_EQ(kind(), datapath::nexthop_kind::failed);
    EXPECT_GE(asked_all - asked, 40) << "once per retransmit_ms, without packets";
    answer(mac_b);
    EXPECT_EQ(kind(), datapath::nexthop_kind::adjacency);
    wanted.routes = {};
    ASSERT_TRUE(apply());
}

TEST_F(machine, gateways_beyond_the_limit_are_refused_and_change_nothing) {
    for (uint32_t i = 0; i < 9; ++i)
        wanted.routes.target_index(state::target_via(ip_address::from_v4(0x0a00'0100 + i), "here"));
    const auto refused = apply();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ENOSPC);
    EXPECT_EQ(n->size(), 0U);
    wanted.routes = {};
}

TEST_F(machine, a_flush_gives_up_what_waits_and_forgets) {
    packet_for(host);
    packet_for(host6);
    flush({.interface = elsewhere}, drop_reason::port_down);
    EXPECT_EQ(n->pending(), 2U);
    flush({.interface = here}, drop_reason::port_down);
    EXPECT_EQ(gave_up[drop_reason::port_down], 2);
    EXPECT_EQ(n->size(), 0U);
}

TEST_F(machine, both_families_live_side_by_side) {
    packet_for(host);
    packet_for(host6);
    EXPECT_EQ(n->size(), 2U);
    n->confirm(here, host6, {.mac = mac_b, .solicited = true}, now);
    EXPECT_EQ(in(nstate::reachable), 1U);
    EXPECT_EQ(in(nstate::incomplete), 1U);
}

// A worker looks all the time while control adds, changes and removes: it sees a MAC that the
// neighbour had, or none; and hops come back only after it was quiescent.
TEST_F(machine, a_worker_reads_while_control_writes) {
    wanted.limits = {.limit = 64, .queue_len = 0, .negative_ms = 1, .gc_stale_ms = 1};
    start();
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> looked{0}, wrong{0};
    std::thread worker([&] {
        test::run_anywhere();
        domain->online(0);
        while (!stop.load(std::memory_order_relaxed)) {
            for (uint32_t i = 0; i < 32; ++i) {
                const datapath::next_hop& nexthop =
                    (*nexthops)[table->lookup(0, ip_address::from_v4(0x0a00'0000 + i))];
                if (nexthop.kind.load(std::memory_order_acquire) !=
                    datapath::nexthop_kind::adjacency)
                    continue;
                wrong += mac_in(nexthop).bytes[5] != i;  // byte 4 changes, byte 5 is whose it is
                ++looked;
            }
            domain->quiescent(0);
        }
        domain->offline(0);
    });
    for (uint32_t round = 0; round < (test::address_sanitized ? 20'000 : 100'000) || looked == 0;
         ++round) {
        const uint32_t i = round * 7 % 32;
        const ip_address a = ip_address::from_v4(0x0a00'0000 + i);
        if (round % 97 == 0)
            flush({.interface = here}, drop_reason::port_down);
        else
            n->learn(here, a, {{2, 0, 0, 0, static_cast<uint8_t>(round), static_cast<uint8_t>(i)}},
                     true, now);
        if (round % 64 == 0) {
            domain->reclaim();
            std::this_thread::yield();
        }
        if (round > 20'000'000) break;
    }
    stop.store(true, std::memory_order_relaxed);
    worker.join();
    flush({.interface = here}, drop_reason::port_down);
    EXPECT_GT(looked, 0U);
    EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace turnpike::control
