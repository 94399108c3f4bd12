// SPDX-License-Identifier: BSD-3-Clause
// The neighbours' state machine against RFC 4861, with a clock of its own.
#include "control/neighbours.hpp"

#include "datapath/burst.hpp"

#include <gtest/gtest.h>
#include <rte_mbuf.h>
#include <sched.h>

#include <cstring>
#include <thread>

#include "lib/eal.hpp"
#include "rcu/qsbr.hpp"

namespace turnpike::control {
namespace {

using packet::drop_reason;
using state = neighbour_state;

constexpr packet::mac_address mac_a{{2, 0, 0, 0, 0, 0xa}}, mac_b{{2, 0, 0, 0, 0, 0xb}};
const ip_address host = *parse_address("10.0.0.2"), host6 = *parse_address("2001:db8::2");

class machine : public ::testing::Test {
  protected:
    void SetUp() override {
        pool = rte_pktmbuf_pool_create("machine", 1023, 0, datapath::mbuf_private_bytes, 256,
                                       SOCKET_ID_ANY);
        ASSERT_NE(pool, nullptr);
        start({.limit = 8,
               .held = 4,
               .reachable_ms = 1000,
               .retransmit_ms = 100,
               .attempts = 3,
               .failed_ms = 500,
               .forget_ms = 5000});
    }
    void TearDown() override {
        n.reset();
        domain.reset();
        EXPECT_EQ(rte_mempool_in_use_count(pool), 0U);
        rte_mempool_free(pool);
    }
    void start(const config::neighbours& limits) {
        n.reset();
        domain.reset();  // gives what it keeps back to the table
        table.reset();
        domain = *rcu::qsbr::create("machine", 1);
        auto made = datapath::neighbour_table::create(limits.limit, domain->hook());
        ASSERT_TRUE(made) << made.error().message();
        table = std::move(*made);
        n = std::make_unique<neighbours>(
            limits, *table,
            neighbour_actions{
                .solicit =
                    [this](uint16_t, const ip_address&, const packet::mac_address* known) {
                        known == nullptr ? ++asked_all : ++asked_one;
                    },
                .send =
                    [this](rte_mbuf* m, uint16_t, const packet::mac_address& mac) {
                        sent.push_back(mac);
                        rte_pktmbuf_free(m);
                    },
                .give_up =
                    [this](rte_mbuf* m, drop_reason why) {
                        ++gave_up[why];
                        rte_pktmbuf_free(m);
                    }});
    }
    void packet_for(const ip_address& a) { n->resolve(rte_pktmbuf_alloc(pool), 0, a, now); }
    void pass(uint64_t ms) {
        for (const uint64_t end = now + ms; now < end;) {
            n->tick(++now);
            domain->reclaim();
        }
    }
    [[nodiscard]] uint32_t in(state s) const { return n->by_state()[static_cast<size_t>(s)]; }
    void answer(const packet::mac_address& mac, bool solicited = true, bool overrides = true) {
        n->confirm(0, host, {.mac = mac, .solicited = solicited, .overrides = overrides}, now);
    }
    /// As a worker does: the MAC it would send to; marks the neighbour used.
    [[nodiscard]] bool worker_sees(packet::mac_address& mac) const {
        const uint32_t slot = table->find(datapath::neighbour_key::of(0, host));
        return slot != datapath::neighbour_table::none && table->mac_of(slot, mac);
    }

    rte_mempool* pool = nullptr;
    std::unique_ptr<rcu::qsbr> domain;
    std::unique_ptr<datapath::neighbour_table> table;
    std::unique_ptr<neighbours> n;
    int asked_all = 0, asked_one = 0;
    std::vector<packet::mac_address> sent;
    std::map<drop_reason, int> gave_up;
    uint64_t now = 1000;
};

TEST_F(machine, packets_wait_for_the_answer_and_then_go) {
    packet_for(host);
    packet_for(host);
    EXPECT_EQ(asked_all, 1);
    EXPECT_EQ(n->held(), 2U);
    answer(mac_a);
    EXPECT_EQ(sent, (std::vector{mac_a, mac_a}));
    EXPECT_EQ(n->held(), 0U);
    EXPECT_EQ(in(state::reachable), 1U);
    packet::mac_address seen;
    EXPECT_TRUE(worker_sees(seen));
    EXPECT_EQ(seen, mac_a);
    packet_for(host);  // punted before the worker saw the answer
    EXPECT_EQ(sent.size(), 3U);
}

TEST_F(machine, silence_fails_it_and_gives_up_what_waits) {
    packet_for(host);
    pass(299);
    EXPECT_EQ(asked_all, 3);
    EXPECT_EQ(in(state::incomplete), 1U);
    pass(1);
    EXPECT_EQ(in(state::failed), 1U);
    EXPECT_EQ(gave_up[drop_reason::neighbour_failed], 1);
    packet_for(host);  // not asked for again so soon
    EXPECT_EQ(gave_up[drop_reason::neighbour_failed], 2);
    EXPECT_EQ(asked_all, 3);
    pass(500);
    EXPECT_EQ(in(state::failed), 0U) << "forgotten";
    packet_for(host);
    EXPECT_EQ(asked_all, 4);
}

TEST_F(machine, no_more_than_the_limit_waits) {
    for (int i = 0; i < 6; ++i) packet_for(host);
    EXPECT_EQ(n->held(), 4U);
    EXPECT_EQ(gave_up[drop_reason::neighbour_queue_full], 2);
}

TEST_F(machine, an_unused_neighbour_grows_stale_and_is_forgotten) {
    packet_for(host);
    answer(mac_a);
    pass(1000);
    EXPECT_EQ(in(state::stale), 1U);
    pass(5100);
    EXPECT_EQ(table->size(), 0U);
    EXPECT_EQ(asked_one, 0);
}

TEST_F(machine, a_stale_neighbour_that_is_used_is_asked_by_unicast) {
    packet_for(host);
    answer(mac_a);
    pass(1000);
    packet::mac_address seen;
    ASSERT_TRUE(worker_sees(seen));
    pass(100);
    EXPECT_EQ(in(state::probe), 1U);
    EXPECT_EQ(asked_one, 1);
    EXPECT_TRUE(worker_sees(seen)) << "it is used on while it is asked";
    answer(mac_a);
    EXPECT_EQ(in(state::reachable), 1U);
}

TEST_F(machine, a_neighbour_that_vanished_fails) {
    packet_for(host);
    answer(mac_a);
    pass(1000);
    packet::mac_address seen;
    ASSERT_TRUE(worker_sees(seen));
    pass(400);
    EXPECT_EQ(asked_one, 3);
    EXPECT_EQ(in(state::failed), 1U);
    EXPECT_FALSE(worker_sees(seen));
}

TEST_F(machine, a_changed_mac_is_taken_over_when_it_overrides) {
    packet_for(host);
    answer(mac_a);
    answer(mac_b, true, false);  // RFC 4861 section 7.2.5: no override: kept, but now doubtful
    packet::mac_address seen;
    ASSERT_TRUE(worker_sees(seen));
    EXPECT_EQ(seen, mac_a);
    EXPECT_EQ(in(state::stale), 1U);
    answer(mac_b, false, true);
    ASSERT_TRUE(worker_sees(seen));
    EXPECT_EQ(seen, mac_b);
    EXPECT_EQ(in(state::stale), 1U);
}

TEST_F(machine, an_announcement_nobody_asked_for_makes_no_neighbour) {
    answer(mac_a);
    n->learn(0, host, mac_a, false, now);
    EXPECT_EQ(table->size(), 0U);
    n->learn(0, host, mac_a, true, now);  // it asked for us
    EXPECT_EQ(in(state::stale), 1U);
}

TEST_F(machine, the_limit_holds_and_failed_ones_make_room) {
    for (uint32_t i = 0; i < 10; ++i) packet_for(ip_address::from_v4(0x0a00'0100 + i));
    EXPECT_EQ(table->size(), 8U);
    EXPECT_EQ(gave_up[drop_reason::neighbour_limit], 2);
    pass(300);
    EXPECT_EQ(in(state::failed), 8U);
    packet_for(host);  // makes room; whoever comes next finds it
    EXPECT_EQ(gave_up[drop_reason::neighbour_limit], 3);
    pass(1);
    packet_for(host);
    EXPECT_EQ(gave_up[drop_reason::neighbour_limit], 3);
    EXPECT_EQ(in(state::incomplete), 1U);
}

TEST_F(machine, a_gateway_is_never_forgotten) {
    const auto slot = n->add_gateway(0, host);
    ASSERT_TRUE(slot);
    EXPECT_EQ(*n->add_gateway(0, host), *slot);
    packet_for(host);
    pass(2000);
    EXPECT_EQ(in(state::failed), 1U);
    packet_for(host);
    answer(mac_a);
    EXPECT_EQ(sent.size(), 1U);
    n->flush(0, drop_reason::port_down, now);
    packet::mac_address seen;
    EXPECT_FALSE(worker_sees(seen));
    packet_for(host);
    answer(mac_b);
    EXPECT_EQ(table->find(datapath::neighbour_key::of(0, host)), *slot);
}

TEST_F(machine, a_known_neighbour_that_becomes_a_gateway_stays_known) {
    packet_for(host);
    answer(mac_a);
    ASSERT_TRUE(n->add_gateway(0, host));
    EXPECT_EQ(in(state::reachable), 1U);
    n->release_gateway(0, host, now);
    pass(7000);
    EXPECT_EQ(table->size(), 0U) << "forgotten like any other";
}

TEST_F(machine, a_static_neighbour_is_never_asked_changed_or_forgotten) {
    ASSERT_TRUE(n->add_static(0, host, mac_a));
    ASSERT_TRUE(n->add_gateway(0, host));  // a route by way of it
    answer(mac_b);
    n->learn(0, host, mac_b, true, now);
    n->flush(0, drop_reason::port_down, now);
    pass(20'000);
    packet::mac_address seen;
    ASSERT_TRUE(worker_sees(seen));
    EXPECT_EQ(seen, mac_a);
    packet_for(host);
    EXPECT_EQ(sent, std::vector{mac_a});
    EXPECT_EQ(asked_all + asked_one, 0);
}

TEST_F(machine, a_flush_gives_up_what_waits_and_forgets) {
    packet_for(host);
    packet_for(host6);
    n->flush(1, drop_reason::port_down, now);
    EXPECT_EQ(n->held(), 2U);
    n->flush(0, drop_reason::port_down, now);
    EXPECT_EQ(gave_up[drop_reason::port_down], 2);
    EXPECT_EQ(table->size(), 0U);
}

TEST_F(machine, both_families_live_side_by_side) {
    packet_for(host);
    packet_for(host6);
    EXPECT_EQ(table->size(), 2U);
    n->confirm(0, host6, {.mac = mac_b, .solicited = true}, now);
    EXPECT_EQ(in(state::reachable), 1U);
    EXPECT_EQ(in(state::incomplete), 1U);
}

// A worker looks all the time while control adds, changes and removes: it sees a MAC that the
// neighbour had, or none; and slots come back only after it was quiescent.
TEST_F(machine, a_worker_reads_while_control_writes) {
    start({.limit = 64, .held = 0});
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> looked{0}, wrong{0};
    std::thread worker([&] {
        cpu_set_t all;  // EAL pinned the main thread, and this one inherited it
        memset(&all, 0xff, sizeof all);
        sched_setaffinity(0, sizeof all, &all);
        domain->online(0);
        while (!stop.load(std::memory_order_relaxed)) {
            datapath::neighbour_key key[32];
            const datapath::neighbour_key* keys[32];
            uint32_t slot[32];
            for (uint32_t i = 0; i < 32; ++i) {
                key[i] = datapath::neighbour_key::of(0, ip_address::from_v4(0x0a00'0000 + i));
                keys[i] = &key[i];
            }
            table->find(keys, slot, 32);
            for (uint32_t i = 0; i < 32; ++i) {
                packet::mac_address mac;
                if (slot[i] == datapath::neighbour_table::none || !table->mac_of(slot[i], mac))
                    continue;
                wrong += mac.bytes[5] != i;  // byte 4 changes, byte 5 is whose it is
                ++looked;
            }
            domain->quiescent(0);
        }
        domain->offline(0);
    });
    for (uint32_t round = 0; round < 200'000 || looked == 0; ++round) {
        const uint32_t i = round * 7 % 32;
        const ip_address a = ip_address::from_v4(0x0a00'0000 + i);
        const auto key = datapath::neighbour_key::of(0, a);
        if (round % 3 == 0) {
            table->remove(key);
        } else if (const uint32_t slot = table->add(key); slot != datapath::neighbour_table::none) {
            table->resolve(slot,
                           {{2, 0, 0, 0, static_cast<uint8_t>(round), static_cast<uint8_t>(i)}});
        }
        if (round % 64 == 0) {
            domain->reclaim();
            std::this_thread::yield();
        }
        if (round > 20'000'000) break;
    }
    stop.store(true, std::memory_order_relaxed);
    worker.join();
    EXPECT_GT(looked, 0U);
    EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace turnpike::control
