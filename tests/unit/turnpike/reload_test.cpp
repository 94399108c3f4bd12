// SPDX-License-Identifier: BSD-3-Clause
// Transactions: a new configuration is applied completely or not at all, and packets follow it.
#include <ethdev_driver.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <map>
#include <thread>

#include "lib/any_cpu.hpp"
#include "lib/eal.hpp"
#include "reload_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using datapath::drop_reason;

TEST(reload, what_is_the_same_changes_nothing) {
    lab l(router("{to: 10.9.0.0/16, via: 10.0.2.2}"));
    const auto* snapshot = &l.snapshot();
    const auto nexthops = l.controller().report().routes;
    const auto same = l.apply("# another line\n" + router("{to: 10.9.0.0/16, via: 10.0.2.2}"));
    ASSERT_TRUE(same);
    EXPECT_TRUE(same->empty());
    EXPECT_EQ(&l.snapshot(), snapshot);
    EXPECT_EQ(l.controller().report().routes, nexthops);
    // The running configuration is unchanged.
    ASSERT_TRUE(
        l.apply(router("{to: 10.9.0.0/16, via: 10.0.2.2}, {to: 10.0.1.0/25, via: 10.0.2.2}")));
    EXPECT_EQ(l.egress_port("10.9.0.1"), 1);
}

/// The ring of a port without set_link_down (net_ring here) fills while no worker polls it.
TEST(reload, frames_that_waited_in_a_port_with_shutdown_are_dropped) {
    constexpr unsigned stale = 40;  // more than one burst
    const std::string routed = router("{to: 10.9.0.0/16, via: 10.0.2.2}");
    const std::string device = "device: d0,";
    std::string shut = routed;
    shut.replace(shut.find(device), device.size(), device + " shutdown: true,");
    lab l(routed);
    const auto admin_up = [&] { return l.controller().report().ports.at(0).admin_up; };
    for (unsigned round = 1; round <= 2; ++round) {
        ASSERT_TRUE(l.apply(shut));
        EXPECT_FALSE(admin_up());
        for (unsigned i = 0; i < stale; ++i)
            ASSERT_TRUE(l.offer(0, datagram(parse_address("10.9.0.1")->v4())));
        l.settle();
        EXPECT_EQ(l.dropped(drop_reason::port_shutdown), (round - 1) * stale)
            << "no worker polls it";
        ASSERT_TRUE(l.path_lab::apply(routed));
        EXPECT_TRUE(admin_up());
        l.settle();
        for (const byte_vector& frame : l.sent(1))
            EXPECT_NE(frame[12] << 8 | frame[13], 0x0800) << "a stale frame is forwarded";
        EXPECT_EQ(l.dropped(drop_reason::port_shutdown), round * stale);
        l.links(true);
        EXPECT_EQ(l.egress_port("10.9.0.1"), 1);
        l.check_balance();
    }
}

/// Sending packets in several buffers costs drivers their vector paths: only where frames take
/// them.
TEST(reload, several_buffers_are_asked_for_where_frames_take_them) {
    const auto asked = [](uint16_t port) {
        rte_eth_conf conf{};
        EXPECT_EQ(rte_eth_dev_conf_get(port, &conf), 0);
        return (conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0;
    };
    const std::string jumbo =
        "  - {name: north, device: d2, mtu: 9000, addresses: [10.0.3.254/24]}\n";
    {
        lab l(router());
        for (const size_t p : {0, 1}) EXPECT_FALSE(asked(l.snapshot().port[p].ethdev_id));
        const auto* before = &l.snapshot();
        const auto refused = l.apply(router("", "", "10.0.1.254/24", jumbo));
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, EBUSY);
        EXPECT_NE(refused.error().text.find("every frame fitted one buffer"), std::string::npos);
        EXPECT_EQ(&l.snapshot(), before);
    }
    lab large(router("", "", "10.0.1.254/24", jumbo));
    for (const size_t p : {0, 1, 2}) EXPECT_TRUE(asked(large.snapshot().port[p].ethdev_id));
}

/// By ethdev ID: calls of the driver's operation that sets group addresses.
std::map<uint16_t, int> group_calls;
int group_answer = 0;

/// net_ring has no such operation, nor its delay: milliseconds for net_xsk and for some NICs.
void count_group_calls(uint16_t id) {
    static eth_dev_ops counting;
    rte_eth_dev& device = rte_eth_devices[id];
    if (device.dev_ops == &counting) return;
    counting = *device.dev_ops;
    counting.set_mc_addr_list = [](rte_eth_dev* d, rte_ether_addr*, uint32_t) {
        ++group_calls[d->data->port_id];
        return group_answer;
    };
    counting.allmulticast_enable = [](rte_eth_dev*) { return group_answer; };
    device.dev_ops = &counting;
}

TEST(reload, a_change_programs_a_port_only_where_it_is_about_it) {
    lab l(router());
    const uint16_t west = l.snapshot().port[0].ethdev_id, east = l.snapshot().port[1].ethdev_id;
    for (const uint16_t id : {west, east}) count_group_calls(id);
    group_calls.clear();
    for (int i = 0; i < 10; ++i)
        ASSERT_TRUE(l.apply(router("{to: 10.9.0." + std::to_string(i) + "/32, via: 10.0.2.2}")));
    EXPECT_EQ(group_calls[west] + group_calls[east], 0) << "routes are not about ports";
    ASSERT_TRUE(l.apply(router("", "", "10.0.1.254/24, \"2001:db8:1::fe:1/64\"")));
    EXPECT_EQ(group_calls[west], 1) << "a new solicited-node group";
    EXPECT_EQ(group_calls[east], 0);
    group_answer = -EIO;
    rte_eth_devices[west].data->all_multicast = 0;  // as opened without counting
    ASSERT_TRUE(l.apply(router("", "", "10.0.1.254/24, \"2001:db8:1::fd:1/64\"")));
    group_answer = 0;
    EXPECT_EQ(group_calls[west], 2);
    ASSERT_TRUE(l.apply(
        router("{to: 10.9.0.1/32, via: 10.0.2.2}", "", "10.0.1.254/24, \"2001:db8:1::fd:1/64\"")));
    EXPECT_EQ(group_calls[west], 3) << "the driver is asked again";
}

/// A device that runs is not taken from under its workers by another name.
TEST(reload, a_device_is_one_ports) {
    lab l(router());
    auto wanted = l.read(router("", "", "10.0.1.254/24",
                                "  - {name: north, device: d2, addresses: [10.0.3.254/24]}\n"));
    wanted->ports.find("north")->device = wanted->ports.at("east").device;
    l.worker().pause();
    const auto refused = l.controller().apply(std::move(wanted));
    l.worker().resume();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EBUSY);
    EXPECT_EQ(l.egress_port("10.0.2.2"), 1) << "and it goes on";
}

TEST(reload, routes_come_change_and_go) {
    lab l(router());
    EXPECT_EQ(l.egress_port("10.9.0.1"), std::nullopt);
    ASSERT_TRUE(l.apply(router("{to: 10.9.0.0/16, via: 10.0.2.2}")));
    EXPECT_EQ(l.egress_port("10.9.0.1"), 1);
    ASSERT_TRUE(l.apply(router("{to: 10.9.0.0/16, type: blackhole}")));
    EXPECT_EQ(l.egress_port("10.9.0.1"), std::nullopt);
    EXPECT_EQ(l.dropped(drop_reason::route_blackhole), 1U);
    ASSERT_TRUE(l.apply(router()));
    EXPECT_EQ(l.egress_port("10.9.0.1"), std::nullopt);
    EXPECT_EQ(l.dropped(drop_reason::no_route), 2U);
}

TEST(reload, an_operators_host_route_stands_before_a_neighbours) {
    lab l(router());
    EXPECT_EQ(l.egress_port("10.0.2.2"), 1);
    ASSERT_TRUE(l.apply(router("{to: 10.0.2.2/32, type: blackhole}")));
    EXPECT_EQ(l.egress_port("10.0.2.2"), std::nullopt);
    ASSERT_TRUE(l.apply(router()));
    EXPECT_EQ(l.egress_port("10.0.2.2"), 1);
}

TEST(reload, many_routes_at_once) {
    lab l(router());
    std::string many;
    for (int i = 0; i < 9000; ++i)
        many += "{to: 11." + std::to_string(i / 256) + "." + std::to_string(i % 256) +
                ".0/24, via: 10.0.2.2},";
    ASSERT_TRUE(l.apply(router(many)));
    EXPECT_EQ(l.egress_port("11.20.3.4"), 1);
    EXPECT_EQ(l.egress_port("10.0.2.2"), 1);
    EXPECT_EQ(l.controller().report().routes.at("ipv4"), 9000U + 9U);
    ASSERT_TRUE(l.apply(router()));
    EXPECT_EQ(l.egress_port("11.20.3.4"), std::nullopt);
    EXPECT_EQ(l.controller().report().routes.at("ipv4"), 9U);
}

TEST(reload, addresses_move) {
    lab l(router());
    EXPECT_EQ(l.controller().routing().routes().lookup(*parse_address("10.0.1.254")),
              datapath::fixed_nexthop::local);
    ASSERT_TRUE(l.apply(router("", "", "10.0.5.254/24")));
    EXPECT_EQ(l.controller().routing().routes().lookup(*parse_address("10.0.1.254")),
              datapath::fixed_nexthop::no_route);
    EXPECT_EQ(l.controller().routing().routes().lookup(*parse_address("10.0.5.254")),
              datapath::fixed_nexthop::local);
    EXPECT_EQ(l.egress_port("10.0.2.2"), 1);
}

TEST(reload, ports_come_and_go_and_places_are_used_again) {
    lab l(router());
    const uint32_t before = rte_mempool_in_use_count(l.controller().pool());
    for (int i = 0; i < 20; ++i) {
        const std::string more =
            "  - {name: north" + std::to_string(i) + ", device: d2, addresses: [10.0.3.254/24]}\n";
        ASSERT_TRUE(l.apply(router("{to: 10.9.0.0/16, via: 10.0.3.2}",
                                   "    - {address: 10.0.3.2, mac: \"02:00:00:00:00:0e\"}\n",
                                   "10.0.1.254/24", more)));
        l.links(true);
        l.settle();
        l.sent(static_cast<uint16_t>(l.last()));
        EXPECT_EQ(l.egress_port("10.9.0.1"), l.last());
        ASSERT_TRUE(l.apply(router()));
        l.forget_last();
        EXPECT_EQ(l.egress_port("10.9.0.1"), std::nullopt);
        EXPECT_EQ(l.egress_port("10.0.2.2"), 1);
    }
    // Pending packets are ICMP errors to a sender that does not answer.
    EXPECT_EQ(rte_mempool_in_use_count(l.controller().pool()),
              before + l.controller().routing().neighbours().pending());
    const auto report = l.controller().report();
    ASSERT_EQ(report.ports.size(), 3U);
    EXPECT_EQ(report.ports[2].name, "(removed)");
    EXPECT_GE(report.ports[2].totals.tx_packets, 20U * 3) << "announcements, and the packet";
    EXPECT_TRUE(report.total().holds());
}

/// Their hop stays, whatever the port that it leads to is.
TEST(reload, recursive_routes_follow_ports) {
    const std::string beyond = "{to: 10.9.0.0/16, via: 10.0.3.2, recursive: true}";
    lab l(router(beyond));
    const auto nexthop = [&] {
        return l.controller().routing().routes().lookup(*parse_address("10.9.0.1"));
    };
    const uint32_t first = nexthop(), in_use = l.controller().nexthops().in_use();
    for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(l.apply(router(
            beyond, "    - {address: 10.0.3.2, mac: \"02:00:00:00:00:0e\"}\n", "10.0.1.254/24",
            "  - {name: north" + std::to_string(i) +
                ", device: d2, addresses: [10.0.3.254/24]}\n")));
        l.links(true);
        l.settle();
        l.sent(static_cast<uint16_t>(l.last()));
        EXPECT_EQ(l.egress_port("10.9.0.1"), l.last());
        EXPECT_EQ(nexthop(), first);
        const uint64_t before = l.dropped(drop_reason::route_unreachable);
        ASSERT_TRUE(l.apply(router(beyond)));
        l.forget_last();
        EXPECT_EQ(l.egress_port("10.9.0.1"), std::nullopt);
        EXPECT_EQ(l.dropped(drop_reason::route_unreachable), before + 1);
        EXPECT_EQ(nexthop(), first);
    }
    l.controller().routing().neighbours().drop_all_pending(drop_reason::stopping);
    l.control(60'000);  // the silent sender is forgotten
    l.settle();
    EXPECT_LE(l.controller().nexthops().in_use(), in_use + 1);
}

TEST(reload, a_patch_becomes_a_router_and_back) {
    const std::string patched =
        "ports:\n  - {name: west, device: d0}\n  - {name: east, device: d1}\n"
        "xconnects: [[west, east]]\nneighbours: {max_entries: 64}\n";
    lab l(patched);
    EXPECT_EQ(l.egress_port("192.0.2.1"), 1);
    ASSERT_TRUE(l.apply(router()));
    EXPECT_EQ(l.egress_port("192.0.2.1"), std::nullopt);
    EXPECT_EQ(l.egress_port("10.0.2.2"), 1);
    ASSERT_TRUE(l.apply(patched));
    EXPECT_EQ(l.egress_port("192.0.2.1"), 1);
}

TEST(reload, what_only_a_restart_can_change_is_refused_whole) {
    lab l(router("{to: 10.9.0.0/16, via: 10.0.2.2}"));
    const auto refused = l.apply("mempool: {buffers: 4000}\n" + router());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EBUSY);
    EXPECT_EQ(l.egress_port("10.9.0.1"), 1) << "the running configuration stays";
}

TEST(reload, a_port_that_does_not_open_changes_nothing) {
    lab l(router("{to: 10.9.0.0/16, via: 10.0.2.2}"));
    auto wanted = l.read(router("{to: 10.8.0.0/16, via: 10.0.2.2}"));
    state::port missing;
    missing.device = "net_none0";
    wanted->ports.add("north", missing);
    wanted->interfaces.add("north",
                           {.port = "north", .addresses = {*parse_prefix("10.0.3.254/24")}});
    l.worker().pause();
    const auto refused = l.controller().apply(std::move(wanted));
    l.worker().resume();
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("net_none0"), std::string::npos);
    EXPECT_EQ(l.egress_port("10.9.0.1"), 1);
    EXPECT_EQ(l.egress_port("10.8.0.1"), std::nullopt);
}

TEST(reload, a_neighbour_that_waits_when_its_port_goes_is_given_up) {
    lab l(router());
    ASSERT_TRUE(l.offer(0, datagram(0x0a00'0209)));
    l.settle();
    EXPECT_EQ(l.controller().routing().neighbours().pending(), 1U);
    ASSERT_TRUE(
        l.apply("ports:\n  - {name: west, device: d0, addresses: [10.0.1.254/24]}\n"
                "neighbours: {max_entries: 64}\n"));
    l.forget_last();
    l.settle();
    EXPECT_EQ(l.controller().routing().neighbours().pending(), 0U);
    EXPECT_EQ(l.dropped(drop_reason::interface_gone), 1U);
}

/// Control has put the packet into the worker's ring when a change takes its interface.
TEST(reload, a_released_packet_whose_interface_goes_is_dropped) {
    lab l(router());
    const byte_vector waits = ethernet(0x0800, ipv4({.destination = 0x0a00'0209}, udp(counted(64))),
                                       {2, 0, 0, 0, 0, 0x0b}, {2, 0, 0, 0, 0, 0x0a});
    ASSERT_TRUE(l.offer(0, waits));
    l.settle();
    EXPECT_EQ(l.controller().routing().neighbours().pending(), 1U);
    ASSERT_TRUE(l.offer(1, ethernet(0x0806,
                                    arp({.operation = 2,
                                         .sender_ip = 0x0a00'0209,
                                         .target_mac = byte_vector(6, 0xff),
                                         .target_ip = 0x0a00'02fe}),
                                    byte_vector(6, 0xff))));
    l.worker().poll();
    l.control();
    EXPECT_EQ(l.controller().routing().neighbours().pending(), 0U);
    ASSERT_TRUE(
        l.apply("ports:\n  - {name: west, device: d0, addresses: [10.0.1.254/24]}\n"
                "neighbours: {max_entries: 64}\n"));
    l.forget_last();
    EXPECT_EQ(l.dropped(drop_reason::interface_gone), 1U);
}

/// Before workers have the snapshot with a new routing interface of a bridge, they would send to its neighbours past the bridge.
TEST(reload, a_static_neighbour_is_resolved_when_workers_know_its_interface) {
    const auto with = [](const std::string& more) {
        return router("", more, "10.0.1.254/24",
                      "  - {name: b0, device: d2}\n  - {name: b1, device: d3}\n");
    };
    path_lab l(with("xconnects: [[b0, b1]]\n"));
    l.links(true);
    l.workers_have_threads();
    l.worker().start();
    const auto is_resolved = [&] {
        bool found = false;
        const ip_address host = *parse_address("10.0.3.2");
        l.controller().routing().neighbours().for_each(0, {}, [&](const auto& n) {
            found |= n.address == host && n.mac.has_value();
            return true;
        });
        return found;
    };
    const auto* const published = l.worker().parts().published;
    const datapath::snapshot* const before = published->load();
    std::atomic<bool> applied{false}, early{false};
    std::thread worker([&] {
        while (published->load() == before) std::this_thread::yield();
        early = is_resolved();  // control waits for this worker
        while (!applied) l.worker().poll();
    });
    EXPECT_TRUE(
        l.apply(with("    - {address: 10.0.3.2, mac: \"02:00:00:00:00:0e\"}\nbridges: [{name: lan, "
                     "addresses: [10.0.3.254/24], members: [{port: b0}, {port: b1}]}]\n")));
    applied = true;
    worker.join();
    EXPECT_FALSE(early);
    EXPECT_TRUE(is_resolved());
    l.worker().finish();
}

/// Rates of a port are of its own time.
TEST(reload, a_port_that_is_added_has_counters_since_then) {
    lab l(router());
    ASSERT_TRUE(l.apply(router("", "", "10.0.1.254/24",
                               "  - {name: north, device: d2, addresses: [10.0.3.254/24]}\n")));
    const auto r = l.controller().report();
    ASSERT_EQ(r.ports.size(), 3U);
    EXPECT_GT(r.ports[2].duration_s, 0);
    EXPECT_LT(r.ports[2].duration_s, r.ports[0].duration_s);
    EXPECT_LE(r.ports[0].duration_s, r.duration_s);
}

/// A worker on a separate thread forwards a stable route while other routes change 2,000 times.
TEST(reload, under_traffic_a_stable_route_loses_nothing) {
    path_lab l(router("{to: 10.9.0.0/16, via: 10.0.2.2}"));
    l.links(true);
    l.workers_have_threads();
    std::atomic<bool> stop{false};
    std::thread worker([&] {
        run_anywhere();
        l.worker().run(stop);
    });
    // The worker runs before the first packet: the backlog would exceed a ring.
    while (l.worker().meter().total_cycles.read() == 0) std::this_thread::yield();
    uint64_t offered = 0, left = 0, changes = 0;
    const auto receive_all = [&] {
        while (rte_mbuf* m = l.next_sent(1)) {
            left += rte_pktmbuf_mtod_offset(m, const uint8_t*, 30)[0] == 10 && m->pkt_len > 42;
            rte_pktmbuf_free(m);
        }
    };
    const byte_vector frame = datagram(0x0a09'0001);
    while (changes < 300) {
        for (int i = 0; i < 32; ++i) offered += l.offer(0, frame);
        receive_all();
        const std::string other =
            changes % 2 ? "{to: 10.9.128.0/17, via: 10.0.2.2}" : "{to: 10.8.0.0/16, via: 10.0.2.2}";
        ASSERT_TRUE(l.apply(router("{to: 10.9.0.0/16, via: 10.0.2.2}, " + other, "",
                                   changes % 3 ? "10.0.1.254/24" : "10.0.1.254/24, 10.0.4.1/24")));
        l.control();
        ++changes;
    }
    while (l.worker().port(0).rx_packets.read() < offered) {
        receive_all();
        std::this_thread::yield();
    }
    stop.store(true);
    worker.join();
    receive_all();
    std::string drops;
    for (const auto& p : l.controller().report().ports)
        for (const auto& [reason, n] : observe::drops_of(p.totals))
            drops += p.name + " " + reason + " " + std::to_string(n) + " ";
    EXPECT_EQ(left, offered) << drops;
    EXPECT_GT(offered, 1000U);
}

}  // namespace
}  // namespace turnpike
