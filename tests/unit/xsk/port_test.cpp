// SPDX-License-Identifier: BSD-3-Clause
// A port sends and receives, starts and stops, and counts.
#include "unit/xsk/port.hpp"

#include "lib/eal.hpp"

namespace turnpike::test {
namespace {

const bool thorough = std::getenv("TURNPIKE_LONG") != nullptr;

/// Frames sent at either end arrive at the other.
void exchange(const cable& wire, const port& p, rte_mempool* pool, size_t least = 60,
              size_t most = 1514) {
    uint32_t number = 0;
    for (size_t bytes = least; bytes <= most; bytes += 1 + (most - least) / 40) {
        const frame in = make_frame(bytes, ++number);
        ASSERT_TRUE(wire.send(in));
        EXPECT_EQ(p.receive(), in) << bytes << " bytes received";
        const frame out = make_frame(bytes, ++number);
        ASSERT_TRUE(p.send(to_mbuf(pool, out)));
        EXPECT_EQ(p.arrives(wire), out) << bytes << " bytes sent";
    }
}

struct variant {
    const char* arguments;
    const char* ops;
    bool fast_free;
};
class xsk_variants : public xsk_port, public ::testing::WithParamInterface<variant> {};

TEST_P(xsk_variants, frames_cross_both_ways) {
    rte_mempool* own = make_pool("of_the_way", 4096, RTE_MBUF_DEFAULT_BUF_SIZE, GetParam().ops);
    {
        const cable wire("near");
        port p("net_xsk0", wire, own,
               {.arguments = GetParam().arguments, .fast_free = GetParam().fast_free});
        ASSERT_EQ(p.code, 0);
        p.start();
        EXPECT_TRUE(p.link_up());
        exchange(wire, p, own);
        EXPECT_EQ(p.xstats().at("tx_copied"), 0u);
        EXPECT_EQ(p.xstats().at("rx_invalid_descriptors"), 0u);
        EXPECT_EQ(p.xstats().at("tx_invalid_completions"), 0u);
    }
    EXPECT_EQ(rte_mempool_in_use_count(own), 0u);
    rte_mempool_free(own);
}

INSTANTIATE_TEST_SUITE_P(
    all, xsk_variants,
    ::testing::Values(variant{"", "ring_mp_mc", false}, variant{",mode=copy", "cache_aware", true},
                      variant{",mode=skb", "ring_mp_mc", true},
                      variant{",busy_budget=64", "stack", false},
                      variant{",queues=1,start_queue=0", "cache_aware", false}));

TEST_F(xsk_port, zero_copy_is_refused_by_name_where_the_driver_has_none) {
    const cable wire("near");
    port p("net_xsk0", wire, pool, {.arguments = ",mode=zerocopy"});
    ASSERT_EQ(p.code, 0);
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(rte_eth_dev_start(p.id), -EOPNOTSUPP);
    fflush(stderr);
    const std::string message = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(message.find("'veth' has no zero-copy"), std::string::npos) << message;
}

/// In DPDK's syntax with `bus=` a device may have no arguments at all. EAL keeps the names of devices that it
/// could not probe.
TEST_F(xsk_port, a_device_without_arguments_is_refused) {
    EXPECT_EQ(rte_dev_probe("bus=vdev,name=net_xsk8"), -EINVAL);
    EXPECT_EQ(rte_dev_probe("net_xsk9"), -EINVAL);
}

TEST_F(xsk_port, queues_that_are_not_there_are_refused) {
    const cable wire("near", 1500, 2);
    EXPECT_EQ(port("net_xsk0", wire, pool, {.arguments = ",queues=3"}).code, -EINVAL);
    EXPECT_EQ(port("net_xsk0", wire, pool, {.arguments = ",start_queue=2"}).code, -EINVAL);
    port p("net_xsk0", wire, pool, {.arguments = ",queues=1,start_queue=1"});
    EXPECT_EQ(p.code, 0);
    p.start();
    EXPECT_EQ(port("net_xsk1", wire, pool).code, -EBUSY) << "our own program is there already";
}

/// The kernel drops frames for a TX queue that the interface does not have, without an error.
TEST_F(xsk_port, has_the_queues_of_each_direction) {
    const cable wire("near", 1500, 4);
    const auto limits = [&](const std::string& arguments) {
        const port p("net_xsk0", wire, pool, {.arguments = arguments});
        rte_eth_dev_info info{};
        EXPECT_EQ(rte_eth_dev_info_get(p.id, &info), 0);
        return std::pair(info.max_rx_queues, info.max_tx_queues);
    };
    using pair = std::pair<uint16_t, uint16_t>;
    ASSERT_TRUE(run("ethtool -L near rx 4 tx 2"));
    EXPECT_EQ(limits(""), pair(4, 2));
    EXPECT_EQ(limits(",queues=3"), pair(3, 2));
    EXPECT_EQ(limits(",queues=1"), pair(1, 1));
    EXPECT_EQ(limits(",start_queue=1"), pair(3, 1));
    EXPECT_EQ(limits(",start_queue=3"), pair(1, 0));

    port p("net_xsk0", wire, pool, {.queues = 2});
    ASSERT_EQ(p.code, 0);
    ASSERT_TRUE(run("ethtool -L near tx 1"));
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(rte_eth_dev_start(p.id), -EINVAL);
    fflush(stderr);
    const std::string message = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(
        message.find("near: has 4 RX and 1 TX queues; the port needs 2 and 2 from queue 0 on"),
        std::string::npos)
        << message;
    ASSERT_TRUE(run("ethtool -L near tx 2"));
    p.start();
}

TEST_F(xsk_port, two_queues) {
    const cable wire("near", 1500, 2);
    port p("net_xsk0", wire, pool, {.queues = 2});
    ASSERT_EQ(p.code, 0);
    p.start();
    for (uint16_t q = 0; q < 2; ++q) {
        const frame out = make_frame(100, q);
        ASSERT_TRUE(p.send(to_mbuf(pool, out), q));
        EXPECT_EQ(p.arrives(wire), out);
    }
    // veth receives on the queue that the sender chose, the sender by its CPU or a hash: on either.
    ASSERT_TRUE(wire.send(make_frame(100, 9)));
    EXPECT_TRUE(within(1, [&] {
        rte_mbuf* m = nullptr;
        const bool got = rte_eth_rx_burst(p.id, 0, &m, 1) + rte_eth_rx_burst(p.id, 1, &m, 1) == 1;
        if (got) rte_pktmbuf_free(m);
        return got;
    }));
}

TEST_F(xsk_port, two_ports_share_a_pool_and_forward) {
    const cable west("west"), east("east");
    port a("net_xsk0", west, pool), b("net_xsk1", east, pool);
    ASSERT_EQ(a.code, 0);
    ASSERT_EQ(b.code, 0);
    a.start();
    b.start();
    for (uint32_t n = 0; n < 500; ++n) {
        const frame in = make_frame(64 + n % 1400, n);
        ASSERT_TRUE(west.send(in));
        rte_mbuf* m = nullptr;
        ASSERT_TRUE(within(1, [&] { return rte_eth_rx_burst(a.id, 0, &m, 1) == 1; })) << n;
        ASSERT_TRUE(b.send(m));
        ASSERT_EQ(b.arrives(east), in);
    }
    EXPECT_EQ(b.xstats().at("tx_copied"), 0u);
    // The one whose UMEM it was may go: the other keeps it, and a third joins.
    a.close();
    const cable third("third");
    port c("net_xsk2", third, pool);
    c.start();
    exchange(third, c, pool);
    exchange(east, b, pool);
}

TEST_F(xsk_port, everything_is_back_after_restarts_under_traffic) {
    const cable wire("near");
    port p("net_xsk0", wire, pool);
    ASSERT_EQ(p.code, 0);
    for (int n = 0; n < (thorough ? 1000 : 10); ++n) {
        p.start();
        ASSERT_EQ(rte_mempool_in_use_count(pool), 256u) << "the RX ring's";
        for (uint32_t i = 0; i < 300; ++i) ASSERT_TRUE(wire.send(make_frame(64, i)));
        ASSERT_TRUE(p.receive().has_value());
        for (uint32_t i = 0; i < 100; ++i) ASSERT_TRUE(p.send(to_mbuf(pool, make_frame(200, i))));
        ASSERT_EQ(rte_eth_dev_stop(p.id), 0);
        ASSERT_EQ(rte_mempool_in_use_count(pool), 0u) << "after restart " << n;
    }
}

/// Both ends of a cable are ports of one pool; one sends what the other receives.
TEST_F(xsk_port, everything_is_back_after_many_packets) {
    const uint64_t packets = thorough ? 10'000'000 : 100'000;
    const cable wire("near");
    const cable other_end(cable::far_end{}, wire);
    port from("net_xsk0", wire, pool, {.descriptors = 1024});
    port to("net_xsk1", other_end, pool, {.descriptors = 1024});
    ASSERT_EQ(from.code, 0);
    ASSERT_EQ(to.code, 0);
    from.start();
    to.start();
    uint64_t sent = 0, received = 0;
    const auto receive = [&] {
        rte_mbuf* m[64];
        const uint16_t n = rte_eth_rx_burst(to.id, 0, m, 64);
        rte_pktmbuf_free_bulk(m, n);
        received += n;
        return n;
    };
    while (sent < packets) {
        rte_mbuf* m[32];
        ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool, m, 32), 0) << "after " << sent;
        for (rte_mbuf* one : m) std::memset(rte_pktmbuf_append(one, 64), 2, 64);
        for (uint16_t done = 0; done < 32; receive())
            done = static_cast<uint16_t>(done + rte_eth_tx_burst(from.id, 0, m + done, 32 - done));
        sent += 32;
    }
    EXPECT_TRUE(within(2, [&] { return receive() == 0 && received == sent; }))
        << received << " of " << sent;
    EXPECT_LT(from.xstats().at("tx_system_calls"), sent / 24);
    EXPECT_EQ(from.xstats().at("tx_invalid_completions"), 0u);
    EXPECT_EQ(to.xstats().at("rx_invalid_descriptors"), 0u);
}

TEST_F(xsk_port, a_pool_that_runs_dry_recovers) {
    rte_mempool* small = make_pool("small", 300);
    {
        const cable wire("near");
        port p("net_xsk0", wire, small);
        p.start();
        std::vector<rte_mbuf*> hoard;
        for (uint32_t i = 0; i < 400; ++i) {
            ASSERT_TRUE(wire.send(make_frame(64, i)));
            rte_mbuf* m = nullptr;
            if (within(0.01, [&] { return rte_eth_rx_burst(p.id, 0, &m, 1) == 1; }))
                hoard.push_back(m);
        }
        EXPECT_GT(hoard.size(), 250u);
        EXPECT_LT(hoard.size(), 301u);
        rte_eth_stats stats{};
        rte_eth_stats_get(p.id, &stats);
        EXPECT_GT(stats.rx_nombuf, 0u);
        EXPECT_GT(stats.imissed, 0u);
        rte_pktmbuf_free_bulk(hoard.data(), static_cast<unsigned>(hoard.size()));
        EXPECT_FALSE(p.receive(0.02).has_value());
        exchange(wire, p, small);
    }
    EXPECT_EQ(rte_mempool_in_use_count(small), 0u);
    rte_mempool_free(small);
}

/// A block is up to 64 buffers, rx_free_thresh is 32.
TEST_F(xsk_port, a_pool_with_less_than_a_block_is_enough_to_go_on) {
    rte_mempool* small = make_pool("small", 300);
    {
        const cable wire("near");
        port p("net_xsk0", wire, small);
        p.start();
        std::vector<rte_mbuf*> hoard;
        const auto receive = [&] {
            rte_mbuf* m = nullptr;
            if (within(0.01, [&] { return rte_eth_rx_burst(p.id, 0, &m, 1) == 1; }))
                hoard.push_back(m);
        };
        for (uint32_t i = 0; i < 310; ++i) {
            ASSERT_TRUE(wire.send(make_frame(64, i)));
            receive();
        }
        EXPECT_GT(p.xstats().at("rx_fill_ring_starved"), 0u) << "the kernel has no buffer";
        while (rte_mempool_avail_count(small) < 40 && !hoard.empty()) {
            rte_pktmbuf_free(hoard.back());
            hoard.pop_back();
        }
        ASSERT_EQ(rte_mempool_avail_count(small), 40u);
        EXPECT_FALSE(p.receive(0.02).has_value());
        for (uint32_t i = 0; i < 20; ++i) {
            ASSERT_TRUE(wire.send(make_frame(64, i)));
            ASSERT_EQ(p.receive(), make_frame(64, i));
        }
        rte_pktmbuf_free_bulk(hoard.data(), static_cast<unsigned>(hoard.size()));
    }
    EXPECT_EQ(rte_mempool_in_use_count(small), 0u);
    rte_mempool_free(small);
}

TEST_F(xsk_port, a_pool_too_small_for_the_ring_is_refused_and_whole) {
    rte_mempool* small = make_pool("small", 200);
    {
        const cable wire("near");
        port p("net_xsk0", wire, small);
        EXPECT_EQ(rte_eth_dev_start(p.id), -ENOMEM);
    }
    EXPECT_EQ(rte_mempool_in_use_count(small), 0u);
    rte_mempool_free(small);
}

TEST_F(xsk_port, a_full_ring_takes_no_more_and_goes_on) {
    const cable wire("near");
    port p("net_xsk0", wire, pool);
    p.start();
    ASSERT_TRUE(run("ip link set near down"));
    uint32_t taken = 0;
    for (uint32_t i = 0; i < 300; ++i) {
        rte_mbuf* m = to_mbuf(pool, make_frame(64, i));
        if (p.send(m))
            ++taken;
        else
            rte_pktmbuf_free(m);
    }
    EXPECT_EQ(taken, 256u);
    ASSERT_TRUE(run("ip link set near up"));
    ASSERT_TRUE(within(2, [&] { return p.link_up(); }));
    wire.settle();
    // Pending frames are sent without another call.
    for (uint32_t i = 0; i < 256; ++i) ASSERT_EQ(wire.receive(), make_frame(64, i));
    exchange(wire, p, pool);
}

TEST_F(xsk_port, counts_and_forgets) {
    const cable wire("near");
    port p("net_xsk0", wire, pool);
    p.start();
    exchange(wire, p, pool, 100, 139);
    rte_eth_stats stats{};
    ASSERT_EQ(rte_eth_stats_get(p.id, &stats), 0);
    EXPECT_EQ(stats.ipackets, 40u);
    EXPECT_EQ(stats.opackets, 40u);
    EXPECT_EQ(stats.ibytes, 40u * (100 + 139) / 2);
    EXPECT_EQ(stats.obytes, stats.ibytes);
    EXPECT_EQ(p.xstats().at("rx_q0_packets"), 40u);
    auto x = p.xstats();
    EXPECT_EQ(x.at("tx_descriptors"), 40u);
    EXPECT_GE(x.at("tx_system_calls"), 1u);
    EXPECT_GE(x.at("tx_wakeups"), x.at("tx_system_calls"));
    EXPECT_EQ(x.at("rx_system_calls"), 0u) << "in copy mode, receiving needs none";
    rte_eth_dev_stop(p.id);  // and keeps what it counted
    rte_eth_stats_get(p.id, &stats);
    EXPECT_EQ(stats.ipackets, 40u);
    ASSERT_EQ(rte_eth_xstats_reset(p.id), 0);
    for (const auto& [name, value] : p.xstats()) EXPECT_EQ(value, 0u) << name;
    rte_eth_stats_get(p.id, &stats);
    EXPECT_EQ(stats.opackets, 0u);
}

/// ethdev permits it without another setup of the queues.
TEST_F(xsk_port, configured_again_scatters_no_frames_over_queues_of_one_buffer) {
    const cable wire("near", 3000);
    port p("net_xsk0", wire, pool);
    ASSERT_EQ(p.code, 0);
    rte_eth_conf conf{};
    conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_SCATTER;
    ASSERT_EQ(rte_eth_dev_configure(p.id, 1, 1, &conf), 0);
    p.start();
    ASSERT_TRUE(wire.send(make_frame(2800, 1)));
    EXPECT_FALSE(p.receive(0.05).has_value()) << "a part of a frame";
    ASSERT_TRUE(wire.send(make_frame(100, 2)));
    EXPECT_EQ(p.receive(), make_frame(100, 2));
}

TEST_F(xsk_port, configured_again_frees_as_the_port_may) {
    const cable wire("near");
    port p("net_xsk0", wire, pool, {.fast_free = true});
    ASSERT_EQ(p.code, 0);
    const rte_eth_conf conf{};
    ASSERT_EQ(rte_eth_dev_configure(p.id, 1, 1, &conf), 0);
    p.start();
    const frame f = make_frame(100, 1);
    rte_mbuf* const shared = to_mbuf(pool, f);
    rte_mbuf_refcnt_update(shared, 1);
    ASSERT_TRUE(p.send(shared));
    EXPECT_EQ(p.arrives(wire), f);
    EXPECT_TRUE(within(1, [&] { return rte_eth_tx_done_cleanup(p.id, 0, 0) == 1; }));
    EXPECT_EQ(rte_mbuf_refcnt_read(shared), 1);
    EXPECT_EQ(rte_mempool_in_use_count(pool), 256u + 1) << "the RX ring's, and the test's";
    rte_pktmbuf_free(shared);
}

/// ethdev calls it after the driver has closed the port.
int ask_destroyed_port(uint16_t id, rte_eth_event_type, void* asked, void*) {
    rte_eth_dev_info info{};
    rte_eth_stats stats{};
    *static_cast<int*>(asked) = rte_eth_dev_info_get(id, &info);
    (void)rte_eth_stats_get(id, &stats);
    return 0;
}

TEST_F(xsk_port, a_closed_port_answers_callbacks) {
    const cable wire("near");
    port p("net_xsk0", wire, pool);
    p.start();
    int asked = -1;
    ASSERT_EQ(rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_DESTROY, ask_destroyed_port,
                                            &asked),
              0);
    p.close();
    EXPECT_EQ(rte_eth_dev_callback_unregister(RTE_ETH_ALL, RTE_ETH_EVENT_DESTROY,
                                              ask_destroyed_port, &asked),
              0);
    EXPECT_EQ(asked, 0);
}

TEST_F(xsk_port, a_doorbell_may_wait_but_not_for_ever) {
    const cable wire("near");
    port p("net_xsk0", wire, pool);
    p.start();
    for (uint32_t n = 0; n < 5; ++n) {
        // The first is sent at once; the others follow within 50 us, without another call.
        rte_mbuf* none = nullptr;
        for (uint32_t i = 0; i < 3; ++i) {
            ASSERT_EQ(rte_eth_rx_burst(p.id, 0, &none, 1), 0u);
            ASSERT_TRUE(p.send(to_mbuf(pool, make_frame(64, i))));
        }
        for (uint32_t i = 0; i < 3; ++i) ASSERT_EQ(wire.receive(), make_frame(64, i)) << n;
    }
}

}  // namespace
}  // namespace turnpike::test
