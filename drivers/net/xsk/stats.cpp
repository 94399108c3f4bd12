// SPDX-License-Identifier: BSD-3-Clause
#include <ethdev_driver.h>

#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

#include "device.hpp"
#include "vdev_port.hpp"

namespace turnpike::xsk {

void totals::add(const rx_queue& q) noexcept {
    add(count::rx_packets, q.packets.read());
    add(count::rx_bytes, q.bytes.read());
    add(count::rx_no_buffer, q.no_buffer.read());
    add(count::rx_system_calls, q.system_calls.read());
    add(count::rx_wakeups, q.wakeups.read());
    add(count::rx_starved, q.starved.read());
    add(count::rx_invalid, q.invalid.read());
}

void totals::add(const tx_queue& q) noexcept {
    add(count::tx_packets, q.packets.read());
    add(count::tx_bytes, q.bytes.read());
    add(count::tx_system_calls, q.system_calls());
    add(count::tx_failed_calls, q.failed_calls());
    add(count::tx_wakeups, q.wakeups.read());
    add(count::tx_descriptors, q.descriptors.read());
    add(count::tx_copied, q.copied.read());
    add(count::tx_no_buffer, q.no_buffer.read());
    add(count::tx_refused, q.refused.read());
    add(count::tx_invalid, q.invalid.read());
}

void totals::add(const xdp_statistics& k) noexcept {
    add(count::kernel_rx_dropped, k.rx_dropped);
    add(count::kernel_rx_invalid_descs, k.rx_invalid_descs);
    add(count::kernel_tx_invalid_descs, k.tx_invalid_descs);
    add(count::kernel_rx_ring_full, k.rx_ring_full);
    add(count::kernel_rx_fill_ring_empty, k.rx_fill_ring_empty_descs);
    add(count::kernel_tx_ring_empty, k.tx_ring_empty_descs);
}

totals totals::since(const totals& base) const noexcept {
    totals out;
    for (size_t i = 0; i < all_counts; ++i) out.values_[i] = values_[i] - base.values_[i];
    if (const uint64_t doorbells = out[count::tx_system_calls]; doorbells != 0)
        out.add(count::tx_descriptors_per_doorbell, out[count::tx_descriptors] / doorbells);
    return out;
}

namespace {

/// The caller holds the mutex.
totals now(rte_eth_dev* dev) {
    const device& d = device_of(dev);
    totals t = d.past;
    for (uint16_t q = 0; q < dev->data->nb_rx_queues; ++q)
        if (const rx_queue* rx = rx_of(dev, q)) t.add(*rx);
    for (uint16_t q = 0; q < dev->data->nb_tx_queues; ++q)
        if (const tx_queue* tx = tx_of(dev, q)) t.add(*tx);
    for (const auto& s : d.sockets) t.add(s->kernel_statistics());
    if (d.program) t.add(count::filter_kept, d.program->kept_by_kernel().packets);
    return t;
}

/// Counters of the current queues; released queues appear only in the totals. The caller holds the mutex.
void read_queues(const rte_eth_dev* dev, ethdev::port_stats& into) {
    for (uint16_t q = 0; q < RTE_ETHDEV_QUEUE_STAT_CNTRS; ++q) {
        if (const rx_queue* rx = rx_of(dev, q)) {
            into.q_ipackets[q] = rx->packets.read();
            into.q_ibytes[q] = rx->bytes.read();
        }
        if (const tx_queue* tx = tx_of(dev, q)) {
            into.q_opackets[q] = tx->packets.read();
            into.q_obytes[q] = tx->bytes.read();
        }
    }
}

/// The watch holds the mutex while it opens or closes the interface, and the kernel's RTNL lock may keep it waiting for seconds:
/// the answer has the counters of the last call then. An application's control thread may read them every second.
template <class Counters, class Read>
Counters read_or_last(device& d, Counters& last, const Read& read) {
    // no timed_mutex: its clock of GCC 12 is one that ThreadSanitizer of clang 14 does not know
    constexpr std::chrono::microseconds pause{100};
    std::unique_lock lock(d.mutex, std::try_to_lock);
    for (int tries = 0; tries < 20 && !lock.owns_lock(); ++tries) {
        std::this_thread::sleep_for(pause);
        (void)lock.try_lock();
    }
    const std::lock_guard hold(d.last_counters_mutex);
    if (lock.owns_lock()) last = read();
    return last;
}

/// The caller holds the mutex.
void reset(rte_eth_dev* dev) {
    device& d = device_of(dev);
    d.stats_base = now(dev);
    read_queues(dev, d.queues_base);
    const std::lock_guard hold(d.last_counters_mutex);
    d.last_stats = {};
}

constexpr int xstats_count = static_cast<int>(all_counts - first_xstat);

}  // namespace

int stats_get(rte_eth_dev* dev, ethdev::port_stats* stats) noexcept {
    return vdev::guarded([&] {
        device& d = device_of(dev);
        *stats = read_or_last(d, d.last_stats, [&] {
            const totals t = now(dev).since(d.stats_base);
            ethdev::port_stats out{};
            out.ipackets = t[count::rx_packets];
            out.ibytes = t[count::rx_bytes];
            out.opackets = t[count::tx_packets];
            out.obytes = t[count::tx_bytes];
            out.rx_nombuf = t[count::rx_no_buffer];
            // Linux counts a frame without a buffer both as dropped and as an empty fill ring.
            out.imissed = t[count::kernel_rx_dropped] + t[count::kernel_rx_ring_full];
            out.ierrors = t[count::kernel_rx_invalid_descs] + t[count::rx_invalid];
            out.oerrors = t[count::kernel_tx_invalid_descs] + t[count::tx_refused];
            ethdev::port_stats each{};
            read_queues(dev, each);
            const ethdev::port_stats& base = d.queues_base;
            for (uint16_t q = 0; q < RTE_ETHDEV_QUEUE_STAT_CNTRS; ++q) {
                out.q_ipackets[q] = each.q_ipackets[q] - base.q_ipackets[q];
                out.q_ibytes[q] = each.q_ibytes[q] - base.q_ibytes[q];
                out.q_opackets[q] = each.q_opackets[q] - base.q_opackets[q];
                out.q_obytes[q] = each.q_obytes[q] - base.q_obytes[q];
            }
            return out;
        });
        return 0;
    });
}

int stats_reset(rte_eth_dev* dev) noexcept {
    return vdev::guarded([&] {
        const std::lock_guard lock(device_of(dev).mutex);
        reset(dev);
        return 0;
    });
}

int xstats_get(rte_eth_dev* dev, rte_eth_xstat* xstats, unsigned n) noexcept {
    return vdev::guarded([&] {
        if (xstats == nullptr || n < unsigned{xstats_count}) return xstats_count;
        device& d = device_of(dev);
        const totals t =
            read_or_last(d, d.last_xstats, [&] { return now(dev).since(d.xstats_base); });
        for (size_t i = first_xstat; i < all_counts; ++i)
            xstats[i - first_xstat] = {i - first_xstat, t.at(i)};
        return xstats_count;
    });
}

int xstats_get_names(rte_eth_dev*, rte_eth_xstat_name* names, unsigned n) noexcept {
    if (names == nullptr || n < unsigned{xstats_count}) return xstats_count;
    for (size_t i = first_xstat; i < all_counts; ++i)
        std::snprintf(names[i - first_xstat].name, sizeof names->name, "%s",
                      std::string(count_names[i]).c_str());
    return xstats_count;
}

int xstats_reset(rte_eth_dev* dev) noexcept {
    return vdev::guarded([&] {
        const std::lock_guard lock(device_of(dev).mutex);
        device& d = device_of(dev);
        d.xstats_base = now(dev);
        reset(dev);
        const std::lock_guard hold(d.last_counters_mutex);
        d.last_xstats = {};
        return 0;
    });
}

}  // namespace turnpike::xsk
