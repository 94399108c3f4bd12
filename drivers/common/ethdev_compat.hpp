// SPDX-License-Identifier: BSD-3-Clause
// Differences between DPDK 22.11, 24.11 and 25.11 in the ethdev driver interface; drivers use only
// these wrappers.
#pragma once

#include <ethdev_driver.h>
#include <rte_version.h>

namespace turnpike::ethdev {

// ---- Statistics. DPDK 25.11 moves the per-queue counters (q_*) out of rte_eth_stats.
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)

struct port_stats : rte_eth_stats, eth_queue_stats {};

/// Adapts a driver's function to eth_dev_ops::stats_get.
template <int (*Get)(rte_eth_dev*, port_stats*) noexcept>
int stats_get(rte_eth_dev* dev, rte_eth_stats* stats, eth_queue_stats* queues) noexcept {
    port_stats all{};
    const int code = Get(dev, &all);
    if (code != 0) return code;
    *stats = all;
    if (queues != nullptr) *queues = all;
    return 0;
}

#else

using port_stats = rte_eth_stats;

template <int (*Get)(rte_eth_dev*, port_stats*) noexcept>
int stats_get(rte_eth_dev* dev, rte_eth_stats* stats) noexcept {
    return Get(dev, stats);
}

#endif

// ---- Packet types. DPDK 24.11 adds an argument for their number.
#if RTE_VERSION >= RTE_VERSION_NUM(24, 11, 0, 0)

/// Adapts a driver's function to eth_dev_ops::dev_supported_ptypes_get; its list ends with
/// RTE_PTYPE_UNKNOWN.
template <const uint32_t* (*Get)(rte_eth_dev*) noexcept>
const uint32_t* ptypes_get(rte_eth_dev* dev, size_t* count) noexcept {
    const uint32_t* all = Get(dev);
    *count = 0;
    while (all[*count] != RTE_PTYPE_UNKNOWN) ++*count;
    return all;
}

#else

template <const uint32_t* (*Get)(rte_eth_dev*) noexcept>
const uint32_t* ptypes_get(rte_eth_dev* dev) noexcept {
    return Get(dev);
}

#endif

/// Log type of a driver's messages until it registers its own (24.11 removed RTE_LOGTYPE_PMD).
constexpr int first_log_type = RTE_LOGTYPE_EAL;

}  // namespace turnpike::ethdev
