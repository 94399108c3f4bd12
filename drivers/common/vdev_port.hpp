// SPDX-License-Identifier: BSD-3-Clause
// A virtual device with one ethdev port, from probe to removal. Exceptions do not propagate into
// DPDK.
#pragma once

#include <bus_vdev_driver.h>
#include <ethdev_driver.h>
#include <ethdev_vdev.h>
#include <rte_malloc.h>

#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "packet/headers.hpp"

namespace turnpike::vdev {

/// The driver's part. Its Device becomes the port's dev_private; `ether_mac` is the port's first MAC
/// address, and operations that read counters hold `mutex`.
template <class Device>
struct driver {
    result<std::unique_ptr<Device>> (*make)(const std::string& name, std::string_view arguments,
                                            uint16_t port);
    const eth_dev_ops& (*operations)() noexcept;
    /// Log an error.
    void (*complain)(const char* name, const char* what) noexcept;
    eth_rx_burst_t rx_burst = nullptr;
    eth_tx_burst_t tx_burst = nullptr;
    eth_tx_prep_t tx_prepare = nullptr;
    /// RTE_ETH_DEV_... flags of a device, besides the common ones.
    uint32_t (*flags)(const Device&) noexcept = nullptr;
};

/// Adapts a driver's queue functions to ethdev's.
template <class Queue>
uint16_t burst(void* queue, rte_mbuf** packets, uint16_t n) noexcept {
    return static_cast<Queue*>(queue)->burst(packets, n);
}

/// int(): returns ethdev's result; ENOMEM if an allocation fails.
template <class Action>
int guarded(const Action& action) noexcept {
    try {
        return action();
    } catch (const std::exception&) {
        return -ENOMEM;
    }
}

/// The driver's part of a port, ordered behind probe(), which releases it: DPDK's telemetry thread
/// reads a new port's counters at once, and ethdev publishes the port by a plain store.
template <class Device>
Device& device_of(const rte_eth_dev* dev) noexcept {
    return *static_cast<Device*>(__atomic_load_n(&dev->data->dev_private, __ATOMIC_ACQUIRE));
}

/// The maximum frame length for an MTU, with two VLAN tags.
constexpr uint32_t longest_frame_bytes(uint32_t mtu) noexcept {
    return mtu + uint32_t{RTE_ETHER_HDR_LEN} + 2 * uint32_t{RTE_VLAN_HLEN};
}

/// Operations of a port without its device: in a secondary process (dev_private is memory of the primary process only), and
/// from close() until ethdev releases the port.
inline const eth_dev_ops& inert_operations() noexcept {
    static constexpr eth_dev_ops ops = [] {
        eth_dev_ops o{};
        o.dev_infos_get = [](rte_eth_dev* dev, rte_eth_dev_info* info) noexcept {
            info->max_rx_queues = dev->data->nb_rx_queues;
            info->max_tx_queues = dev->data->nb_tx_queues;
            info->max_mac_addrs = 1;
            info->min_mtu = info->max_mtu = dev->data->mtu;
            info->max_rx_pktlen = longest_frame_bytes(dev->data->mtu);
            return 0;
        };
        o.link_update = [](rte_eth_dev*, int) noexcept {
            return 0;
        };  // the primary process does it
        return o;
    }();
    return ops;
}

/// The port exists in a secondary process, as EAL's hot-plug demands of all of them, and carries no packets there: capture
/// programs (rte_pdump) attach to the primary one's.
inline int probe_secondary(rte_vdev_device* vdev) noexcept {
    rte_eth_dev* const dev = rte_eth_dev_attach_secondary(rte_vdev_device_name(vdev));
    if (dev == nullptr) return -ENODEV;
    dev->device = &vdev->device;
    dev->dev_ops = &inert_operations();
    dev->rx_pkt_burst =
        dev->tx_pkt_burst = [](void*, rte_mbuf**, uint16_t) noexcept { return uint16_t{0}; };
    rte_eth_dev_probing_finish(dev);
    return 0;
}

template <class Device>
int probe(const driver<Device>& d, rte_vdev_device* vdev) noexcept {
    if (rte_eal_process_type() != RTE_PROC_PRIMARY) return probe_secondary(vdev);
    const char* name = rte_vdev_device_name(vdev);
    rte_eth_dev* dev = rte_eth_vdev_allocate(vdev, 0);
    if (dev == nullptr) return -ENOMEM;
    int code = -ENOMEM;
    try {
        const char* const arguments = rte_vdev_device_args(vdev);  // may be nullptr
        auto made = d.make(name, arguments != nullptr ? arguments : "", dev->data->port_id);
        // In memory that secondary processes have, too; ethdev frees it.
        auto* const mac =
            static_cast<rte_ether_addr*>(rte_zmalloc(name, sizeof(rte_ether_addr), 0));
        dev->data->mac_addrs = mac;
        if (made && mac != nullptr) {
            *mac = (*made)->ether_mac;
            if (d.flags != nullptr) dev->data->dev_flags |= d.flags(**made);
            dev->data->dev_flags |= RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS;
            __atomic_store_n(&dev->data->dev_private, static_cast<void*>(made->release()),
                             __ATOMIC_RELEASE);
            dev->dev_ops = &d.operations();
            dev->rx_pkt_burst = d.rx_burst;
            dev->tx_pkt_burst = d.tx_burst;
            dev->tx_pkt_prepare = d.tx_prepare;
            rte_eth_dev_probing_finish(dev);
            return 0;
        }
        if (!made) {
            d.complain(name, made.error().message().c_str());
            code = -made.error().code;
        }
    } catch (const std::exception& e) {
        d.complain(name, e.what());
    }
    rte_eth_dev_release_port(dev);
    return code;
}

/// dev_close: stop the port, release its queues, destroy its device.
///
/// leave  called last, with the device
template <class Device, class Leave>
int close(rte_eth_dev* dev, const Leave& leave) noexcept {
    if (rte_eal_process_type() != RTE_PROC_PRIMARY) return 0;
    (void)dev->dev_ops->dev_stop(dev);
    rte_eth_dev_data* data = dev->data;
    for (uint16_t q = 0; q < data->nb_rx_queues; ++q) dev->dev_ops->rx_queue_release(dev, q);
    for (uint16_t q = 0; q < data->nb_tx_queues; ++q) dev->dev_ops->tx_queue_release(dev, q);
    data->nb_rx_queues = data->nb_tx_queues = 0;
    // Callbacks of RTE_ETH_EVENT_DESTROY still find the port, and DPDK's telemetry thread may be reading its
    // counters: it is waited for if it has the lock. (Between its load of dev_ops and the lock nothing can stop it.)
    __atomic_store_n(&dev->dev_ops, &inert_operations(), __ATOMIC_SEQ_CST);
    Device* const device = &device_of<Device>(dev);
    { const std::lock_guard readers(device->mutex); }
    leave(*device);
    delete device;
    // ethdev frees the other members; the driver allocated this one.
    __atomic_store_n(&data->dev_private, nullptr, __ATOMIC_RELEASE);
    return 0;
}

inline int remove(rte_vdev_device* vdev) noexcept {
    rte_eth_dev* dev = rte_eth_dev_allocated(rte_vdev_device_name(vdev));
    if (dev == nullptr) return 0;  // closed already
    if (rte_eal_process_type() == RTE_PROC_PRIMARY) (void)dev->dev_ops->dev_close(dev);
    return rte_eth_dev_release_port(dev);
}

/// A start needs all configured queues: bursts get a queue's pointer without a check.
///
/// Errors  EINVAL: the application has not set up a queue; names it
[[nodiscard]] inline result<void> check_queues_set_up(const rte_eth_dev* dev) {
    const auto check = [](void* const* queues, uint16_t n, const char* direction) -> result<void> {
        for (uint16_t q = 0; q < n; ++q)
            if (queues[q] == nullptr)
                return fail(EINVAL, std::string(direction) + " queue " + std::to_string(q),
                            "was not set up");
        return {};
    };
    const rte_eth_dev_data* data = dev->data;
    if (auto rx = check(data->rx_queues, data->nb_rx_queues, "RX"); !rx) return rx;
    return check(data->tx_queues, data->nb_tx_queues, "TX");
}

/// rx, tx  bool(uint16_t queue): whether it is started
template <class Rx, class Tx>
void show_queue_states(rte_eth_dev* dev, const Rx& rx, const Tx& tx) noexcept {
    const auto state = [](bool running) -> uint8_t {
        return running ? RTE_ETH_QUEUE_STATE_STARTED : RTE_ETH_QUEUE_STATE_STOPPED;
    };
    rte_eth_dev_data* data = dev->data;
    for (uint16_t q = 0; q < data->nb_rx_queues; ++q) data->rx_queue_state[q] = state(rx(q));
    for (uint16_t q = 0; q < data->nb_tx_queues; ++q) data->tx_queue_state[q] = state(tx(q));
}

inline packet::mac_address to_mac(const rte_ether_addr& from) noexcept {
    packet::mac_address mac;
    std::memcpy(mac.bytes, from.addr_bytes, sizeof mac.bytes);
    return mac;
}

inline rte_ether_addr to_ether(const packet::mac_address& from) noexcept {
    rte_ether_addr mac;
    std::memcpy(mac.addr_bytes, from.bytes, sizeof mac.addr_bytes);
    return mac;
}

}  // namespace turnpike::vdev
