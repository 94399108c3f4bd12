// SPDX-License-Identifier: BSD-3-Clause
// net_xskN: probing and removing the virtual device.
#include <bus_vdev_driver.h>
#include <ethdev_driver.h>
#include <ethdev_vdev.h>

#include <cstring>
#include <exception>

#include "device.hpp"

namespace turnpike::xsk {

int log_type = ethdev::first_log_type;

namespace {

/// Which of the interface's queues: as many as it has, where the arguments do not say.
result<uint32_t> choose_queues(const device_arguments& a, const interface_state& now) {
    const uint32_t there = std::max(now.rx_queues, now.tx_queues);
    const uint32_t wanted = a.queues != 0 ? a.queues : 1;
    if (a.start_queue + wanted > there)
        return fail(EINVAL,
                    a.queues != 0 ? "queues=" + std::to_string(a.queues)
                                  : "start_queue=" + std::to_string(a.start_queue),
                    a.iface + " has " + std::to_string(there) +
                        " queues, numbered from 0 (ethtool -L gives it more)");
    return a.queues != 0 ? a.queues : there - a.start_queue;
}

result<std::unique_ptr<device>> make_device(const std::string& name, std::string_view arguments) {
    auto parsed = parse_arguments(arguments);
    if (!parsed) return tl::unexpected<error>(parsed.error());
    auto found = xsk::interface::open(parsed->iface);
    if (!found) return tl::unexpected<error>(found.error());
    std::unique_ptr<device> d(
        new device{.arguments = std::move(*parsed), .name = name, .interface = std::move(*found)});
    if (!d->arguments.filter.empty()) {
        auto keep = load_filter(d->arguments.filter);
        if (!keep) return tl::unexpected<error>(keep.error());
        d->keep = std::move(*keep);
    }
    const interface_state now = d->interface.look();
    const auto queues = choose_queues(d->arguments, now);
    if (!queues) return tl::unexpected<error>(queues.error());
    d->queues = *queues;
    std::memcpy(d->mac.addr_bytes, now.mac.bytes, sizeof now.mac.bytes);
    if (auto attached = attach_program(*d, now.index); !attached)
        return tl::unexpected<error>(attached.error());
    return d;
}

int probe(rte_vdev_device* vdev) noexcept {
    const char* name = rte_vdev_device_name(vdev);
    if (rte_eal_process_type() != RTE_PROC_PRIMARY) {
        XSK_LOG(ERR, "%s: works in the primary process only\n", name);
        return -ENOTSUP;
    }
    rte_eth_dev* dev = rte_eth_vdev_allocate(vdev, 0);
    if (dev == nullptr) return -ENOMEM;
    int code = -ENOMEM;
    try {
        auto made = make_device(name, rte_vdev_device_args(vdev));
        if (made) {
            dev->data->dev_private = made->get();
            dev->data->mac_addrs = &(*made)->mac;
            made->release();
            dev->data->dev_flags |= RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS;
            dev->dev_ops = &operations();
            dev->rx_pkt_burst = rx_burst;
            dev->tx_pkt_burst = tx_burst;
            rte_eth_dev_probing_finish(dev);
            return 0;
        }
        XSK_LOG(ERR, "%s: %s\n", name, made.error().message().c_str());
        code = -made.error().code;
    } catch (const std::exception& e) {
        XSK_LOG(ERR, "%s: %s\n", name, e.what());
    }
    rte_eth_dev_release_port(dev);
    return code;
}

int remove(rte_vdev_device* vdev) noexcept {
    rte_eth_dev* dev = rte_eth_dev_allocated(rte_vdev_device_name(vdev));
    if (dev == nullptr) return 0;  // closed already
    close(dev);
    return rte_eth_dev_release_port(dev);
}

// Constant: it is registered by a constructor that may run before any other of this file.
constinit rte_vdev_driver xsk_driver{.next = {},
                                     .driver = {},
                                     .probe = probe,
                                     .remove = remove,
                                     .dma_map = nullptr,
                                     .dma_unmap = nullptr,
                                     .drv_flags = 0};

RTE_INIT(xsk_log_init) {
    const int type = rte_log_register_type_and_pick_level("pmd.net.xsk", RTE_LOG_NOTICE);
    if (type >= 0) log_type = type;
}

}  // namespace
}  // namespace turnpike::xsk

using turnpike::xsk::xsk_driver;
RTE_PMD_REGISTER_VDEV(net_xsk, xsk_driver);
RTE_PMD_REGISTER_PARAM_STRING(
    net_xsk,
    "iface=<interface> queues=<n> start_queue=<n> mode=<auto|zerocopy|copy|skb> "
    "busy_budget=<packets> filter=<file> xskmap=<path> replace=<0|1>");
