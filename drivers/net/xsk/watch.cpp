// SPDX-License-Identifier: BSD-3-Clause
// Interface events while a port is started: the interface is removed, returns under its name, goes
// up or down, changes its MTU or its queues. EAL's interrupt thread polls it ten times a second, as
// does link_update().
#include <ethdev_driver.h>
#include <rte_alarm.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <system_error>

#include "attempt.hpp"
#include "device.hpp"

namespace turnpike::xsk {
namespace {

constexpr uint64_t period_us = 100'000;

/// Orders writes made before an alarm was set with the alarm's callback. EAL's own lock does so
/// already; this tells ThreadSanitizer, which cannot see EAL.
std::atomic<uint64_t> alarms{0};

void note_changes(rte_eth_dev* dev, const interface_state& now) {
    device& d = device_of(dev);
    if (now.mtu != d.seen_mtu && now.mtu > dev->data->mtu)
        XSK_LOG(WARNING, "%s: %s now has MTU %u, the port has %u: longer frames may be lost\n",
                d.name.c_str(), d.arguments.iface.c_str(), now.mtu, dev->data->mtu);
    if (now.rx_queues != d.seen_queues) {
        const uint32_t end = d.arguments.start_queue + dev->data->nb_rx_queues;
        if (now.rx_queues != end || d.arguments.start_queue != 0)
            XSK_LOG(WARNING,
                    "%s: %s receives on %u queues, the port on %u from %u on: traffic on the "
                    "other queues goes to the kernel\n",
                    d.name.c_str(), d.arguments.iface.c_str(), now.rx_queues,
                    dev->data->nb_rx_queues, d.arguments.start_queue);
    }
    d.seen_mtu = now.mtu;
    d.seen_queues = now.rx_queues;
}

/// The interface was removed, or another one took its name.
void release_vanished(rte_eth_dev* dev) {
    device& d = device_of(dev);
    XSK_LOG(ERR, "%s: interface %s is gone; the port waits for it to come back\n", d.name.c_str(),
            d.arguments.iface.c_str());
    close_sockets(dev);
    detach_program(d);
    d.complained = false;
    d.busy_looks = 0;
    d.failed_reopen = {};
}

result<void> reattach(rte_eth_dev* dev, const interface_state& now) {
    device& d = device_of(dev);
    if (auto same = d.interface.check_namespace(); !same) return same;
    if (auto attached = attach_program(d, now); !attached) return attached;
    if (auto set = set_again(dev, now); !set) return set;
    // EAL's interrupt thread serves other callbacks too, so do not wait: poll a busy queue again
    // later.
    return open_sockets(dev, now, false);
}

/// Log a failed reopen once; EBUSY only after the kernel had time to release the previous socket.
bool worth_saying(device& d, int code) noexcept {
    constexpr uint32_t looks_at_busy = 20;
    if (d.complained || (code == EBUSY && ++d.busy_looks < looks_at_busy)) return false;
    d.complained = true;
    return true;
}

/// Whether a reopen would find the same interface in the same state.
bool is_same(const interface_state& a, const interface_state& b) noexcept {
    return a.index == b.index && a.up == b.up && a.mtu == b.mtu && a.rx_queues == b.rx_queues &&
           a.tx_queues == b.tx_queues;
}

/// An attempt loads the BPF program and has RTNL several times, and link_update() may be called every few milliseconds: a busy
/// queue is retried ten times a second, and another failure at intervals that double, unless the interface is set up or
/// changed.
void defer_reopen(device& d, const interface_state& interface, int code,
                  std::chrono::steady_clock::time_point now) noexcept {
    constexpr std::chrono::milliseconds first{90};  // less than the watch's period
    constexpr std::chrono::milliseconds longest{5000};
    failed_reopen& f = d.failed_reopen;
    const bool repeats = is_same(f.interface, interface) && code != EBUSY;
    f.interval = repeats ? std::min(2 * f.interval, longest) : first;
    f.interface = interface;
    f.retry_at = now + f.interval;
}

void come_back(rte_eth_dev* dev, const interface_state& now) {
    device& d = device_of(dev);
    const auto begun = std::chrono::steady_clock::now();
    if (is_same(d.failed_reopen.interface, now) && begun < d.failed_reopen.retry_at) return;
    attempt coming([&d] { detach_program(d); });
    if (auto done = reattach(dev, now); !done) {
        defer_reopen(d, now, done.error().code, begun);
        if (worth_saying(d, done.error().code))
            XSK_LOG(ERR, "%s: interface %s is back, but: %s\n", d.name.c_str(),
                    d.arguments.iface.c_str(), done.error().message().c_str());
        return;
    }
    coming.done();
    d.complained = false;
    d.failed_reopen = {};
    XSK_LOG(NOTICE, "%s: interface %s is back\n", d.name.c_str(), d.arguments.iface.c_str());
}

/// Log failures that workers met; workers do not log.
void log_failures(rte_eth_dev* dev) {
    const device& d = device_of(dev);
    for (uint16_t q = 0; q < dev->data->nb_tx_queues; ++q)
        if (tx_queue* tx = tx_of(dev, q))
            if (const int code = tx->unsaid_failure(); code != 0)
                XSK_LOG(ERR,
                        "%s: queue %u: the kernel refuses to send: %s (tx_failed_calls counts)\n",
                        d.name.c_str(), q, std::generic_category().message(code).c_str());
}

/// The interface in the kernel, which answers under its RTNL lock. Any program can hold that for seconds, so it is asked
/// without the mutex, which statistics need, too.
struct observed {
    interface_state state;
    interface_speed speed{};
};

observed observe(const device& d) noexcept {
    observed o{d.interface.state_now()};
    if (o.state.running) o.speed = d.interface.speed();
    return o;
}

/// The caller holds the mutex. Returns the interface's state.
interface_state follow(rte_eth_dev* dev, const interface_state& now) {
    device& d = device_of(dev);
    if (!d.started) return now;
    if (d.ifindex != 0 && now.index != d.ifindex) release_vanished(dev);
    if (d.ifindex == 0 && now.index != 0) come_back(dev, now);
    if (d.ifindex == 0) return {};
    if (d.program && !d.program->still_attached() && !d.complained) {
        XSK_LOG(
            ERR,
            "%s: the XDP program on %s was detached: the port receives nothing until it restarts\n",
            d.name.c_str(), d.arguments.iface.c_str());
        d.complained = true;
    }
    note_changes(dev, now);
    log_failures(dev);
    // Fallback for a deferred doorbell after both the RX and the TX queue stopped polling, and for
    // frames that waited for the link.
    for (uint16_t q = 0; q < dev->data->nb_tx_queues; ++q)
        if (tx_queue* tx = tx_of(dev, q); tx != nullptr && tx->any_left()) tx->ring_left();
    return now;
}

void set_link(rte_eth_dev* dev, const interface_state& now, const interface_speed& speed) noexcept {
    rte_eth_link link{};
    link.link_speed = RTE_ETH_SPEED_NUM_UNKNOWN;
    link.link_duplex = RTE_ETH_LINK_FULL_DUPLEX;
    link.link_autoneg = RTE_ETH_LINK_AUTONEG;
    const device& d = device_of(dev);
    link.link_status = d.started && now.running ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN;
    if (link.link_status == RTE_ETH_LINK_UP) {
        if (speed.mbps != 0) link.link_speed = speed.mbps;
        link.link_duplex = speed.full_duplex ? RTE_ETH_LINK_FULL_DUPLEX : RTE_ETH_LINK_HALF_DUPLEX;
    }
    rte_eth_linkstatus_set(dev, &link);
}

/// Another thread may have followed a later state meanwhile: of another interface by the name.
void update(rte_eth_dev* dev) {
    device& d = device_of(dev);
    const observed now = observe(d);
    const std::lock_guard lock(d.mutex);
    if (d.interface.index_now() == now.state.index)
        set_link(dev, follow(dev, now.state), now.speed);
}

void watch(void* argument) noexcept {
    auto* dev = static_cast<rte_eth_dev*>(argument);
    (void)alarms.load(std::memory_order_acquire);
    try {
        update(dev);
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
        update(dev);
        return 0;
    } catch (const std::exception&) {
        return -ENOMEM;
    }
}

}  // namespace turnpike::xsk
