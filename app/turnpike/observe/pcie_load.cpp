// SPDX-License-Identifier: BSD-3-Clause
#include "observe/pcie_load.hpp"

#include <algorithm>
#include <cmath>

namespace turnpike::observe {
namespace {

constexpr uint32_t fcs_bytes = 4;       // the model counts frames with FCS, an mbuf has none
constexpr uint32_t register_bytes = 4;  // as the model's reads and most drivers' doorbells

/// The sampled frame sizes, if their mean is that of all packets: samples of few bursts, or of an earlier mix, are
/// not representative. Otherwise the mean size: transactions are nearly linear in bytes.
pcie::load load_of(const port_load& from, uint64_t packets, uint64_t bytes) {
    constexpr double tolerance = 0.1;
    pcie::load load;
    if (packets == 0) return load;
    const double mean = static_cast<double>(bytes) / static_cast<double>(packets);
    uint64_t sampled = 0, sampled_bytes = 0;
    for (const auto& size : from.sizes) {
        if (size.packets == 0) continue;
        sampled += size.packets;
        sampled_bytes += size.bytes;
        load.frames.push_back({static_cast<uint32_t>(size.bytes / size.packets) + fcs_bytes,
                               static_cast<double>(size.packets)});
    }
    if (sampled == 0 || std::abs(static_cast<double>(sampled_bytes) / static_cast<double>(sampled) -
                                 mean) > tolerance * mean)
        load.frames = {{static_cast<uint32_t>(std::lround(mean)) + fcs_bytes, 1.0}};
    load.burst =
        from.bursts == 0
            ? 1.0
            : std::max(1.0, static_cast<double>(packets) / static_cast<double>(from.bursts));
    return load;
}

/// The mean bytes of a TLP; `largest` where the model has none.
double mean_bytes(double bytes, double tlps, double largest) noexcept {
    return bytes > 0 && tlps > 0 ? bytes / tlps : largest;
}

}  // namespace

pcie_payload pcie_payload::since(const pcie_payload& then) const noexcept {
    const auto grown = [](double now, double before) { return std::max(0.0, now - before); };
    return {grown(seconds, then.seconds), grown(read_bytes, then.read_bytes),
            grown(written_bytes, then.written_bytes), grown(register_reads, then.register_reads),
            grown(register_writes, then.register_writes)};
}

result<pcie::bill> bill_of(const port_totals& traffic, const pcie::nic_profile& profile,
                           const pcie::link& link) {
    pcie::load rx = load_of(traffic.rx_load, traffic.rx_packets, traffic.rx_bytes);
    pcie::load tx = load_of(traffic.tx_load, traffic.tx_packets, traffic.tx_bytes);
    if (rx.frames.empty() && tx.frames.empty()) return fail(ENODATA, "", "no packets, no cost");
    if (rx.frames.empty()) rx = tx;
    if (tx.frames.empty()) tx = rx;
    return pcie::cost(profile, link, rx, tx);
}

tlp_bytes modelled_tlps(const port_totals& traffic, const pcie::bill& by) noexcept {
    const auto sum = by.combined(static_cast<double>(traffic.rx_packets),
                                 static_cast<double>(traffic.tx_packets))
                         .total();
    return {sum.bytes.up, sum.bytes.down};
}

std::optional<tlp_bytes> counted_tlps(const std::map<std::string, uint64_t>& now,
                                      const std::map<std::string, uint64_t>& then) {
    const auto grown = [&](const char* name) -> std::optional<double> {
        const auto at = now.find(name), was = then.find(name);
        if (at == now.end()) return {};
        const uint64_t before = was == then.end() ? 0 : was->second;
        return static_cast<double>(at->second - std::min(at->second, before));
    };
    const auto up = grown("pcie_bytes_up"), down = grown("pcie_bytes_down");
    if (!up || !down) return {};
    return tlp_bytes{*up, *down};
}

tlp_bytes measured_tlps(const pcie_payload& moved, const pcie::link& link,
                        const port_totals& traffic, const pcie::bill* by) noexcept {
    pcie::transactions_per_packet dma;  // without registers and interrupts, which also are TLPs
    if (by != nullptr) {
        const auto sum = by->combined(static_cast<double>(traffic.rx_packets),
                                      static_cast<double>(traffic.tx_packets));
        for (size_t i = 0; i < static_cast<size_t>(pcie::purpose::doorbells); ++i)
            dma += sum.by_purpose[i];
        // The payload of another function of the device has TLPs of other sizes.
        if (2 * (dma.dma.read + dma.dma.written) < moved.read_bytes + moved.written_bytes) dma = {};
    }
    const double request = request_overhead_bytes(link),
                 completion = completion_overhead_bytes(link);
    const double writes = moved.written_bytes / mean_bytes(dma.dma.written, dma.tlps.mwr, link.mps);
    const double reads = moved.read_bytes / mean_bytes(dma.dma.read, dma.tlps.mrd, link.mrrs);
    const double completions =
        moved.read_bytes / mean_bytes(dma.dma.read, dma.tlps.cpld, std::min(link.mps, link.mrrs));
    return {moved.written_bytes + (writes + reads) * request +
                moved.register_reads * (completion + register_bytes),
            moved.read_bytes + completions * completion +
                moved.register_writes * (request + register_bytes) +
                moved.register_reads * request};
}

}  // namespace turnpike::observe
