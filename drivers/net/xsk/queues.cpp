// SPDX-License-Identifier: BSD-3-Clause
#include <ethdev_driver.h>
#include <rte_mbuf.h>

#include <bit>
#include <exception>

#include "device.hpp"

namespace turnpike::xsk {
namespace {

constexpr uint16_t default_threshold = 32;

/// Queues start and stop with their port.
bool is_deferred(bool deferred, uint16_t queue) noexcept {
    if (deferred) XSK_LOG(ERR, "queue %u: deferred start is not supported\n", queue);
    return deferred;
}

/// Returns the threshold; 0 if `given` is too large for the ring. Threads  control
uint32_t threshold_of(const char* name, uint16_t given, uint16_t queue, uint32_t size) noexcept {
    const uint32_t threshold = given != 0 ? given : default_threshold;
    if (threshold <= size / 2) return threshold;
    XSK_LOG(ERR, "queue %u: %s %u must be at most half of the ring of %u\n", queue, name, threshold,
            size);
    return 0;
}

}  // namespace

int rx_queue_setup(rte_eth_dev* dev, uint16_t queue, uint16_t size, unsigned,
                   const rte_eth_rxconf* conf, rte_mempool* pool) noexcept {
    device& d = device_of(dev);
    if (is_deferred(conf->rx_deferred_start != 0, queue)) return -EINVAL;
    const uint32_t threshold = threshold_of("rx_free_thresh", conf->rx_free_thresh, queue, size);
    if (threshold == 0) return -EINVAL;
    try {
        const auto frames = layout_of(*pool);
        if (!frames) {
            XSK_LOG(ERR, "%s: queue %u: %s\n", d.name.c_str(), queue,
                    frames.error().message().c_str());
            return -frames.error().code;
        }
        const uint64_t offloads = conf->offloads | dev->data->dev_conf.rxmode.offloads;
        auto* const made = new rx_queue({.port = dev->data->port_id,
                                         .queue = queue,
                                         .size = std::bit_ceil(uint32_t{size}),
                                         .free_threshold = threshold,
                                         .scatter = (offloads & RTE_ETH_RX_OFFLOAD_SCATTER) != 0,
                                         .busy_polling = d.arguments.busy_budget != 0,
                                         .frames = *frames,
                                         .name = d.name});
        const std::lock_guard lock(d.mutex);
        dev->data->rx_queues[queue] = made;
    } catch (const std::exception&) {
        return -ENOMEM;
    }
    return 0;
}

int tx_queue_setup(rte_eth_dev* dev, uint16_t queue, uint16_t size, unsigned,
                   const rte_eth_txconf* conf) noexcept {
    if (is_deferred(conf->tx_deferred_start != 0, queue)) return -EINVAL;
    const uint32_t threshold = threshold_of("tx_free_thresh", conf->tx_free_thresh, queue, size);
    if (threshold == 0) return -EINVAL;
    try {
        auto* const made = new tx_queue({.queue = queue,
                                         .size = std::bit_ceil(uint32_t{size}),
                                         .free_threshold = threshold,
                                         .offloads = conf->offloads});
        const std::lock_guard lock(device_of(dev).mutex);
        dev->data->tx_queues[queue] = made;
    } catch (const std::exception&) {
        return -ENOMEM;
    }
    return 0;
}

void rx_queue_release(rte_eth_dev* dev, uint16_t queue) noexcept {
    auto* released = static_cast<rx_queue*>(dev->data->rx_queues[queue]);
    if (released == nullptr) return;
    const std::lock_guard lock(device_of(dev).mutex);
    device_of(dev).past.add(*released);
    delete released;
    dev->data->rx_queues[queue] = nullptr;
    if (queue < RTE_ETHDEV_QUEUE_STAT_CNTRS)
        device_of(dev).queues_base.q_ipackets[queue] = device_of(dev).queues_base.q_ibytes[queue] =
            0;
}

void tx_queue_release(rte_eth_dev* dev, uint16_t queue) noexcept {
    auto* released = static_cast<tx_queue*>(dev->data->tx_queues[queue]);
    if (released == nullptr) return;
    const std::lock_guard lock(device_of(dev).mutex);
    device_of(dev).past.add(*released);
    delete released;
    dev->data->tx_queues[queue] = nullptr;
    if (queue < RTE_ETHDEV_QUEUE_STAT_CNTRS)
        device_of(dev).queues_base.q_opackets[queue] = device_of(dev).queues_base.q_obytes[queue] =
            0;
}

void rxq_info_get(rte_eth_dev* dev, uint16_t queue, rte_eth_rxq_info* info) noexcept {
    const auto& q = rx_of(dev, queue)->configured();
    info->mp = q.frames.pool;
    info->nb_desc = static_cast<uint16_t>(q.size);
    info->rx_buf_size = static_cast<uint16_t>(q.frames.room());
    info->scattered_rx = q.scatter;
    info->conf.rx_free_thresh = static_cast<uint16_t>(q.free_threshold);
    info->conf.offloads = dev->data->dev_conf.rxmode.offloads;
}

void txq_info_get(rte_eth_dev* dev, uint16_t queue, rte_eth_txq_info* info) noexcept {
    const auto& q = tx_of(dev, queue)->configured();
    info->nb_desc = static_cast<uint16_t>(q.size);
    info->conf.tx_free_thresh = static_cast<uint16_t>(q.free_threshold);
    info->conf.offloads = dev->data->dev_conf.txmode.offloads;
}

/// most  0: all
int tx_done_cleanup(void* queue, uint32_t most) noexcept {
    return static_cast<int>(static_cast<tx_queue*>(queue)->free_sent(most));
}

}  // namespace turnpike::xsk
