// SPDX-License-Identifier: BSD-3-Clause
// What happens to an interface while its port is started: it goes, comes back under its name, goes up and
// down, changes its MTU or its queues. Looked at ten times a second by EAL's interrupt thread, and when
// link_update() is called.
#include <ethdev_driver.h>
#include <rte_alarm.h>

#include <atomic>
#include <exception>
#include <system_error>

#include "attempt.hpp"
#include "device.hpp"

namespace turnpike::xsk {
namespace {

constexpr uint64_t period_us = 100'000;

/// What was written before an alarm was set is seen in it. EAL's own lock does that; this says it to
/// ThreadSanitizer, which does not see EAL.
std::atomic<uint64_t> alarms{0};

void note_changes(rte_eth_dev* dev, const interface_state& now) {
    device& d = device_of(dev);
    if (now.mtu != d.seen_mtu && now.mtu > dev->data->mtu)
        XSK_LOG(WARNING, "%s: %s has MTU %u now, the port %u: longer frames may be lost\n",
                d.name.c_str(), d.arguments.iface.c_str(), now.mtu, dev->data->mtu);
    if (now.rx_queues != d.seen_queues) {
        const uint32_t end = d.arguments.start_queue + dev->data->nb_rx_queues;
        if (now.rx_queues != end || d.arguments.start_queue != 0)
            XSK_LOG(WARNING,
                    "%s: %s receives on %u queues, the port on %u from %u on: what arrives on the "
                    "others stays with the kernel\n",
                    d.name.c_str(), d.arguments.iface.c_str(), now.rx_queues,
                    dev->data->nb_rx_queues, d.arguments.start_queue);
    }
    d.seen_mtu = now.mtu;
    d.seen_queues = now.rx_queues;
}

/// It is gone, or another of its name has taken its place.
void let_go(rte_eth_dev* dev) {
    device& d = device_of(dev);
    XSK_LOG(ERR, "%s: interface %s is gone; the port waits for it to come back\n", d.name.c_str(),
            d.arguments.iface.c_str());
    close_sockets(dev);
    detach_program(d);
    d.complained = false;
    d.busy_looks = 0;
}

result<void> take_up(rte_eth_dev* dev, const interface_state& now) {
    device& d = device_of(dev);
    if (auto attached = attach_program(d, now.index); !attached) return attached;
    if (auto set = set_again(dev, now); !set) return set;
    // This is EAL's interrupt thread, which others want too: a queue that is taken is looked at again.
    return open_sockets(dev, false);
}

/// Whether it is to be said: once, and of a queue that is taken only when the kernel has had its time to see
/// that the last socket is gone.
bool worth_saying(device& d, int code) noexcept {
    constexpr uint32_t looks_at_busy = 20;
    if (d.complained || (code == EBUSY && ++d.busy_looks < looks_at_busy)) return false;
    d.complained = true;
    return true;
}

void come_back(rte_eth_dev* dev, const interface_state& now) {
    device& d = device_of(dev);
    attempt coming([&d] { detach_program(d); });
    if (auto done = take_up(dev, now); !done) {
        if (worth_saying(d, done.error().code))
            XSK_LOG(ERR, "%s: interface %s is there again, but: %s\n", d.name.c_str(),
                    d.arguments.iface.c_str(), done.error().message().c_str());
        return;
    }
    coming.done();
    d.complained = false;
    XSK_LOG(NOTICE, "%s: interface %s is back\n", d.name.c_str(), d.arguments.iface.c_str());
}

/// What workers met, who do not log.
void say_failures(rte_eth_dev* dev) {
    const device& d = device_of(dev);
    for (uint16_t q = 0; q < dev->data->nb_tx_queues; ++q)
        if (tx_queue* tx = tx_of(dev, q))
            if (const int code = tx->unsaid_failure(); code != 0)
                XSK_LOG(ERR,
                        "%s: queue %u: the kernel refuses to send: %s (tx_failed_calls counts)\n",
                        d.name.c_str(), q, std::generic_category().message(code).c_str());
}

/// The mutex is held. Returns what the link is.
interface_state look(rte_eth_dev* dev) {
    device& d = device_of(dev);
    const interface_state now = d.interface.look();
    if (!d.started) return now;
    if (d.ifindex != 0 && now.index != d.ifindex) let_go(dev);
    if (d.ifindex == 0 && now.index != 0) come_back(dev, now);
    if (d.ifindex == 0) return {};
    if (d.program && !d.program->still_attached() && !d.complained) {
        XSK_LOG(
            ERR,
            "%s: somebody took the program off %s: nothing is received until the port restarts\n",
            d.name.c_str(), d.arguments.iface.c_str());
        d.complained = true;
    }
    note_changes(dev, now);
    say_failures(dev);
    // The last resort of a doorbell that was left, where both sides stopped polling; and of what has
    // waited for the link.
    for (uint16_t q = 0; q < dev->data->nb_tx_queues; ++q)
        if (tx_queue* tx = tx_of(dev, q); tx != nullptr && tx->any_left()) tx->ring_left();
    return now;
}

void set_link(rte_eth_dev* dev, const interface_state& now) noexcept {
    rte_eth_link link{};
    link.link_speed = RTE_ETH_SPEED_NUM_UNKNOWN;
    link.link_duplex = RTE_ETH_LINK_FULL_DUPLEX;
    link.link_autoneg = RTE_ETH_LINK_AUTONEG;
    const device& d = device_of(dev);
    link.link_status = d.started && now.running ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN;
    if (link.link_status == RTE_ETH_LINK_UP) {
        const interface_speed speed = d.interface.speed();
        if (speed.mbps != 0) link.link_speed = speed.mbps;
        link.link_duplex = speed.full_duplex ? RTE_ETH_LINK_FULL_DUPLEX : RTE_ETH_LINK_HALF_DUPLEX;
    }
    rte_eth_linkstatus_set(dev, &link);
}

void watch(void* argument) noexcept {
    auto* dev = static_cast<rte_eth_dev*>(argument);
    (void)alarms.load(std::memory_order_acquire);
    try {
        const std::lock_guard lock(device_of(dev).mutex);
        set_link(dev, look(dev));
    } catch (const std::exception& e) {
        XSK_LOG(ERR, "%s: %s\n", device_of(dev).name.c_str(), e.what());
    }
    rte_eal_alarm_set(period_us, watch, dev);
}

}  // namespace

void start_watch(rte_eth_dev* dev) noexcept {
    alarms.fetch_add(1, std::memory_order_release);
    rte_eal_alarm_set(period_us, watch, dev);
}

void stop_watch(rte_eth_dev* dev) noexcept { rte_eal_alarm_cancel(watch, dev); }

int link_update(rte_eth_dev* dev, int) noexcept {
    try {
        const std::lock_guard lock(device_of(dev).mutex);
        set_link(dev, look(dev));
        return 0;
    } catch (const std::exception&) {
        return -ENOMEM;
    }
}

}  // namespace turnpike::xsk
