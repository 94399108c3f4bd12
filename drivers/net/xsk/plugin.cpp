// SPDX-License-Identifier: BSD-3-Clause
// net_xskN: probe and remove the virtual device.
#include "device.hpp"
#include "vdev_port.hpp"

namespace turnpike::xsk {

int log_type = ethdev::first_log_type;

namespace {

/// The port's queues: the arguments' range of the queues that the interface has in each direction.
result<void> choose_queues(device& d, const interface_state& now) {
    const device_arguments& a = d.arguments;
    const uint32_t there = std::max(now.rx_queues, now.tx_queues);
    const uint32_t wanted = a.queues != 0 ? a.queues : 1;
    if (a.start_queue + wanted > there)
        return fail(EINVAL,
                    a.queues != 0 ? "queues=" + std::to_string(a.queues)
                                  : "start_queue=" + std::to_string(a.start_queue),
                    a.iface + " has " + std::to_string(there) +
                        " queues, numbered from 0 (ethtool -L gives it more)");
    const auto in_range = [&a](uint32_t has) {
        const uint32_t left = has - std::min(has, a.start_queue);
        return a.queues != 0 ? std::min(a.queues, left) : left;
    };
    d.rx_queues = in_range(now.rx_queues);
    d.tx_queues = in_range(now.tx_queues);
    return {};
}

result<std::unique_ptr<device>> make_device(const std::string& name, std::string_view arguments,
                                            uint16_t) {
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
    const interface_state now = d->interface.state_now();
    if (auto chosen = choose_queues(*d, now); !chosen) return tl::unexpected<error>(chosen.error());
    d->ether_mac = vdev::to_ether(now.mac);
    if (auto attached = attach_program(*d, now); !attached)
        return tl::unexpected<error>(attached.error());
    return d;
}

void complain(const char* name, const char* what) noexcept { XSK_LOG(ERR, "%s: %s\n", name, what); }

constexpr vdev::driver<device> ours{.make = make_device,
                                    .operations = operations,
                                    .complain = complain,
                                    .rx_burst = vdev::burst<rx_queue>,
                                    .tx_burst = vdev::burst<tx_queue>};

int probe(rte_vdev_device* vdev) noexcept { return vdev::probe(ours, vdev); }

// constinit: the registering constructor may run before any other initializer of this file.
constinit rte_vdev_driver xsk_driver{.next = {},
                                     .driver = {},
                                     .probe = probe,
                                     .remove = vdev::remove,
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
RTE_PMD_REGISTER_PARAM_STRING(net_xsk, XSK_PARAMETERS);
