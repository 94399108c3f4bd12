// SPDX-License-Identifier: BSD-3-Clause
#include <ethdev_driver.h>

#include <algorithm>
#include <cstdio>

#include "device.hpp"
#include "vdev_port.hpp"

namespace turnpike::simnic {
namespace {

uint64_t doorbells(rte_eth_dev* dev) noexcept {
    uint64_t sum = device_of(dev).past_doorbells;
    for (uint16_t q = 0; q < dev->data->nb_rx_queues; ++q)
        if (auto* rx = static_cast<rx_queue*>(dev->data->rx_queues[q]))
            sum += rx->tail().writes.read();
    for (uint16_t q = 0; q < dev->data->nb_tx_queues; ++q)
        if (auto* tx = static_cast<tx_queue*>(dev->data->tx_queues[q]))
            sum += tx->tail().writes.read();
    return sum;
}

/// Append lines, TLPs and bytes of one set of transactions, under `prefix`.
void append(std::vector<named_count>& to, const std::string& prefix, const pcie::transactions& t) {
    const std::pair<const char*, uint64_t> all[] = {
        {"lines_rd_cur", t.lines.rd_cur}, {"lines_itom", t.lines.itom}, {"lines_rfo", t.lines.rfo},
        {"lines_wil", t.lines.wil},       {"lines_prd", t.lines.prd},   {"tlps_mrd", t.tlps.mrd},
        {"tlps_mwr", t.tlps.mwr},         {"tlps_cpld", t.tlps.cpld},   {"bytes_up", t.bytes.up},
        {"bytes_down", t.bytes.down}};
    for (const auto& [name, value] : all) to.push_back({prefix + name, value});
}

void append_pcie(std::vector<named_count>& to, rte_eth_dev* dev) {
    const pcie_bill bill = device_of(dev).nic->pcie_bus().count().read(doorbells(dev));
    pcie::transactions total;
    for (const pcie::transactions& part : bill) total += part;
    append(to, "pcie_", total);
    // A polled Intel-style ring has no register reads and no interrupts.
    for (size_t p = 0; p < bill.size(); ++p)
        if (pcie::purpose(p) != pcie::purpose::register_reads &&
            pcie::purpose(p) != pcie::purpose::interrupts)
            append(to, "pcie_" + std::string(pcie::purpose_names[p]) + "_", bill[p]);
}

struct refusals {
    uint64_t segmentation, length;
};

refusals refused(const rte_eth_dev* dev) noexcept {
    const device& d = device_of(dev);
    refusals all{d.past_refused_segmentation, d.past_refused_length};
    for (uint16_t q = 0; q < dev->data->nb_tx_queues; ++q)
        if (const auto* tx = static_cast<const tx_queue*>(dev->data->tx_queues[q])) {
            all.segmentation += tx->refused_segmentation.read();
            all.length += tx->refused_length.read();
        }
    return all;
}

/// The names and their order never change.
std::vector<named_count> all_counts(rte_eth_dev* dev) {
    engine& nic = *device_of(dev).nic;
    std::vector<named_count> all{{"engine_cycles", nic.cycles.read()},
                                 {"engine_polls", nic.polls.read()},
                                 {"rx_filtered", nic.filtered.read()}};
    uint64_t bad_descriptors = 0, bad_tails = 0;
    for (uint16_t q = 0; q < nic.rx_queues(); ++q) bad_tails += nic.rx(q).bad_tail.read();
    for (uint16_t q = 0; q < nic.tx_queues(); ++q) {
        bad_tails += nic.tx(q).bad_tail.read();
        bad_descriptors += nic.tx(q).bad_descriptors.read();
    }
    all.push_back({"fault_translation", nic.pcie_bus().faults()});
    all.push_back({"fault_descriptor", bad_descriptors});
    all.push_back({"fault_tail", bad_tails});
    const refusals frames = refused(dev);
    all.push_back({"tx_refused_segmentation", frames.segmentation});
    all.push_back({"tx_refused_length", frames.length});
    all.push_back({"link_tx_lost", nic.link_tx_lost.read()});
    append_pcie(all, dev);
    std::array<wire_count, max_wire_counts> of_wire;
    const size_t n = nic.line().counts(of_wire);
    for (const wire_count& c : std::span(of_wire).first(n)) {
        // A flapping wire counts its losses itself; add them.
        const auto same =
            std::ranges::find(all, c.name, [](const named_count& x) { return x.name; });
        if (same == all.end())
            all.push_back({std::string(c.name), c.value});
        else
            same->value += c.value;
    }
    return all;
}

ethdev::port_stats absolute(rte_eth_dev* dev) noexcept {
    engine& nic = *device_of(dev).nic;
    ethdev::port_stats s{};
    for (uint16_t q = 0; q < nic.rx_queues(); ++q) {
        const rx_ring& ring = nic.rx(q);
        s.ipackets += ring.packets.read();
        s.ibytes += ring.bytes.read();
        s.ierrors += ring.errors.read();
        if (q < RTE_ETHDEV_QUEUE_STAT_CNTRS) {
            s.q_ipackets[q] = ring.packets.read();
            s.q_ibytes[q] = ring.bytes.read();
            s.q_errors[q] = ring.errors.read();
        }
    }
    for (uint16_t q = 0; q < nic.tx_queues(); ++q) {
        const tx_ring& ring = nic.tx(q);
        s.opackets += ring.packets.read();
        s.obytes += ring.bytes.read();
        s.oerrors += ring.errors.read();
        if (q < RTE_ETHDEV_QUEUE_STAT_CNTRS) {
            s.q_opackets[q] = ring.packets.read();
            s.q_obytes[q] = ring.bytes.read();
        }
    }
    const refusals frames = refused(dev);
    s.oerrors += frames.segmentation + frames.length;
    s.imissed = nic.missed.read();
    s.rx_nombuf = device_of(dev).past_no_buffer;
    for (uint16_t q = 0; q < dev->data->nb_rx_queues; ++q)
        if (auto* rx = static_cast<rx_queue*>(dev->data->rx_queues[q]))
            s.rx_nombuf += rx->no_buffer.read();
    return s;
}

}  // namespace

int stats_get(rte_eth_dev* dev, ethdev::port_stats* stats) noexcept {
    const std::lock_guard lock(device_of(dev).mutex);
    const ethdev::port_stats now = absolute(dev), &base = device_of(dev).stats_base;
    stats->ipackets = now.ipackets - base.ipackets;
    stats->opackets = now.opackets - base.opackets;
    stats->ibytes = now.ibytes - base.ibytes;
    stats->obytes = now.obytes - base.obytes;
    stats->imissed = now.imissed - base.imissed;
    stats->ierrors = now.ierrors - base.ierrors;
    stats->oerrors = now.oerrors - base.oerrors;
    stats->rx_nombuf = now.rx_nombuf - base.rx_nombuf;
    for (uint16_t q = 0; q < RTE_ETHDEV_QUEUE_STAT_CNTRS; ++q) {
        stats->q_ipackets[q] = now.q_ipackets[q] - base.q_ipackets[q];
        stats->q_opackets[q] = now.q_opackets[q] - base.q_opackets[q];
        stats->q_ibytes[q] = now.q_ibytes[q] - base.q_ibytes[q];
        stats->q_obytes[q] = now.q_obytes[q] - base.q_obytes[q];
        stats->q_errors[q] = now.q_errors[q] - base.q_errors[q];
    }
    return 0;
}

int stats_reset(rte_eth_dev* dev) noexcept {
    const std::lock_guard lock(device_of(dev).mutex);
    device_of(dev).stats_base = absolute(dev);
    return 0;
}

int xstats_get(rte_eth_dev* dev, rte_eth_xstat* xstats, unsigned n) noexcept {
    return vdev::guarded([&] {
        const std::lock_guard lock(device_of(dev).mutex);
        const auto all = all_counts(dev);
        const auto& base = device_of(dev).xstats_base;
        if (xstats == nullptr || n < all.size()) return static_cast<int>(all.size());
        for (size_t i = 0; i < all.size(); ++i) {
            // A counter may fall below its base: gen_lost, when frames arrive late.
            const uint64_t from = i < base.size() ? base[i] : 0;
            xstats[i] = {i, all[i].value - std::min(all[i].value, from)};
        }
        return static_cast<int>(all.size());
    });
}

int xstats_get_names(rte_eth_dev* dev, rte_eth_xstat_name* names, unsigned n) noexcept {
    return vdev::guarded([&] {
        const std::lock_guard lock(device_of(dev).mutex);
        const auto all = all_counts(dev);
        if (names == nullptr || n < all.size()) return static_cast<int>(all.size());
        for (size_t i = 0; i < all.size(); ++i)
            std::snprintf(names[i].name, sizeof names[i].name, "%s", all[i].name.c_str());
        return static_cast<int>(all.size());
    });
}

int xstats_reset(rte_eth_dev* dev) noexcept {
    return vdev::guarded([&] {
        const std::lock_guard lock(device_of(dev).mutex);
        auto& base = device_of(dev).xstats_base;
        base.clear();
        for (const named_count& c : all_counts(dev)) base.push_back(c.value);
        device_of(dev).stats_base = absolute(dev);
        return 0;
    });
}

}  // namespace turnpike::simnic
