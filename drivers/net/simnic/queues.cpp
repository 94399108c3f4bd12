// SPDX-License-Identifier: BSD-3-Clause
#include <ethdev_driver.h>
#include <rte_cycles.h>
#include <rte_mbuf.h>

#include <exception>

#include "device.hpp"
#include "vdev_port.hpp"

namespace turnpike::simnic {
namespace {

// Rings are page aligned, so that a fetch of 32 descriptors never crosses a page, which would take
// two reads.
constexpr unsigned ring_alignment = 4096;
constexpr uint16_t default_threshold = 32;

const rte_memzone* ring_memory(rte_eth_dev* dev, const char* name, uint16_t queue, size_t bytes,
                               unsigned socket) noexcept {
    const rte_memzone* zone =
        rte_eth_dma_zone_reserve(dev, name, queue, bytes, ring_alignment, static_cast<int>(socket));
    if (zone == nullptr) SIMNIC_LOG(ERR, "no memory for the ring of queue %u\n", queue);
    return zone;
}

}  // namespace

int rx_queue_setup(rte_eth_dev* dev, uint16_t queue, uint16_t size, unsigned socket,
                   const rte_eth_rxconf* conf, rte_mempool* pool) noexcept {
    device& d = device_of(dev);
    const rx_policy& policy = d.arguments.policy.rx;
    uint16_t threshold = conf->rx_free_thresh;
    if (threshold == 0) threshold = static_cast<uint16_t>(policy.free_threshold);
    if (threshold > size / 4 || (!policy.refill_all && size % threshold != 0)) {
        SIMNIC_LOG(ERR,
                   "queue %u: rx_free_thresh %u must divide the ring of %u and be at most a "
                   "quarter of it\n",
                   queue, threshold, size);
        return -EINVAL;
    }
    // A received mbuf's flags are written anew, without RTE_MBUF_F_EXTERNAL.
    if ((rte_pktmbuf_priv_flags(pool) & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF) != 0) {
        SIMNIC_LOG(ERR,
                   "queue %u: pool '%s' has pinned external buffers, which are not supported\n",
                   queue, pool->name);
        return -EINVAL;
    }
    const uint32_t room = rte_pktmbuf_data_room_size(pool);
    const uint32_t frame = dev->data->mtu + uint32_t{RTE_ETHER_HDR_LEN};
    const uint64_t offloads = conf->offloads | dev->data->dev_conf.rxmode.offloads;
    const bool scatter = (offloads & RTE_ETH_RX_OFFLOAD_SCATTER) != 0;
    if (!scatter && room < RTE_PKTMBUF_HEADROOM + frame) {
        SIMNIC_LOG(ERR,
                   "queue %u: a frame of %u bytes does not fit a buffer of %u; with "
                   "RTE_ETH_RX_OFFLOAD_SCATTER it takes several\n",
                   queue, frame, room - RTE_PKTMBUF_HEADROOM);
        return -EINVAL;
    }
    const rte_memzone* zone =
        ring_memory(dev, "rx_ring", queue, size_t{size} * policy.descriptor_bytes, socket);
    if (zone == nullptr) return -ENOMEM;
    try {
        auto* const made = new rx_queue({.device = d.nic.get(),
                                         .works_device = !d.arguments.threaded,
                                         .port = dev->data->port_id,
                                         .queue = queue,
                                         .size = size,
                                         .free_threshold = threshold,
                                         .deferred = conf->rx_deferred_start != 0,
                                         .scatter = scatter,
                                         .timestamp_flag = d.timestamp_flag,
                                         .timestamp_at = d.timestamp_at,
                                         .clock = d.arguments.clock,
                                         .tsc_hz = rte_get_tsc_hz(),
                                         .pool = pool,
                                         .zone = zone,
                                         .kernels = &d.kernels->function()});
        const std::lock_guard lock(d.mutex);
        dev->data->rx_queues[queue] = made;
    } catch (const std::exception&) {
        rte_memzone_free(zone);
        return -ENOMEM;
    }
    return 0;
}

int tx_queue_setup(rte_eth_dev* dev, uint16_t queue, uint16_t size, unsigned socket,
                   const rte_eth_txconf* conf) noexcept {
    device& d = device_of(dev);
    const uint16_t rs = conf->tx_rs_thresh != 0 ? conf->tx_rs_thresh : default_threshold;
    const uint16_t free = conf->tx_free_thresh != 0 ? conf->tx_free_thresh : default_threshold;
    if (rs > size / 4 || size % rs != 0 || free > size - 4) {
        SIMNIC_LOG(ERR,
                   "queue %u: tx_rs_thresh %u must divide the ring of %u and be at most a "
                   "quarter of it, tx_free_thresh %u at most the ring less 4\n",
                   queue, rs, size, free);
        return -EINVAL;
    }
    const rte_memzone* zone =
        ring_memory(dev, "tx_ring", queue, size_t{size} * sizeof(descriptor), socket);
    if (zone == nullptr) return -ENOMEM;
    try {
        auto* const made = new tx_queue({.device = d.nic.get(),
                                         .works_device = !d.arguments.threaded,
                                         .queue = queue,
                                         .size = size,
                                         .rs_threshold = rs,
                                         .free_threshold = free,
                                         .offloads = conf->offloads,
                                         .deferred = conf->tx_deferred_start != 0,
                                         .zone = zone,
                                         .kernels = &d.kernels->function()});
        const std::lock_guard lock(d.mutex);
        dev->data->tx_queues[queue] = made;
    } catch (const std::exception&) {
        rte_memzone_free(zone);
        return -ENOMEM;
    }
    return 0;
}

void rx_queue_release(rte_eth_dev* dev, uint16_t queue) noexcept {
    auto* released = static_cast<rx_queue*>(dev->data->rx_queues[queue]);
    if (released == nullptr) return;
    const std::lock_guard lock(device_of(dev).mutex);
    device_of(dev).past_doorbells += released->tail().writes.read();
    device_of(dev).past_no_buffer += released->no_buffer.read();
    delete released;
    dev->data->rx_queues[queue] = nullptr;
}

void tx_queue_release(rte_eth_dev* dev, uint16_t queue) noexcept {
    auto* released = static_cast<tx_queue*>(dev->data->tx_queues[queue]);
    if (released == nullptr) return;
    device& d = device_of(dev);
    const std::lock_guard lock(d.mutex);
    d.past_doorbells += released->tail().writes.read();
    d.past_refused_segmentation += released->refused_segmentation.read();
    d.past_refused_length += released->refused_length.read();
    delete released;
    dev->data->tx_queues[queue] = nullptr;
}

int rx_queue_start(rte_eth_dev* dev, uint16_t queue) noexcept {
    engine& nic = *device_of(dev).nic;
    auto* rx = static_cast<rx_queue*>(dev->data->rx_queues[queue]);
    bool good = true;
    nic.exclusively([&] { good = rx->start(vdev::longest_frame_bytes(dev->data->mtu)); });
    if (!good) {
        SIMNIC_LOG(ERR, "queue %u: the pool has too few buffers to fill the ring\n", queue);
        (void)rx_queue_stop(dev, queue);
        return -ENOMEM;
    }
    dev->data->rx_queue_state[queue] = RTE_ETH_QUEUE_STATE_STARTED;
    return 0;
}

int rx_queue_stop(rte_eth_dev* dev, uint16_t queue) noexcept {
    engine& nic = *device_of(dev).nic;
    nic.exclusively([&] { nic.rx(queue).detach(); });
    static_cast<rx_queue*>(dev->data->rx_queues[queue])->stop();
    dev->data->rx_queue_state[queue] = RTE_ETH_QUEUE_STATE_STOPPED;
    return 0;
}

int tx_queue_start(rte_eth_dev* dev, uint16_t queue) noexcept {
    engine& nic = *device_of(dev).nic;
    nic.exclusively([&] {
        static_cast<tx_queue*>(dev->data->tx_queues[queue])
            ->start(dev->data->dev_conf.txmode.offloads);
    });
    dev->data->tx_queue_state[queue] = RTE_ETH_QUEUE_STATE_STARTED;
    return 0;
}

/// Send posted frames first.
int tx_queue_stop(rte_eth_dev* dev, uint16_t queue) noexcept {
    engine& nic = *device_of(dev).nic;
    nic.drain(1u << queue);
    nic.exclusively([&] { nic.tx(queue).detach(); });
    static_cast<tx_queue*>(dev->data->tx_queues[queue])->stop();
    dev->data->tx_queue_state[queue] = RTE_ETH_QUEUE_STATE_STOPPED;
    return 0;
}

void rxq_info_get(rte_eth_dev* dev, uint16_t queue, rte_eth_rxq_info* info) noexcept {
    const rx_queue& rx = *static_cast<rx_queue*>(dev->data->rx_queues[queue]);
    const auto& q = rx.configured();
    info->scattered_rx = rx.scattered();
    info->mp = q.pool;
    info->nb_desc = static_cast<uint16_t>(q.size);
    info->conf.rx_free_thresh = q.free_threshold;
    info->conf.rx_deferred_start = q.deferred;
    info->conf.offloads = dev->data->dev_conf.rxmode.offloads;
}

void txq_info_get(rte_eth_dev* dev, uint16_t queue, rte_eth_txq_info* info) noexcept {
    const auto& q = static_cast<tx_queue*>(dev->data->tx_queues[queue])->configured();
    info->nb_desc = static_cast<uint16_t>(q.size);
    info->conf.tx_rs_thresh = q.rs_threshold;
    info->conf.tx_free_thresh = q.free_threshold;
    info->conf.tx_deferred_start = q.deferred;
    info->conf.offloads = dev->data->dev_conf.txmode.offloads;
}

}  // namespace turnpike::simnic
