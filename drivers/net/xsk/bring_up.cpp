// SPDX-License-Identifier: BSD-3-Clause
// Open and close an interface's queues: at the port's start and stop, and when a removed interface
// returns.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <ethdev_driver.h>
#include <linux/if_link.h>

#include <algorithm>

#include "attempt.hpp"
#include "device.hpp"
#include "vdev_port.hpp"

namespace turnpike::xsk {
namespace {

/// The map's owner may have pinned another one since; it may also have removed the file only, or the
/// process its privileges: then the port keeps the open map.
result<void> open_map(device& d) {
    owned_fd map(bpf_obj_get(d.arguments.xskmap.c_str()));
    if (map.get() < 0 && d.pinned_map.get() >= 0) return {};
    if (map.get() < 0)
        return fail(errno, "xskmap=" + d.arguments.xskmap,
                    errno == EPERM || errno == EACCES
                        ? "may not be opened: give its file to this user, or this process CAP_BPF"
                        : "is no pinned map (bpftool map pin)");
    bpf_map_info info{};
    uint32_t bytes = sizeof info;
    if (bpf_obj_get_info_by_fd(map.get(), &info, &bytes) != 0 || info.type != BPF_MAP_TYPE_XSKMAP)
        return fail(EINVAL, "xskmap=" + d.arguments.xskmap, "is a map of another type, no XSKMAP");
    d.pinned_map = std::move(map);
    return {};
}

/// Other programs may put sockets into a pinned map, too: neither replace nor remove their entries.
result<void> put_into_map(device& d, uint32_t queue, int fd) {
    d.mapped_queues.reserve(d.mapped_queues.size() + 1);
    if (d.program) {
        if (auto set = d.program->set_socket(queue, fd); !set) return set;
    } else if (bpf_map_update_elem(d.pinned_map.get(), &queue, &fd, BPF_NOEXIST) != 0) {
        const int code = errno;
        return fail(
            code, "xskmap=" + d.arguments.xskmap,
            (code == EEXIST ? "has another socket for queue " : "takes no socket for queue ") +
                std::to_string(queue));
    }
    d.mapped_queues.push_back(queue);
    return {};
}

void remove_from_map(device& d) noexcept {
    for (const uint32_t queue : d.mapped_queues) {
        if (d.program)
            d.program->clear_socket(queue);
        else
            (void)bpf_map_delete_elem(d.pinned_map.get(), &queue);
    }
    d.mapped_queues.clear();
}

/// The settings of a queue's RX queue, or of the first RX queue, for its socket and its UMEM. An application may have
/// configured the port again, with other offloads, without setting up its queues.
const rx_queue::settings* rx_settings_of(const rte_eth_dev* dev, uint16_t queue) noexcept {
    if (const rx_queue* rx = rx_of(dev, queue)) return &rx->configured();
    const rx_queue* first = rx_of(dev, 0);
    return first != nullptr ? &first->configured() : nullptr;
}

/// Require driver mode for zero-copy: the kernel also binds a zero-copy socket beside a
/// generic-mode program, and then ignores its doorbells.
bind_mode mode_of(const device& d) noexcept {
    if (d.arguments.mode != bind_mode::auto_) return d.arguments.mode;
    bpf_xdp_query_opts there{};
    there.sz = sizeof there;
    const bool generic = d.program ? d.program->attached_mode() == attach_mode::skb
                                   : bpf_xdp_query(static_cast<int>(d.ifindex), 0, &there) == 0 &&
                                         there.attach_mode == XDP_ATTACHED_SKB;
    return generic ? bind_mode::skb : bind_mode::auto_;
}

/// The kernel binds a socket to a queue that the interface has in one direction only, receives
/// nothing on a missing RX queue, and drops frames for a missing TX queue without an error.
result<void> check_queues(const rte_eth_dev* dev, const interface_state& now) {
    const device& d = device_of(dev);
    const auto has = [&d](uint32_t queues, uint32_t needed) {
        return needed == 0 || d.arguments.start_queue + needed <= queues;
    };
    const uint32_t rx = dev->data->nb_rx_queues, tx = dev->data->nb_tx_queues;
    if (has(now.rx_queues, rx) && has(now.tx_queues, tx)) return {};
    return fail(EINVAL, d.arguments.iface,
                "has " + std::to_string(now.rx_queues) + " RX and " +
                    std::to_string(now.tx_queues) + " TX queues; the port needs " +
                    std::to_string(rx) + " and " + std::to_string(tx) + " from queue " +
                    std::to_string(d.arguments.start_queue) + " on (ethtool -L)");
}

result<void> open_socket(rte_eth_dev* dev, uint16_t queue, const std::string& driver,
                         bool patient) {
    device& d = device_of(dev);
    rx_queue* rx = rx_of(dev, queue);
    tx_queue* tx = tx_of(dev, queue);
    const rx_queue::settings* settings = rx_settings_of(dev, queue);
    if (settings == nullptr)
        return fail(EINVAL, d.name, "has no RX queue: its TX UMEM is the RX queue's pool");
    if (rx != nullptr)
        if (auto good = check_frame_room(*rx, dev->data->mtu); !good) return good;
    const uint32_t kernel_queue = d.arguments.start_queue + queue;
    auto made = socket::open({.iface = d.arguments.iface,
                              .driver = driver,
                              .ifindex = d.ifindex,
                              .queue = kernel_queue,
                              .mode = mode_of(d),
                              .multi_buffer = settings->scatter,
                              .patient = patient,
                              .busy_budget = d.arguments.busy_budget,
                              .rx_entries = rx != nullptr ? rx->configured().size : 0,
                              .tx_entries = tx != nullptr ? tx->configured().size : 0,
                              .frames = settings->frames});
    if (!made) return tl::unexpected<error>(made.error());
    const socket& s = *d.sockets.emplace_back(std::move(*made));
    if (tx != nullptr) tx->attach(s, settings->frames, dev->data->dev_conf.txmode.offloads);
    if (rx == nullptr) return {};
    if (auto filled = rx->attach(s, tx); !filled) return filled;
    return put_into_map(d, kernel_queue, s.fd());
}

}  // namespace

result<void> check_frame_room(const rx_queue& rx, uint32_t mtu) {
    const rx_queue::settings& s = rx.configured();
    const uint32_t frame = vdev::longest_frame_bytes(mtu);
    if (s.scatter || frame <= s.frames.room()) return {};
    return fail(EINVAL, s.name,
                "a frame of " + std::to_string(frame) + " bytes (MTU " + std::to_string(mtu) +
                    " and two VLAN tags) does not fit a buffer of " +
                    std::to_string(s.frames.room()) +
                    "; with RTE_ETH_RX_OFFLOAD_SCATTER it takes several");
}

result<void> attach_program(device& d, const interface_state& now) {
    if (!now.ethernet) return fail(EINVAL, d.arguments.iface, "is not an Ethernet interface");
    if (!d.arguments.xskmap.empty()) {
        if (auto opened = open_map(d); !opened) return opened;
        d.ifindex = now.index;
        return {};
    }
    const attach_mode modes[] = {attach_mode::auto_, attach_mode::driver, attach_mode::driver,
                                 attach_mode::skb};
    auto made = program::attach(
        {.iface = d.arguments.iface,
         .ifindex = now.index,
         .mode = modes[static_cast<size_t>(d.arguments.mode)],
         .replace = d.arguments.replace,
         .keep = d.keep,
         .fragments = true,
         .max_queues = d.arguments.start_queue + std::max(d.rx_queues, d.tx_queues)});
    if (!made) return tl::unexpected<error>(made.error());
    d.program = std::move(*made);
    d.ifindex = now.index;
    return {};
}

void detach_program(device& d) noexcept {
    d.ifindex = 0;
    if (!d.program) return;
    d.past.add(count::filter_kept, d.program->kept_by_kernel().packets);
    if (auto done = d.program->detach(); !done)
        XSK_LOG(ERR, "%s: %s\n", d.name.c_str(), done.error().message().c_str());
    d.program.reset();
}

void leave_as_found(device& d) noexcept {
    // Its name may be another interface's by now, whose settings the driver did not change.
    const auto changed = d.interface.with_index(d.found.ifindex);
    if (!changed) return;
    const auto log = [&d](const result<void>& set) {
        if (!set) XSK_LOG(ERR, "%s: %s\n", d.name.c_str(), set.error().message().c_str());
    };
    if (d.found.mtu) log(changed->set_mtu(*d.found.mtu));
    if (d.found.mac) log(changed->set_mac(*d.found.mac));
}

void follow_interface(device& d, const interface_state& now) noexcept {
    if (d.found.ifindex == now.index) return;
    leave_as_found(d);
    d.found = {.ifindex = now.index};
}

/// rte_eth_dev_configure() calls no mtu_set for rxmode.mtu. Its default is 1500 on every interface: only a larger MTU is
/// surely the application's choice.
result<void> set_interface_mtu(rte_eth_dev* dev, const interface_state& now) {
    device& d = device_of(dev);
    const uint32_t mtu = dev->data->mtu;
    const bool raises = mtu > RTE_ETHER_MTU && mtu > now.mtu;
    if (now.mtu == mtu || !(d.sets_mtu || raises)) return {};
    follow_interface(d, now);
    if (auto set = d.interface.set_mtu(mtu); !set) return set;
    if (!d.found.mtu) d.found.mtu = now.mtu;
    return {};
}

result<void> set_again(rte_eth_dev* dev, const interface_state& now) {
    device& d = device_of(dev);
    follow_interface(d, now);
    if (auto set = set_interface_mtu(dev, now); !set) return set;
    // Set the port's MAC address at every start, as ethdev does, so that neighbours' caches stay
    // valid. A process without the permission continues without it.
    if (const packet::mac_address mac = vdev::to_mac(*dev->data->mac_addrs); now.mac != mac) {
        if (auto set = d.interface.set_mac(mac); set)
            d.found.mac = now.mac;
        else
            XSK_LOG(WARNING, "%s: cannot set the MAC address, frames to the port may be lost: %s\n",
                    d.name.c_str(), set.error().message().c_str());
    }
    return d.interface.receive(d.reception);
}

result<void> open_sockets(rte_eth_dev* dev, const interface_state& now, bool patient) {
    device& d = device_of(dev);
    if (auto there = check_queues(dev, now); !there) return there;
    attempt all([dev] { close_sockets(dev); });
    const std::string driver = d.interface.driver();
    const uint16_t n = std::max(dev->data->nb_rx_queues, dev->data->nb_tx_queues);
    for (uint16_t q = 0; q < n; ++q)
        if (auto opened = open_socket(dev, q, driver, patient); !opened) return opened;
    const bool zero_copy = std::all_of(d.sockets.begin(), d.sockets.end(),
                                       [](const auto& s) { return s->zero_copy(); });
    XSK_LOG(INFO, "%s: %s: %u queues from %u on, %s, program in %s mode, UMEM %s\n", d.name.c_str(),
            d.arguments.iface.c_str(), n, d.arguments.start_queue, zero_copy ? "zero-copy" : "copy",
            !d.program                                          ? "another's"
            : d.program->attached_mode() == attach_mode::driver ? "driver"
                                                                : "skb",
            d.sockets.front()->shares() ? "shared with another socket" : "its own");
    all.done();
    return {};
}

void close_sockets(rte_eth_dev* dev) noexcept {
    device& d = device_of(dev);
    const auto each_rx = [dev](const auto& action) {
        for (uint16_t q = 0; q < dev->data->nb_rx_queues; ++q)
            if (rx_queue* rx = rx_of(dev, q)) action(*rx);
    };
    const auto each_tx = [dev](const auto& action) {
        for (uint16_t q = 0; q < dev->data->nb_tx_queues; ++q)
            if (tx_queue* tx = tx_of(dev, q)) action(*tx);
    };
    remove_from_map(d);
    each_rx([](rx_queue& rx) { rx.shut(); });
    each_tx([](tx_queue& tx) {
        tx.shut();
        tx.drain();
    });
    for (const auto& s : d.sockets) d.past.add(s->kernel_statistics());
    d.sockets.clear();
    each_rx([](rx_queue& rx) { rx.detach(); });
    each_tx([](tx_queue& tx) { tx.detach(); });
}

}  // namespace turnpike::xsk
