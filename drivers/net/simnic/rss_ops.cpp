// SPDX-License-Identifier: BSD-3-Clause
// ethdev operations for receive side scaling: key, types, redirection table.
#include <ethdev_driver.h>

#include <algorithm>
#include <cstring>

#include "device.hpp"

namespace turnpike::simnic {
namespace {

constexpr std::pair<uint64_t, uint32_t> type_table[] = {
    {RTE_ETH_RSS_IPV4, rss_ipv4},
    {RTE_ETH_RSS_NONFRAG_IPV4_TCP, rss_ipv4_tcp},
    {RTE_ETH_RSS_NONFRAG_IPV4_UDP, rss_ipv4_udp},
    {RTE_ETH_RSS_IPV6, rss_ipv6},
    {RTE_ETH_RSS_NONFRAG_IPV6_TCP, rss_ipv6_tcp},
    {RTE_ETH_RSS_NONFRAG_IPV6_UDP, rss_ipv6_udp},
};

rss& rss_of(rte_eth_dev* dev) noexcept { return device_of(dev).nic->scaling(); }

/// Call change(entry, value) for each entry selected by the update's masks.
template <class Entry, class Change>
int each_named(Entry* groups, uint16_t size, Change change) noexcept {
    if (size != rss::table_entries) return -EINVAL;
    for (uint16_t i = 0; i < size; ++i) {
        auto& group = groups[i / RTE_ETH_RETA_GROUP_SIZE];
        const unsigned at = i % RTE_ETH_RETA_GROUP_SIZE;
        if ((group.mask >> at & 1) != 0) change(i, group.reta[at]);
    }
    return 0;
}

}  // namespace

uint64_t rss_offloads() noexcept {
    uint64_t all = 0;
    for (const auto& [theirs, ours] : type_table) all |= theirs;
    return all;
}

int rss_hash_update(rte_eth_dev* dev, rte_eth_rss_conf* conf) noexcept {
    if (conf->rss_key != nullptr && conf->rss_key_len != rss::key_bytes) {
        SIMNIC_LOG(ERR, "an RSS key has %zu bytes, not %u\n", rss::key_bytes, conf->rss_key_len);
        return -EINVAL;
    }
    uint32_t types = 0;
    for (const auto& [theirs, ours] : type_table)
        if ((conf->rss_hf & theirs) != 0) types |= ours;
    device_of(dev).nic->exclusively([&] {
        if (conf->rss_key != nullptr) {
            rss::key key;
            std::memcpy(key.data(), conf->rss_key, key.size());
            rss_of(dev).set_key(key);
        }
        rss_of(dev).types = types;
    });
    return 0;
}

int rss_hash_conf_get(rte_eth_dev* dev, rte_eth_rss_conf* conf) noexcept {
    const rss& now = rss_of(dev);
    if (conf->rss_key != nullptr && conf->rss_key_len >= rss::key_bytes) {
        std::memcpy(conf->rss_key, now.current_key().data(), rss::key_bytes);
        conf->rss_key_len = rss::key_bytes;
    }
    conf->rss_hf = 0;
    for (const auto& [theirs, ours] : type_table)
        if ((now.types & ours) != 0) conf->rss_hf |= theirs;
    return 0;
}

int reta_update(rte_eth_dev* dev, rte_eth_rss_reta_entry64* groups, uint16_t size) noexcept {
    bool good = true;
    const uint16_t queues = dev->data->nb_rx_queues;
    if (const int code =
            each_named(groups, size, [&](uint16_t, uint16_t& queue) { good &= queue < queues; });
        code != 0 || !good) {
        SIMNIC_LOG(ERR, "the table has %zu entries, each a queue below %u\n", rss::table_entries,
                   queues);
        return -EINVAL;
    }
    device_of(dev).nic->exclusively([&] {
        each_named(groups, size,
                   [&](uint16_t i, uint16_t& queue) { rss_of(dev).table[i] = queue; });
    });
    return 0;
}

int reta_query(rte_eth_dev* dev, rte_eth_rss_reta_entry64* groups, uint16_t size) noexcept {
    return each_named(groups, size,
                      [&](uint16_t i, uint16_t& queue) { queue = rss_of(dev).table[i]; });
}

/// Defaults on configure: the device's key, a round-robin table, and the hash types of mq_mode (none: all to queue 0).
int configure_rss(rte_eth_dev* dev) noexcept {
    const rte_eth_conf& conf = dev->data->dev_conf;
    rss& now = rss_of(dev);
    device_of(dev).nic->exclusively([&] {
        now.types = 0;
        now.set_key(rss::default_key);
        for (size_t i = 0; i < now.table.size(); ++i)
            now.table[i] =
                static_cast<uint16_t>(i % std::max<uint16_t>(dev->data->nb_rx_queues, 1));
    });
    device_of(dev).nic->report_hash((conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_RSS_HASH) != 0);
    if ((conf.rxmode.mq_mode & RTE_ETH_MQ_RX_RSS_FLAG) == 0) return 0;
    rte_eth_rss_conf wanted = conf.rx_adv_conf.rss_conf;
    return rss_hash_update(dev, &wanted);
}

}  // namespace turnpike::simnic
