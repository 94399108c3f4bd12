// SPDX-License-Identifier: BSD-3-Clause
// One port: an interface, the XDP program attached to it, and one AF_XDP socket per queue.
#pragma once

#include <chrono>
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
#include "vdev_port.hpp"

namespace turnpike::xsk {

/// The interface's settings before the driver changed them; restored at close, and when another
/// interface has the name.
struct as_found {
    unsigned ifindex = 0;
    std::optional<uint32_t> mtu{};             ///< set if the driver changed it
    std::optional<packet::mac_address> mac{};  ///< set if the driver changed it
};

/// A failed reopen of an interface that returned.
struct failed_reopen {
    interface_state interface {};  ///< index 0: none
    std::chrono::steady_clock::time_point retry_at{};
    std::chrono::milliseconds interval{};
};

struct device {
    device_arguments arguments;
    std::string name;  ///< the DPDK device's name, for messages
    xsk::interface interface {};
    std::optional<filter> keep{};
    rte_ether_addr ether_mac{};             ///< that the interface had when the device was made
    uint32_t rx_queues = 1, tx_queues = 1;  ///< maximum numbers of queues

    /// The last counters, for calls while another thread holds the mutex below: it is acquired first.
    std::mutex last_counters_mutex{};
    ethdev::port_stats last_stats{};
    totals last_xstats{};

    /// Serializes ethdev's calls and the link watch (watch.cpp); protects every member below.
    std::mutex mutex{};
    owned_fd pinned_map{};  ///< with xskmap=
    std::unique_ptr<xsk::program> program{};
    std::vector<std::unique_ptr<socket>> sockets{};
    std::vector<uint32_t> mapped_queues{};  ///< the interface's queues with a socket in the XSKMAP
    unsigned ifindex = 0;  ///< interface of the program and sockets; 0: the interface was removed
    bool started = false;
    bool complained = false;  ///< a failed reopen was logged already
    uint32_t busy_looks = 0;  ///< polls that found a queue of the returned interface busy
    xsk::failed_reopen failed_reopen{};
    uint32_t seen_mtu = 0, seen_queues = 0;
    xsk::interface::reception reception {};
    bool sets_mtu = false;  ///< the application set the MTU, maybe to the interface's own
    as_found found{};

    /// Totals of closed sockets, detached programs and released queues.
    totals past{};
    totals xstats_base{}, stats_base{};
    ethdev::port_stats queues_base{};
};

inline device& device_of(const rte_eth_dev* dev) noexcept { return vdev::device_of<device>(dev); }

/// Errors  EINVAL: frames of that MTU need several buffers and the queue has no scatter offload
[[nodiscard]] result<void> check_frame_room(const rx_queue& rx, uint32_t mtu);

/// bring_up.cpp: the caller holds the mutex.
///
/// Load the program onto the interface, or open the pinned map.
///
/// Errors  EINVAL: the interface is not an Ethernet interface; else those of program::attach()
[[nodiscard]] result<void> attach_program(device& d, const interface_state& now);
/// Restore the settings of the interface that the driver changed, unless it was removed.
void leave_as_found(device& d) noexcept;
/// Record and change the settings of the interface that has the name now; restore the previous one's.
void follow_interface(device& d, const interface_state& now) noexcept;
/// Apply the MTU that the application set, or configured above ethdev's default.
[[nodiscard]] result<void> set_interface_mtu(rte_eth_dev* dev, const interface_state& now);
/// Apply the port's MTU, MAC address and receive filters to the interface.
[[nodiscard]] result<void> set_again(rte_eth_dev* dev, const interface_state& now);
/// Open, fill and add to the XSKMAP a socket for each configured queue; on error, open none.
///
/// now      the interface's state
/// patient  wait for a busy queue, two seconds at most
[[nodiscard]] result<void> open_sockets(rte_eth_dev* dev, const interface_state& now, bool patient);
/// Keep workers out of the rings, send pending frames, close the sockets, return the buffers.
void close_sockets(rte_eth_dev* dev) noexcept;
/// Detach the program; the port has no interface afterwards.
void detach_program(device& d) noexcept;

/// watch.cpp: interface events while the port is started.
void start_watch(rte_eth_dev* dev) noexcept;
/// The caller does not hold the mutex.
void stop_watch(rte_eth_dev* dev) noexcept;
int link_update(rte_eth_dev* dev, int wait) noexcept;

/// queues.cpp: ethdev's queue setup and release.
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

/// stats.cpp: the port's counters.
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
