// SPDX-License-Identifier: BSD-3-Clause
// Ports and coalesced sending over DPDK's software drivers.
#include "rxtx/port.hpp"

#include <bus_vdev_driver.h>
#include <ethdev_driver.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <thread>
#include <utility>

#include "lib/eal.hpp"
#include "rxtx/driver_facts.hpp"
#include "rxtx/tx_queue.hpp"

namespace turnpike::rxtx {
namespace {

class ports : public ::testing::Test {
  protected:
    void SetUp() override {
        pool =
            rte_pktmbuf_pool_create("ports", 4095, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
        ASSERT_NE(pool, nullptr);
    }
    void TearDown() override {
        EXPECT_EQ(rte_mempool_in_use_count(pool), 0U);
        rte_mempool_free(pool);
    }
    [[nodiscard]] port_settings settings(const char* device) const {
        return {
            .name = "p", .where = "f.yaml:1", .device = device, .promiscuous = true, .pool = pool};
    }
    [[nodiscard]] std::string refused(const port_settings& s) const {
        const auto opened = port::open(s);
        return opened ? "opened" : opened.error().message();
    }
    void push(tx_queue& queue, int packets, uint64_t now) const {
        for (int i = 0; i < packets; ++i) {
            rte_mbuf* m = rte_pktmbuf_alloc(pool);
            ASSERT_NE(m, nullptr);
            rte_pktmbuf_append(m, 100);
            queue.push(m, now);
        }
    }
    rte_mempool* pool = nullptr;
};

uint64_t refusals(const counters::port_counters& c) {
    return c.drops[static_cast<size_t>(packet::drop_reason::tx_refused)].read();
}

TEST_F(ports, open_start_stop_close_and_open_again) {
    for (int round = 0; round < 3; ++round) {
        auto p = port::open(settings("net_null0"));
        ASSERT_TRUE(p) << p.error().message();
        EXPECT_EQ(p->driver(), "net_null");
        EXPECT_EQ(p->pci_address(), "");
        ASSERT_TRUE(p->start());
        EXPECT_TRUE(p->link_up());
        p->stop();
    }
    EXPECT_EQ(rte_eth_dev_count_avail(), 0);
}

TEST_F(ports, a_full_burst_is_sent_at_once_and_a_part_when_it_is_due) {
    auto p = port::open(settings("net_null0"));
    ASSERT_TRUE(p && p->start());
    counters::port_counters counted;
    tx_queue queue(p->id(), 0, counted);
    push(queue, tx_queue::burst - 1, 1000);
    EXPECT_EQ(counted.tx_packets.read(), 0U);
    push(queue, 1, 1001);
    EXPECT_EQ(counted.tx_packets.read(), tx_queue::burst);
    EXPECT_EQ(counted.tx_bytes.read(), 100U * tx_queue::burst);
    EXPECT_EQ(counted.tx_bursts.read(), 1U);

    push(queue, 1, 2000);
    push(queue, 1, 2400);
    queue.drain(2499, 500);  // the oldest has waited 499 cycles
    EXPECT_EQ(counted.tx_packets.read(), tx_queue::burst);
    queue.drain(2500, 500);
    EXPECT_EQ(counted.tx_packets.read(), tx_queue::burst + 2U);
    queue.drain(9999, 500);
    EXPECT_EQ(counted.tx_bursts.read(), 2U) << "nothing waits, nothing is called";
}

TEST_F(ports, what_the_driver_refuses_twice_is_a_counted_drop) {
    const std::string alone = "net_memif0,role=server,socket=turnpike-" + std::to_string(getpid());
    auto p = port::open(settings(alone.c_str()));  // without a peer
    ASSERT_TRUE(p) << p.error().message();
    ASSERT_TRUE(p->start());
    counters::port_counters counted;
    tx_queue queue(p->id(), 0, counted);
    push(queue, tx_queue::burst + 3, 0);
    EXPECT_EQ(refusals(counted), tx_queue::burst);
    queue.flush();
    EXPECT_EQ(refusals(counted), tx_queue::burst + 3U);
    EXPECT_EQ(counted.tx_packets.read(), 0U);
    EXPECT_EQ(counted.tx_bytes.read(), 0U);
    EXPECT_EQ(counted.tx_bursts.read(), 0U) << "no call moved a packet";
}

/// A device that takes this many packets in one call.
class tx_of_few {
  public:
    explicit tx_of_few(uint16_t id) : ops_(rte_eth_fp_ops[id]), usual_(ops_.tx_pkt_burst) {
        ops_.tx_pkt_burst = [](void*, rte_mbuf** packets, uint16_t n) -> uint16_t {
            const auto taken = std::min(n, per_call);
            rte_pktmbuf_free_bulk(packets, taken);
            return taken;
        };
    }
    tx_of_few(const tx_of_few&) = delete;
    tx_of_few& operator=(const tx_of_few&) = delete;
    ~tx_of_few() { ops_.tx_pkt_burst = usual_; }
    static inline uint16_t per_call = 0;

  private:
    struct rte_eth_fp_ops& ops_;
    eth_tx_burst_t usual_;
};

TEST_F(ports, bursts_are_the_calls_that_moved_a_packet) {
    auto p = port::open(settings("net_null0"));
    ASSERT_TRUE(p && p->start());
    counters::port_counters counted;
    tx_queue queue(p->id(), 0, counted);
    const tx_of_few device(p->id());
    const auto bursts_with = [&](uint16_t per_call) {
        const uint64_t before = counted.tx_bursts.read();
        tx_of_few::per_call = per_call;
        push(queue, tx_queue::burst, 0);
        return counted.tx_bursts.read() - before;
    };
    EXPECT_EQ(bursts_with(tx_queue::burst), 1U);
    EXPECT_EQ(bursts_with(20), 2U) << "two doorbells";
    EXPECT_EQ(bursts_with(0), 0U);
}

TEST_F(ports, refusals_name_the_place_and_what_to_do) {
    EXPECT_NE(refused(settings("net_nonsense0")).find("f.yaml:1: port 'p': device 'net_nonsense0'"),
              std::string::npos);
    EXPECT_NE(refused(settings("net_nonsense0")).find("neither a virtual device of a driver"),
              std::string::npos);
    EXPECT_NE(refused(settings("net_af_packet7,iface=nosuch")).find("no interface 'nosuch'"),
              std::string::npos);
    EXPECT_NE(refused(settings("net_af_packet7,iface=lo,blocksz=7")).find("blocksz=7' cannot be"),
              std::string::npos);
    EXPECT_NE(refused(settings("net_af_packet7,iface=lo,blocksz=7")).find("exceeds block size"),
              std::string::npos)
        << refused(settings("net_af_packet7,iface=lo,blocksz=7"));
    port_settings many = settings("net_null0");
    many.tx_queues = 5000;
    EXPECT_NE(refused(many).find("TX queues"), std::string::npos);
    port_settings jumbo = settings("net_null0");
    jumbo.mtu = 9000;
    EXPECT_NE(refused(jumbo).find("mempool.buffer_size to at least 9154"), std::string::npos)
        << refused(jumbo);
    port_settings stamped = settings("net_null0");
    stamped.timestamps = offload::required;
    EXPECT_NE(refused(stamped).find("net_null gives the device no RX timestamps"),
              std::string::npos)
        << refused(stamped);
    stamped.timestamps = offload::if_supported;
    EXPECT_EQ(refused(stamped), "opened");
    port_settings cut = settings("net_af_packet0,iface=lo,framesz=1024,blocksz=4096");
    EXPECT_NE(refused(cut).find("framesz=N with N at least"), std::string::npos) << refused(cut);
    EXPECT_EQ(rte_eth_dev_count_avail(), 0) << "a refused device is closed";
}

/// net_tap's own code sums; net_null knows nothing of it.
TEST_F(ports, udp_checksums_by_the_device_where_it_can) {
    for (const bool asked : {false, true})
        for (const bool can : {false, true}) {
            port_settings s = settings(can ? "net_tap0,iface=tpksums" : "net_null0");
            s.udp_sums = asked;
            auto p = port::open(s);
            ASSERT_TRUE(p) << p.error().message();
            EXPECT_EQ(p->puts_udp_sums_in(), asked && can);
            EXPECT_EQ(p->checks_udp_sums(), asked && can);
        }
}

/// Drivers put mbufs back as they are, also chained ones: DPDK 25.11 requires one segment.
TEST_F(ports, mbuf_fast_free_only_where_every_packet_has_one_segment) {
    static eth_dev_ops supports_both;
    for (const bool several : {false, true}) {
        ASSERT_EQ(rte_dev_probe("net_null0"), 0);
        uint16_t id = 0;
        ASSERT_EQ(rte_eth_dev_get_port_by_name("net_null0", &id), 0);
        rte_eth_dev& device = rte_eth_devices[id];
        static const auto usual = device.dev_ops->dev_infos_get;
        supports_both = *device.dev_ops;
        supports_both.dev_infos_get = [](rte_eth_dev* dev, rte_eth_dev_info* info) {
            const int code = usual(dev, info);
            info->tx_offload_capa |=
                RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
            return code;
        };
        device.dev_ops = &supports_both;
        port_settings s = settings("net_null0");
        s.several_buffers = several;
        const auto p = port::open(s);
        ASSERT_TRUE(p) << p.error().message();
        rte_eth_conf conf{};
        ASSERT_EQ(rte_eth_dev_conf_get(p->id(), &conf), 0);
        EXPECT_EQ(conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS,
                  several ? RTE_ETH_TX_OFFLOAD_MULTI_SEGS : 0);
        EXPECT_EQ(conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE,
                  several ? 0 : RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE);
        EXPECT_EQ(p->sends_one_buffer(), !several);
    }
}

/// Makes net_null0, which port::open() then finds, with other properties. Outlives the port, which removes the device.
class made_device {
  public:
    /// driver  its name; empty: net_null
    explicit made_device(const char* driver = "") {
        EXPECT_EQ(rte_dev_probe("net_null0"), 0);
        uint16_t id = 0;
        EXPECT_EQ(rte_eth_dev_get_port_by_name("net_null0", &id), 0);
        rte_eth_dev& made = rte_eth_devices[id];
        usual_ops() = made.dev_ops;
        ops = *made.dev_ops;
        ops.dev_infos_get = [](rte_eth_dev* dev, rte_eth_dev_info* info) {
            const int code = usual_ops()->dev_infos_get(dev, info);
            info->max_rx_queues = info->max_tx_queues = 4;
            return code;
        };
        made.dev_ops = &ops;
        driver_ = *container_of(made.device->driver, const rte_vdev_driver, driver);
        if (*driver != 0) driver_.driver.name = driver;
        made.device->driver = &driver_.driver;
    }

    static const eth_dev_ops*& usual_ops() {
        static const eth_dev_ops* ops = nullptr;
        return ops;
    }
    eth_dev_ops ops{};

  private:
    rte_vdev_driver driver_{};
};

/// A virtio device delivers to the RX queues of all enabled pairs: there are as many as are polled.
TEST_F(ports, no_queue_pair_of_virtio_is_left_unpolled) {
    const made_device device("net_virtio");
    port_settings s = settings("net_null0");
    s.tx_queues_wanted = 3;
    {
        const auto p = port::open(s);
        ASSERT_TRUE(p) << p.error().message();
        EXPECT_EQ(p->tx_queues(), 1U);
        s.rx_queues = 2;
        s.tx_queues = 3;
        const auto no = p->could_have(s);
        ASSERT_FALSE(no);
        EXPECT_NE(no.error().text.find("set rx_queues to at least 3"), std::string::npos)
            << no.error().text;
        s.rx_queues = 3;
        EXPECT_TRUE(p->could_have(s));
    }
}

/// Their transmit queues stop for good at a frame of less than 17 bytes.
TEST_F(ports, frames_that_i40e_cannot_send) {
    const made_device device("net_i40e");
    const auto p = port::open(settings("net_null0"));
    ASSERT_TRUE(p) << p.error().message();
    EXPECT_EQ(p->min_tx_bytes(), 17U);
    EXPECT_EQ(port::without_device("q").min_tx_bytes(), 0U);
}

/// A driver may have limits on queues that it does not report.
TEST_F(ports, a_queue_for_each_worker_that_may_come_is_only_a_wish) {
    made_device device;
    device.ops.dev_configure = [](rte_eth_dev* dev) {
        return dev->data->nb_tx_queues > 1 ? -EINVAL : made_device::usual_ops()->dev_configure(dev);
    };
    port_settings s = settings("net_null0");
    s.tx_queues_wanted = 3;
    {
        const auto p = port::open(s);
        ASSERT_TRUE(p) << p.error().message();
        EXPECT_EQ(p->tx_queues(), 1U);
    }
}

/// i40e, ice, iavf, hns3, bnxt.
TEST_F(ports, a_driver_that_changes_no_mtu_while_it_runs) {
    made_device device;
    device.ops.mtu_set = [](rte_eth_dev* dev, uint16_t) {
        return dev->data->dev_started != 0 ? -EBUSY : 0;
    };
    auto p = port::open(settings("net_null0"));
    ASSERT_TRUE(p) << p.error().message();
    ASSERT_TRUE(p->start());
    const auto no = p->change_mtu(1400);
    ASSERT_FALSE(no);
    EXPECT_EQ(no.error().code, EBUSY);
    EXPECT_NE(no.error().text.find("add it with mtu 1400"), std::string::npos) << no.error().text;
    p->close();
}

/// In vmxnet3 another thread's command may come between a question about the link and its answer.
TEST_F(ports, a_link_is_asked_for_twice_before_it_is_down) {
    static int answers_down = 0;
    made_device device;
    device.ops.link_update = [](rte_eth_dev* dev, int) {
        rte_eth_link link{};
        link.link_status = answers_down > 0 ? RTE_ETH_LINK_DOWN : RTE_ETH_LINK_UP;
        --answers_down;
        rte_eth_linkstatus_set(dev, &link);
        return 0;
    };
    auto p = port::open(settings("net_null0"));
    ASSERT_TRUE(p && p->start());
    EXPECT_TRUE(p->link_up());
    answers_down = 1;
    EXPECT_TRUE(p->link_up());
    answers_down = 2;
    EXPECT_FALSE(p->link_up());
    p->close();
}

/// Counters do not fall to 0 where a driver fails, or the device is gone.
TEST_F(ports, losses_of_a_device_that_does_not_answer_are_the_last_ones) {
    static eth_dev_ops failing;
    static int code = 0;
    static uint64_t missed = 0;
    auto p = port::open(settings("net_null0"));
    ASSERT_TRUE(p && p->start());
    rte_eth_dev& device = rte_eth_devices[p->id()];
    const auto* const usual = device.dev_ops;
    failing = *usual;
    failing.stats_get = [](rte_eth_dev*, rte_eth_stats* to, auto...) {
        to->imissed = missed;
        return code;
    };
    device.dev_ops = &failing;
    missed = 7;
    EXPECT_EQ(p->losses().missed, 7U);
    missed = 9, code = -EIO;
    EXPECT_EQ(p->losses().missed, 7U);
    port moved = std::move(*p);
    EXPECT_EQ(moved.losses().missed, 7U);
    code = 0;
    EXPECT_EQ(moved.losses().missed, 9U);
    rte_eth_dev_callback_process(&device, RTE_ETH_EVENT_INTR_RMV, nullptr);
    missed = UINT32_MAX;  // a removed register
    EXPECT_EQ(moved.losses().missed, 9U);
    device.dev_ops = usual;
    moved.close();
    EXPECT_EQ(moved.losses().missed, 0U);
}

/// Sends UDP datagrams to 127.0.0.1 until its end.
class loopback_traffic {
  public:
    loopback_traffic() {
        sender_ = std::thread([this] {
            const int socket = ::socket(AF_INET, SOCK_DGRAM, 0);
            sockaddr_in to{};
            to.sin_family = AF_INET;
            to.sin_port = htons(9);
            to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            while (!stop_)
                ::sendto(socket, "1234", 4, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
            ::close(socket);
        });
    }
    ~loopback_traffic() {
        stop_ = true;
        sender_.join();
    }

  private:
    std::atomic<bool> stop_{false};
    std::thread sender_{};
};

TEST_F(ports, frames_of_other_interfaces_are_not_received) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, for a network namespace";
    // A thread, so that the namespace is not the other cases'.
    std::thread([this] {
        ASSERT_EQ(unshare(CLONE_NEWNET), 0);
        ASSERT_EQ(std::system("echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6 && "
                              "ip link add near type veth peer name far && ip link set near up && "
                              "ip link set far up && ip link set lo up"),
                  0);
        const loopback_traffic traffic;
        for (int round = 0; round < 5; ++round) {
            auto p = port::open(settings("net_af_packet0,iface=near"));
            ASSERT_TRUE(p) << p.error().message();
            ASSERT_TRUE(p->start());
            rte_mbuf* m = nullptr;
            EXPECT_EQ(rte_eth_rx_burst(p->id(), 0, &m, 1), 0) << "round " << round;
            rte_pktmbuf_free(m);
            rte_eth_stats counted{};
            EXPECT_EQ(rte_eth_stats_get(p->id(), &counted), 0);
            EXPECT_EQ(counted.ipackets, 0U);
        }
    }).join();
}

TEST(driver_facts, by_prefix) {
    EXPECT_TRUE(facts_of("net_virtio_user").lets_unfinished_in);
    EXPECT_FALSE(facts_of("net_ixgbe").lets_unfinished_in);
    EXPECT_EQ(facts_of("net_ixgbe").tx_rs, 32);
    EXPECT_EQ(facts_of("net_ixgbe_vf").rx_free, 32);
    EXPECT_EQ(facts_of("net_ice").rx_free, 64);
    EXPECT_TRUE(facts_of("net_af_xdp").keeps_buffers);
    EXPECT_TRUE(facts_of("net_bonding").needs_periodic_tx);
    EXPECT_EQ(facts_of("net_unheard_of").rx_free, 0);
}

}  // namespace
}  // namespace turnpike::rxtx
