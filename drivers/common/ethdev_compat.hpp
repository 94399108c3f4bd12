// SPDX-License-Identifier: BSD-3-Clause
// ethdev's side of a driver, in which DPDK 22.11, 24.11 and 25.11 differ: a driver is written once
// against what stands here.
#pragma once

#include <ethdev_driver.h>
#include <rte_version.h>

namespace turnpike::ethdev {

// ---- Counts. From 25.11 on those of the queues (q_*) stand beside rte_eth_stats.
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)

struct port_stats : rte_eth_stats, eth_queue_stats {};

/// eth_dev_ops::stats_get of a driver's own.
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

// ---- Packet types. From 24.11 on their number is asked for too.
#if RTE_VERSION >= RTE_VERSION_NUM(24, 11, 0, 0)

/// eth_dev_ops::dev_supported_ptypes_get of a driver's own, whose list ends with RTE_PTYPE_UNKNOWN.
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

/// Of a driver's messages until its own type is registered (RTE_LOGTYPE_PMD is gone in 24.11).
constexpr int first_log_type = RTE_LOGTYPE_EAL;

}  // namespace turnpike::ethdev
