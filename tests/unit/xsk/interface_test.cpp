// SPDX-License-Identifier: BSD-3-Clause
// What happens to an interface while a worker polls its port.
#include "unit/xsk/port.hpp"

#include <rte_log.h>

namespace turnpike::test {
namespace {

/// Sends received frames back, on a separate thread, until it is destroyed.
class echo {
  public:
    explicit echo(uint16_t id) : thread_([this, id] { run(id); }) {}
    ~echo() {
        stop_ = true;
        thread_.join();
    }

  private:
    void run(uint16_t id) {
        rte_mbuf* m[32];
        while (!stop_) {
            const uint16_t n = rte_eth_rx_burst(id, 0, m, 32);
            const uint16_t sent = rte_eth_tx_burst(id, 0, m, n);
            rte_pktmbuf_free_bulk(m + sent, n - sent);
        }
    }
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

/// Frames into the wire, as fast as they go; of many types, so that they are hashed to all of its queues.
class flood {
  public:
    explicit flood(const cable& wire)
        : thread_([this, &wire] {
              for (frame f = make_frame(300, 1); !stop_; ++f[13]) (void)wire.send(f);
          }) {}
    ~flood() {
        stop_ = true;
        thread_.join();
    }

  private:
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

bool comes_back(const cable& wire, uint32_t number) {
    const frame f = make_frame(200, number);
    return wire.send(f) && within(1, [&] {
               while (const auto got = wire.receive(20))
                   if (*got == f) return true;
               return false;
           });
}

TEST_F(xsk_port, the_interface_disappears_under_load_and_comes_back) {
    cable wire("near");
    port p("net_xsk0", wire, pool);
    p.start();
    {
        const echo worker(p.id);
        for (uint32_t n = 0; n < 5; ++n) {
            ASSERT_TRUE(within(3, [&] { return comes_back(wire, n); })) << "round " << n;
            {
                const flood load(wire);
                std::this_thread::sleep_for(std::chrono::milliseconds(30));
                ASSERT_TRUE(run("ip link del near"));
            }
            ASSERT_TRUE(within(2, [&] { return !p.link_up(); }));
            EXPECT_EQ(rte_mempool_in_use_count(pool), 0u) << "held by a port without an interface";
            wire.cut();
            wire.lay();
            ASSERT_TRUE(within(5, [&] { return p.link_up(); }));
        }
    }
    rte_eth_stats stats{};
    rte_eth_stats_get(p.id, &stats);
    EXPECT_GT(stats.ipackets, 5u);
}

TEST_F(xsk_port, a_port_may_be_stopped_and_closed_without_its_interface) {
    cable wire("near");
    port p("net_xsk0", wire, pool);
    p.start();
    wire.cut();
    ASSERT_TRUE(within(2, [&] { return !p.link_up(); }));
    EXPECT_EQ(rte_eth_dev_stop(p.id), 0);
    EXPECT_EQ(rte_eth_dev_start(p.id), -ENODEV);
    wire.lay();
    p.start();
    EXPECT_TRUE(p.link_up());
    wire.cut();
}

TEST_F(xsk_port, down_and_up_under_load) {
    const cable wire("near");
    port p("net_xsk0", wire, pool);
    p.start();
    const echo worker(p.id);
    const flood load(wire);
    for (int n = 0; n < 5; ++n) {
        ASSERT_TRUE(run("ip link set near down"));
        ASSERT_TRUE(within(2, [&] { return !p.link_up(); }));
        ASSERT_TRUE(run("ip link set near up"));
        ASSERT_TRUE(within(2, [&] { return p.link_up(); }));
        rte_eth_stats before{}, after{};
        rte_eth_stats_get(p.id, &before);
        EXPECT_TRUE(within(2, [&] {
            rte_eth_stats_get(p.id, &after);
            return after.ipackets > before.ipackets + 100 && after.opackets > before.opackets + 100;
        }));
    }
}

TEST_F(xsk_port, other_changes_under_load_are_said_and_survived) {
    const cable wire("near", 1500, 2);
    port p("net_xsk0", wire, pool, {.arguments = ",queues=1"});
    p.start();
    const echo worker(p.id);
    const flood load(wire);
    rte_log_set_global_level(RTE_LOG_WARNING);
    ::testing::internal::CaptureStderr();
    ASSERT_TRUE(run("ip link set near mtu 1400"));
    ASSERT_TRUE(run("ip link set near mtu 2000"));
    // veth with XDP wants as many queues to receive as the other end sends on.
    ASSERT_TRUE(run("ethtool -L nearfar rx 1 tx 1 && ethtool -L near rx 1 tx 1"));
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    ASSERT_TRUE(run("ethtool -L near rx 2 tx 2 && ethtool -L nearfar rx 2 tx 2"));
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    fflush(stderr);
    const std::string message = ::testing::internal::GetCapturedStderr();
    rte_log_set_global_level(RTE_LOG_ERR);
    EXPECT_NE(message.find("near now has MTU 2000, the port has 1500"), std::string::npos)
        << message;
    EXPECT_NE(message.find("near receives on 2 queues, the port on 1"), std::string::npos)
        << message;
    EXPECT_TRUE(p.link_up());
    rte_eth_stats before{}, after{};
    rte_eth_stats_get(p.id, &before);
    EXPECT_TRUE(within(2, [&] {
        rte_eth_stats_get(p.id, &after);
        return after.ipackets > before.ipackets + 100;
    }));
}

TEST_F(xsk_port, the_interface_is_left_as_it_was_found) {
    const cable wire("near");
    const auto shown = [] {
        frame text(4096);
        FILE* out = popen("ip -d link show dev near | grep -v RX:", "r");
        text.resize(fread(text.data(), 1, text.size(), out));
        pclose(out);
        return std::string(text.begin(), text.end());
    };
    const std::string before = shown();
    {
        port p("net_xsk0", wire, pool);
        p.start();
        EXPECT_EQ(rte_eth_dev_set_mtu(p.id, 1400), 0);
        EXPECT_EQ(rte_eth_promiscuous_enable(p.id), 0);
        rte_ether_addr mac{{2, 0, 0, 0, 9, 9}};
        EXPECT_EQ(rte_eth_dev_default_mac_addr_set(p.id, &mac), 0);
        const std::string during = shown();
        EXPECT_NE(during.find("mtu 1400"), std::string::npos) << during;
        EXPECT_NE(during.find("02:00:00:00:09:09"), std::string::npos) << during;
        EXPECT_NE(during.find("promiscuity 1"), std::string::npos) << during;
        EXPECT_NE(during.find("xdp"), std::string::npos) << during;
    }
    EXPECT_EQ(shown(), before);
}

/// Does the output of `ip link` for the interface contain these words?
bool shows(const std::string& interface, const std::string& words) {
    return run("ip link show dev " + interface + " | grep -q '" + words + "'");
}

/// ethdev calls no mtu_set for it.
TEST_F(xsk_port, an_mtu_of_the_configuration_is_the_interfaces) {
    const cable wire("near");
    for (const uint16_t mtu : std::initializer_list<uint16_t>{1400, 1500, 3000}) {
        port p("net_xsk0", wire, pool, {.mtu = mtu, .scatter = true});
        p.start();
        EXPECT_TRUE(shows("near", mtu > 1500 ? "mtu 3000" : "mtu 1500")) << mtu;
    }
    EXPECT_TRUE(shows("near", "mtu 1500")) << "as it was found";
}

TEST_F(xsk_port, queues_start_with_their_port) {
    const cable wire("near");
    const port p("net_xsk0", wire, pool);
    rte_eth_dev_info info{};
    ASSERT_EQ(rte_eth_dev_info_get(p.id, &info), 0);
    info.default_rxconf.rx_deferred_start = info.default_txconf.tx_deferred_start = 1;
    // EINVAL; a later ethdev than 22.11's refuses it itself.
    EXPECT_LT(rte_eth_rx_queue_setup(p.id, 0, 512, 0, &info.default_rxconf, pool), 0);
    EXPECT_LT(rte_eth_tx_queue_setup(p.id, 0, 512, 0, &info.default_txconf), 0);
}

TEST_F(xsk_port, queues_are_set_up_before_a_start) {
    const cable wire("near", 1500, 2);
    port p("net_xsk0", wire, pool, {.queues = 2});
    const rte_eth_conf conf{};
    for (const bool rx : {true, false}) {
        for (const uint16_t queues : std::initializer_list<uint16_t>{1, 2}) {
            ASSERT_EQ(rte_eth_dev_configure(p.id, queues, queues, &conf), 0)
                << "1 releases the second";
        }
        for (uint16_t q = 0; q < 2; ++q) {
            if (q == 0 || rx) {
                EXPECT_EQ(rte_eth_rx_queue_setup(p.id, q, 256, 0, nullptr, pool), 0);
            }
            if (q == 0 || !rx) {
                EXPECT_EQ(rte_eth_tx_queue_setup(p.id, q, 256, 0, nullptr), 0);
            }
        }
        ::testing::internal::CaptureStderr();
        EXPECT_EQ(rte_eth_dev_start(p.id), -EINVAL);
        fflush(stderr);
        const std::string message = ::testing::internal::GetCapturedStderr();
        EXPECT_NE(message.find(rx ? "TX queue 1: was not set up" : "RX queue 1: was not set up"),
                  std::string::npos)
            << message;
    }
}

/// The port would take IP packets for Ethernet frames.
TEST_F(xsk_port, interfaces_that_are_not_ethernet_are_refused) {
    ASSERT_TRUE(run("ip tuntap add dev pipe mode tun && ip link set pipe up"));
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(port("net_xsk0", "pipe", pool).code, -EINVAL);
    fflush(stderr);
    std::string message = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(message.find("pipe: is not an Ethernet interface"), std::string::npos) << message;
    ASSERT_TRUE(run("ip link del pipe && ip tuntap add dev pipe mode tap && ip link set pipe up"));
    EXPECT_EQ(port("net_xsk0", "pipe", pool).code, 0);
    ASSERT_TRUE(run("ip link del pipe"));

    cable wire("near");
    port p("net_xsk0", wire, pool);
    p.start();
    ::testing::internal::CaptureStderr();
    wire.cut();
    ASSERT_TRUE(within(2, [&] { return !p.link_up(); }));
    ASSERT_TRUE(run("ip tuntap add dev near mode tun && ip link set near up"));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    fflush(stderr);
    message = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(message.find("near: is not an Ethernet interface"), std::string::npos) << message;
    ASSERT_TRUE(run("ip link del near"));
    wire.lay();
    EXPECT_TRUE(within(2, [&] { return p.link_up(); }));
}

/// An index is another interface's in another namespace.
TEST_F(xsk_port, is_not_started_in_another_namespace) {
    const cable wire("near");
    port p("net_xsk0", wire, pool);
    int started = 0;
    std::thread([&] {
        ASSERT_EQ(unshare(CLONE_NEWNET), 0);
        started = rte_eth_dev_start(p.id);
    }).join();
    EXPECT_EQ(started, -ENODEV);
    p.start();
}

/// A veth that is there with its MTU and its address at once, by the name that the port waits for.
void lay_another() {
    ASSERT_TRUE(
        run("ip link add fresh address 02:00:00:00:07:07 mtu 1600 type veth peer name freshfar"
            " && ip link set fresh name near && ip link set near up"
            " && ip link set freshfar up"));
}

TEST_F(xsk_port, an_interface_that_comes_back_gets_what_the_port_has_and_keeps_its_own) {
    for (const bool sets_mac : {true, false}) {
        cable wire("near");
        EXPECT_TRUE(run("ip link set near address 02:00:00:00:08:08"));
        {
            port p("net_xsk0", wire, pool);
            p.start();
            ASSERT_EQ(rte_eth_dev_set_mtu(p.id, 1400), 0);
            rte_ether_addr mac{{2, 0, 0, 0, 9, 9}};
            if (sets_mac) {
                ASSERT_EQ(rte_eth_dev_default_mac_addr_set(p.id, &mac), 0);
            }
            wire.cut();
            ASSERT_TRUE(within(2, [&] { return !p.link_up(); }));
            lay_another();
            ASSERT_TRUE(within(2, [&] { return p.link_up(); }));
            EXPECT_TRUE(shows("near", sets_mac ? "02:00:00:00:09:09" : "02:00:00:00:08:08"));
            EXPECT_TRUE(shows("near", "mtu 1400"));
        }
        EXPECT_TRUE(shows("near", "02:00:00:00:07:07")) << "the new interface's, not the old one's";
        EXPECT_TRUE(shows("near", "mtu 1600"));
        EXPECT_TRUE(run("ip link del near"));
    }
}

/// By rte_eth_dev_set_mtu(), and by the configuration.
TEST_F(xsk_port, an_interface_that_comes_back_gets_the_mtu_that_the_previous_one_had_already) {
    for (const uint16_t mtu : std::initializer_list<uint16_t>{1400, 3000}) {
        cable wire("near", mtu);
        {
            const bool configured = mtu > 1500;
            port p("net_xsk0", wire, pool,
                   {.mtu = configured ? mtu : uint16_t{1500}, .scatter = true});
            p.start();
            if (!configured) {
                ASSERT_EQ(rte_eth_dev_set_mtu(p.id, mtu), 0);
            }
            wire.cut();
            ASSERT_TRUE(within(2, [&] { return !p.link_up(); }));
            lay_another();
            ASSERT_TRUE(within(2, [&] { return p.link_up(); }));
            EXPECT_TRUE(shows("near", "mtu " + std::to_string(mtu)));
        }
        EXPECT_TRUE(shows("near", "mtu 1600")) << "its own";
        EXPECT_TRUE(run("ip link del near"));
    }
}

TEST_F(xsk_port, a_renamed_interface_is_left_as_it_was_found) {
    for (const bool another : {false, true}) {
        const cable wire("near");
        EXPECT_TRUE(run("ip link set near address 02:00:00:00:08:08"));
        {
            port p("net_xsk0", wire, pool);
            p.start();
            ASSERT_EQ(rte_eth_dev_set_mtu(p.id, 1400), 0);
            rte_ether_addr mac{{2, 0, 0, 0, 9, 9}};
            ASSERT_EQ(rte_eth_dev_default_mac_addr_set(p.id, &mac), 0);
            ASSERT_TRUE(run("ip link set near down && ip link set near name moved"));
            ASSERT_TRUE(within(2, [&] { return !p.link_up(); }));
            if (another) {
                lay_another();
                ASSERT_TRUE(within(2, [&] { return p.link_up(); }));
                EXPECT_TRUE(shows("near", "mtu 1400"));
            }
        }
        EXPECT_TRUE(shows("moved", "mtu 1500"));
        EXPECT_TRUE(shows("moved", "02:00:00:00:08:08"));
        if (another) {
            EXPECT_TRUE(shows("near", "mtu 1600"));
            EXPECT_TRUE(shows("near", "02:00:00:00:07:07"));
            EXPECT_TRUE(run("ip link del near"));
        }
        EXPECT_TRUE(run("ip link del moved"));
    }
}

TEST_F(xsk_port, an_interface_that_came_too_late_is_let_alone) {
    cable wire("near");
    {
        port p("net_xsk0", wire, pool);
        p.start();
        ASSERT_EQ(rte_eth_dev_set_mtu(p.id, 1400), 0);
        rte_ether_addr mac{{2, 0, 0, 0, 9, 9}};
        ASSERT_EQ(rte_eth_dev_default_mac_addr_set(p.id, &mac), 0);
        ASSERT_EQ(rte_eth_dev_stop(p.id), 0);
        wire.cut();
        lay_another();
    }
    EXPECT_TRUE(shows("near", "02:00:00:00:07:07"));
    EXPECT_TRUE(shows("near", "mtu 1600"));
    EXPECT_TRUE(run("ip link del near"));
}

}  // namespace
}  // namespace turnpike::test
