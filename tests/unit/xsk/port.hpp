// SPDX-License-Identifier: BSD-3-Clause
// net_xsk ports under DPDK on veth pairs, in a network namespace of the test's own; the other end of a cable
// is a raw socket.
#pragma once

#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <rte_bus_vdev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace turnpike::test {

using frame = std::vector<uint8_t>;

inline bool run(const std::string& command) { return std::system(command.c_str()) == 0; }

/// Entered before EAL starts its threads.
inline const bool in_sandbox =
    geteuid() == 0 && unshare(CLONE_NEWNET) == 0 && run("ip link set lo up");

inline bool within(double seconds, const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
}

/// A veth pair: `name` for the port, `name`far for the raw socket.
class cable {
  public:
    explicit cable(const std::string& name, uint32_t mtu = 1500, unsigned queues = 1)
        : name_(name) {
        lay(mtu, queues);
    }
    /// The far end of another, for a port.
    struct far_end {};
    cable(far_end, const cable& other) : name_(other.far()) {}
    ~cable() {
        if (socket_ >= 0) cut();
    }
    cable(const cable&) = delete;
    cable& operator=(const cable&) = delete;

    void lay(uint32_t mtu = 1500, unsigned queues = 1) {
        const std::string many = " numtxqueues " + std::to_string(queues) + " numrxqueues " +
                                 std::to_string(queues) + " mtu " + std::to_string(mtu);
        EXPECT_TRUE(run("ip link add " + name_ + many + " type veth peer name " + far() + many));
        for (const std::string& end : {name_, far()})
            EXPECT_TRUE(run("sysctl -qw net.ipv6.conf." + end + ".disable_ipv6=1; ethtool -K " +
                            end +
                            " gro off gso off tso off tx off rx off >/dev/null 2>&1; ip link set " +
                            end + " up"));
        socket_ = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
        sockaddr_ll to{};
        to.sll_family = AF_PACKET;
        to.sll_protocol = htons(ETH_P_ALL);
        to.sll_ifindex = static_cast<int>(if_nametoindex(far().c_str()));
        EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
        const int room = 16 << 20;
        setsockopt(socket_, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
        const int ignore = 1;
        setsockopt(socket_, SOL_PACKET, PACKET_IGNORE_OUTGOING, &ignore, sizeof ignore);
        settle();
    }
    /// Waits until both ends send. A link has carrier as soon as its peer is up; the kernel activates
    /// its queues later, from a work item (linkwatch), and drops a socket's frames without an error
    /// until then.
    void settle() const {
        for (const std::string& end : {name_, far()})
            EXPECT_TRUE(within(5, [&] {
                return run("ip link show dev " + end + " | grep -q 'state UP'");
            })) << end;
    }
    void cut() {
        if (socket_ >= 0) ::close(socket_);
        socket_ = -1;
        if (if_nametoindex(name_.c_str()) != 0) run("ip link del " + name_);
    }

    bool send(const frame& f) const {
        return ::send(socket_, f.data(), f.size(), 0) == static_cast<ssize_t>(f.size());
    }
    std::optional<frame> receive(int milliseconds = 1000) const {
        pollfd wait{socket_, POLLIN, 0};
        if (poll(&wait, 1, milliseconds) != 1) return std::nullopt;
        frame f(65536);
        const ssize_t n = recv(socket_, f.data(), f.size(), 0);
        if (n < 0) return std::nullopt;
        f.resize(static_cast<size_t>(n));
        return f;
    }
    std::string far() const { return name_ + "far"; }
    const std::string& name() const { return name_; }

  private:
    std::string name_;
    int socket_ = -1;
};

/// Bytes that tell frames apart, of a type that no host answers to.
inline frame make_frame(size_t bytes, uint32_t number) {
    frame f(bytes);
    for (size_t i = 0; i < bytes; ++i) f[i] = static_cast<uint8_t>(number * 7 + i * 13 + (i >> 8));
    const uint8_t header[] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};
    std::memcpy(f.data(), header, std::min(bytes, sizeof header));
    if (bytes >= 18) std::memcpy(f.data() + 14, &number, sizeof number);
    return f;
}

inline rte_mempool* make_pool(const char* name, unsigned buffers = 4096,
                              uint16_t room = RTE_MBUF_DEFAULT_BUF_SIZE,
                              const char* ops = "ring_mp_mc") {
    rte_mempool* pool =
        rte_pktmbuf_pool_create_by_ops(name, buffers, 128, 16, room, SOCKET_ID_ANY, ops);
    EXPECT_NE(pool, nullptr);
    return pool;
}

inline frame bytes_of(const rte_mbuf* m) {
    frame f;
    for (; m != nullptr; m = m->next) {
        const auto* at = rte_pktmbuf_mtod(m, const uint8_t*);
        f.insert(f.end(), at, at + m->data_len);
    }
    return f;
}

/// In as many buffers as it takes, of `room` bytes each.
inline rte_mbuf* to_mbuf(rte_mempool* pool, const frame& f, size_t room = SIZE_MAX) {
    rte_mbuf *head = nullptr, *tail = nullptr;
    for (size_t at = 0; at < f.size();) {
        rte_mbuf* m = rte_pktmbuf_alloc(pool);
        if (m == nullptr) return head;
        const size_t n = std::min({room, f.size() - at, size_t{rte_pktmbuf_tailroom(m)}});
        std::memcpy(rte_pktmbuf_append(m, static_cast<uint16_t>(n)), f.data() + at, n);
        if (head == nullptr) {
            head = m;
        } else {
            tail->next = m;
            ++head->nb_segs;
            head->pkt_len += static_cast<uint32_t>(n);
        }
        tail = m;
        at += n;
    }
    return head;
}

struct port_options {
    std::string arguments{};  ///< behind iface=
    uint16_t queues = 1;
    uint16_t descriptors = 256;
    uint16_t mtu = 1500;
    bool scatter = false;
    bool fast_free = false;
};

class port {
  public:
    /// Probed and configured; start() is the test's. `code` says how far it came.
    port(const std::string& device, const cable& on, rte_mempool* pool, const port_options& o = {})
        : port(device, on.name(), pool, o) {}
    port(const std::string& device, const std::string& interface, rte_mempool* pool,
         const port_options& o = {})
        : device_(device) {
        code = rte_vdev_init(device.c_str(), ("iface=" + interface + o.arguments).c_str());
        if (code != 0) return;
        EXPECT_EQ(rte_eth_dev_get_port_by_name(device.c_str(), &id), 0);
        rte_eth_conf conf{};
        conf.rxmode.mtu = o.mtu;
        if (o.scatter) {
            conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_SCATTER;
            conf.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
        }
        if (o.fast_free) conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
        code = rte_eth_dev_configure(id, o.queues, o.queues, &conf);
        for (uint16_t q = 0; q < o.queues && code == 0; ++q) {
            code = rte_eth_tx_queue_setup(id, q, o.descriptors, 0, nullptr);
            if (code == 0) code = rte_eth_rx_queue_setup(id, q, o.descriptors, 0, nullptr, pool);
        }
    }
    ~port() { close(); }
    port(const port&) = delete;
    port& operator=(const port&) = delete;

    void start() { ASSERT_EQ(rte_eth_dev_start(id), 0); }
    void close() {
        if (code == 0 || id != UINT16_MAX) {
            if (id != UINT16_MAX) {
                rte_eth_dev_stop(id);
                rte_eth_dev_close(id);
            }
            rte_vdev_uninit(device_.c_str());
        }
        id = UINT16_MAX;
        code = -1;
    }
    std::optional<frame> receive(double seconds = 1, uint16_t queue = 0) const {
        rte_mbuf* m = nullptr;
        if (!within(seconds, [&] { return rte_eth_rx_burst(id, queue, &m, 1) == 1; }))
            return std::nullopt;
        frame f = bytes_of(m);
        EXPECT_EQ(f.size(), m->pkt_len);
        rte_pktmbuf_free(m);
        return f;
    }
    bool send(rte_mbuf* m, uint16_t queue = 0) const {
        return rte_eth_tx_burst(id, queue, &m, 1) == 1;
    }
    /// The frame that arrives at the far end while the port is polled, as an application would, and
    /// receives nothing.
    std::optional<frame> arrives(const cable& at, double seconds = 1) const {
        std::optional<frame> got;
        within(seconds, [&] {
            rte_mbuf* none = nullptr;
            (void)rte_eth_rx_burst(id, 0, &none, 0);
            return (got = at.receive(0)).has_value();
        });
        return got;
    }
    std::map<std::string, uint64_t> xstats() const {
        const int n = rte_eth_xstats_get_names(id, nullptr, 0);
        EXPECT_GT(n, 0);
        std::vector<rte_eth_xstat_name> names(static_cast<size_t>(n));
        std::vector<rte_eth_xstat> values(names.size());
        EXPECT_EQ(rte_eth_xstats_get_names(id, names.data(), static_cast<unsigned>(n)), n);
        EXPECT_EQ(rte_eth_xstats_get(id, values.data(), static_cast<unsigned>(n)), n);
        std::map<std::string, uint64_t> out;
        for (const rte_eth_xstat& v : values) out[names[v.id].name] = v.value;
        return out;
    }
    bool link_up() const {
        rte_eth_link link{};
        return rte_eth_link_get_nowait(id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
    }

    int code = -1;
    uint16_t id = UINT16_MAX;

  private:
    std::string device_;
};

/// A mempool that must be full again at the test's end.
class xsk_port : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!in_sandbox) GTEST_SKIP() << "needs root, for a network namespace";
        pool = make_pool("packets");
    }
    void TearDown() override {
        if (pool == nullptr) return;
        EXPECT_EQ(rte_mempool_in_use_count(pool), 0u) << "buffers are missing";
        rte_mempool_free(pool);
    }
    rte_mempool* pool = nullptr;
};

}  // namespace turnpike::test
