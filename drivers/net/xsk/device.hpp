// SPDX-License-Identifier: BSD-3-Clause
// One port: an interface, the program on it, and a socket for each queue.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "counts.hpp"
#include "devargs.hpp"
#include "ethdev_compat.hpp"
#include "interface.hpp"
#include "program/program.hpp"
#include "rx_queue.hpp"
#include "socket.hpp"
#include "tx_queue.hpp"

namespace turnpike::xsk {

/// Of the interface before anything of it was changed; put back at the close.
struct as_found {
    unsigned ifindex = 0;
    std::optional<uint32_t> mtu{};             ///< where it was changed
    std::optional<packet::mac_address> mac{};  ///< likewise
};

struct device {
    device_arguments arguments;
    std::string name;  ///< of the DPDK device, for messages
    xsk::interface interface {};
    std::optional<filter> keep{};
    rte_ether_addr ether_mac{};  ///< the port's
    uint32_t queues = 1;         ///< most that can be configured

    /// Of everything below: ethdev's calls and the watch (watch.cpp) take turns.
    std::mutex mutex{};
    owned_fd pinned_map{};  ///< with xskmap=
    std::unique_ptr<xsk::program> program{};
    std::vector<std::unique_ptr<socket>> sockets{};
    unsigned ifindex = 0;  ///< that the program and the sockets are on; 0: the interface is gone
    bool started = false;
    bool complained = false;  ///< that bringing it up again failed; said once
    uint32_t busy_looks = 0;  ///< at an interface that is back, and a queue of which is taken
    uint32_t seen_mtu = 0, seen_queues = 0;
    xsk::interface::reception reception {};
    as_found found{};

    /// Of sockets that are closed, programs that are gone, queues that are released.
    totals past{};
    totals xstats_base{}, stats_base{};
    ethdev::port_stats queues_base{};
};

inline device& device_of(const rte_eth_dev* dev) noexcept {
    return *static_cast<device*>(dev->data->dev_private);
}

/// Errors  EINVAL: frames of that MTU need several buffers, which the queue may not use
[[nodiscard]] result<void> check_frame_room(const rx_queue& rx, uint32_t mtu);

/// bring_up.cpp: the mutex is held.
/// Load the program onto the interface, or open the pinned map.
[[nodiscard]] result<void> attach_program(device& d, unsigned ifindex);
/// The interface of now is the one whose settings are found and changed.
void follow_interface(device& d, const interface_state& now) noexcept;
/// It has the MTU and the address that the port has set, and what the port receives.
[[nodiscard]] result<void> set_again(rte_eth_dev* dev, const interface_state& now);
/// A socket for each queue that is set up, filled and in the map; or none at all.
/// patient  a queue that is taken is waited for, two seconds at most
[[nodiscard]] result<void> open_sockets(rte_eth_dev* dev, bool patient);
/// Workers out, everything sent, sockets closed, buffers back.
void close_sockets(rte_eth_dev* dev) noexcept;
/// Then the port is on no interface.
void detach_program(device& d) noexcept;

/// watch.cpp: what happens to the interface while the port is started.
void start_watch(rte_eth_dev* dev) noexcept;
/// The mutex is not held.
void stop_watch(rte_eth_dev* dev) noexcept;
int link_update(rte_eth_dev* dev, int wait) noexcept;

/// queues.cpp: what ethdev calls to set up and release queues.
inline constexpr uint16_t ring_least = 64, ring_most = 16384, ring_default = 2048;
int rx_queue_setup(rte_eth_dev* dev, uint16_t queue, uint16_t size, unsigned socket,
                   const rte_eth_rxconf* conf, rte_mempool* pool) noexcept;
int tx_queue_setup(rte_eth_dev* dev, uint16_t queue, uint16_t size, unsigned socket,
                   const rte_eth_txconf* conf) noexcept;
void rx_queue_release(rte_eth_dev* dev, uint16_t queue) noexcept;
void tx_queue_release(rte_eth_dev* dev, uint16_t queue) noexcept;
void rxq_info_get(rte_eth_dev* dev, uint16_t queue, rte_eth_rxq_info* info) noexcept;
void txq_info_get(rte_eth_dev* dev, uint16_t queue, rte_eth_txq_info* info) noexcept;
int tx_done_cleanup(void* queue, uint32_t) noexcept;
inline rx_queue* rx_of(const rte_eth_dev* dev, uint16_t queue) noexcept {
    return queue < dev->data->nb_rx_queues ? static_cast<rx_queue*>(dev->data->rx_queues[queue])
                                           : nullptr;
}
inline tx_queue* tx_of(const rte_eth_dev* dev, uint16_t queue) noexcept {
    return queue < dev->data->nb_tx_queues ? static_cast<tx_queue*>(dev->data->tx_queues[queue])
                                           : nullptr;
}

/// stats.cpp: what a port counts.
int stats_get(rte_eth_dev* dev, ethdev::port_stats* stats) noexcept;
int stats_reset(rte_eth_dev* dev) noexcept;
int xstats_get(rte_eth_dev* dev, rte_eth_xstat* xstats, unsigned n) noexcept;
int xstats_get_names(rte_eth_dev* dev, rte_eth_xstat_name* names, unsigned n) noexcept;
int xstats_reset(rte_eth_dev* dev) noexcept;

/// ops.cpp
const eth_dev_ops& operations() noexcept;

extern int log_type;

}  // namespace turnpike::xsk

#define XSK_LOG(level, ...)                                                    \
    rte_log(RTE_LOG_##level, static_cast<uint32_t>(::turnpike::xsk::log_type), \
            "net_xsk: " __VA_ARGS__)
