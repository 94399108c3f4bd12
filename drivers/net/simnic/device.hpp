// SPDX-License-Identifier: BSD-3-Clause
// One port: the engine, its optional thread, and the port's ethdev state.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "devargs.hpp"
#include "engine/engine.hpp"
#include "engine/thread.hpp"
#include "ethdev_compat.hpp"
#include "host/rx.hpp"
#include "host/tx.hpp"
#include "vdev_port.hpp"

namespace turnpike::simnic {

struct named_count {
    std::string name;
    uint64_t value;
};

struct device {
    device_arguments arguments;
    packet::mac_address mac{};
    rte_ether_addr ether_mac{};
    std::unique_ptr<engine> nic{};
    std::unique_ptr<engine_thread> thread{};
    const isa::kernel<burst_kernels_function>* kernels = nullptr;
    bool started = false;
    /// Guards the port's arrays of queues and the members below: DPDK's telemetry reads counters on its
    /// own thread while control sets up and releases queues.
    std::mutex mutex{};
    /// Totals of released queues.
    uint64_t past_doorbells = 0, past_no_buffer = 0;
    uint64_t past_refused_segmentation = 0, past_refused_length = 0;
    uint64_t timestamp_flag =
        0;  ///< mbuf flag and offset, if the application enabled RX timestamps
    int timestamp_at = -1;
    std::vector<uint64_t> xstats_base{};
    ethdev::port_stats stats_base{};
};

inline device& device_of(const rte_eth_dev* dev) noexcept { return vdev::device_of<device>(dev); }

/// queues.cpp: ethdev's queue setup and release.
int rx_queue_setup(rte_eth_dev* dev, uint16_t queue, uint16_t size, unsigned socket,
                   const rte_eth_rxconf* conf, rte_mempool* pool) noexcept;
int tx_queue_setup(rte_eth_dev* dev, uint16_t queue, uint16_t size, unsigned socket,
                   const rte_eth_txconf* conf) noexcept;
void rx_queue_release(rte_eth_dev* dev, uint16_t queue) noexcept;
void tx_queue_release(rte_eth_dev* dev, uint16_t queue) noexcept;
void rxq_info_get(rte_eth_dev* dev, uint16_t queue, rte_eth_rxq_info* info) noexcept;
void txq_info_get(rte_eth_dev* dev, uint16_t queue, rte_eth_txq_info* info) noexcept;
inline constexpr uint16_t ring_least = 128, ring_most = 4096, ring_multiple = 32,
                          ring_default = 1024;

int rx_queue_start(rte_eth_dev* dev, uint16_t queue) noexcept;
int rx_queue_stop(rte_eth_dev* dev, uint16_t queue) noexcept;
int tx_queue_start(rte_eth_dev* dev, uint16_t queue) noexcept;
int tx_queue_stop(rte_eth_dev* dev, uint16_t queue) noexcept;

/// rss_ops.cpp: receive side scaling.
uint64_t rss_offloads() noexcept;
int rss_hash_update(rte_eth_dev* dev, rte_eth_rss_conf* conf) noexcept;
int rss_hash_conf_get(rte_eth_dev* dev, rte_eth_rss_conf* conf) noexcept;
int reta_update(rte_eth_dev* dev, rte_eth_rss_reta_entry64* groups, uint16_t size) noexcept;
int reta_query(rte_eth_dev* dev, rte_eth_rss_reta_entry64* groups, uint16_t size) noexcept;
int configure_rss(rte_eth_dev* dev) noexcept;

/// stats.cpp: the port's counters.
int stats_get(rte_eth_dev* dev, ethdev::port_stats* stats) noexcept;
int stats_reset(rte_eth_dev* dev) noexcept;
int xstats_get(rte_eth_dev* dev, rte_eth_xstat* xstats, unsigned n) noexcept;
int xstats_get_names(rte_eth_dev* dev, rte_eth_xstat_name* names, unsigned n) noexcept;
int xstats_reset(rte_eth_dev* dev) noexcept;

/// ops.cpp
const eth_dev_ops& operations() noexcept;
uint16_t tx_prepare(void* queue, rte_mbuf** frames, uint16_t n) noexcept;

extern int log_type;

}  // namespace turnpike::simnic

#define SIMNIC_LOG(level, ...) \
    rte_log(RTE_LOG_##level, ::turnpike::simnic::log_type, "net_simnic: " __VA_ARGS__)
