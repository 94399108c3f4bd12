// SPDX-License-Identifier: BSD-3-Clause
#include "observe/port_totals.hpp"

#include <numeric>

namespace turnpike::observe {
namespace {

void add_load(port_load& to, const counters::size_samples& from, uint64_t bursts) noexcept {
    for (size_t i = 0; i < to.sizes.size(); ++i) {
        to.sizes[i].packets += from.read()[i].packets.read();
        to.sizes[i].bytes += from.read()[i].bytes.read();
    }
    to.bursts += bursts;
}

void add_load(port_load& to, const port_load& from, const port_load& since) noexcept {
    for (size_t i = 0; i < to.sizes.size(); ++i) {
        to.sizes[i].packets += from.sizes[i].packets - since.sizes[i].packets;
        to.sizes[i].bytes += from.sizes[i].bytes - since.sizes[i].bytes;
    }
    to.bursts += from.bursts - since.bursts;
}

}  // namespace

void port_totals::add(const counters::port_counters& from) noexcept {
    rx_packets += from.rx_packets.read();
    tx_packets += from.tx_packets.read();
    rx_bytes += from.rx_bytes.read();
    tx_bytes += from.tx_bytes.read();
    originated += from.originated.read();
    consumed += from.consumed.read();
    for (size_t i = 0; i < drops.size(); ++i) {
        drops[i] += from.drops[i].read();
        drop_bytes[i] += from.drop_bytes[i].read();
    }
    add_load(rx_load, from.rx_sizes, from.rx_bursts.read());
    add_load(tx_load, from.tx_sizes, from.tx_bursts.read());
}

void port_totals::add(const port_totals& from, const port_totals& since) noexcept {
    rx_packets += from.rx_packets - since.rx_packets;
    tx_packets += from.tx_packets - since.tx_packets;
    rx_bytes += from.rx_bytes - since.rx_bytes;
    tx_bytes += from.tx_bytes - since.tx_bytes;
    originated += from.originated - since.originated;
    consumed += from.consumed - since.consumed;
    for (size_t i = 0; i < drops.size(); ++i) {
        drops[i] += from.drops[i] - since.drops[i];
        drop_bytes[i] += from.drop_bytes[i] - since.drop_bytes[i];
    }
    add_load(rx_load, from.rx_load, since.rx_load);
    add_load(tx_load, from.tx_load, since.tx_load);
}

uint64_t port_totals::all_drops() const noexcept {
    return std::accumulate(drops.begin(), drops.end(), uint64_t{0});
}

}  // namespace turnpike::observe
