// SPDX-License-Identifier: BSD-3-Clause
// Packets and bytes in both directions, of an interface or a tunnel.
#pragma once

#include <cstdint>

namespace turnpike::observe {

struct traffic {
    uint64_t rx_packets = 0, rx_bytes = 0, tx_packets = 0, tx_bytes = 0;

    void add(const traffic& more) noexcept {
        rx_packets += more.rx_packets;
        rx_bytes += more.rx_bytes;
        tx_packets += more.tx_packets;
        tx_bytes += more.tx_bytes;
    }
    /// Counters  of a worker, with the same members, of type counters::counter
    template <class Counters>
    [[nodiscard]] static traffic read(const Counters& from) noexcept {
        return {from.rx_packets.read(), from.rx_bytes.read(), from.tx_packets.read(),
                from.tx_bytes.read()};
    }
    /// The increase since an earlier reading.
    [[nodiscard]] traffic since(const traffic& earlier) const noexcept {
        return {rx_packets - earlier.rx_packets, rx_bytes - earlier.rx_bytes,
                tx_packets - earlier.tx_packets, tx_bytes - earlier.tx_bytes};
    }
    bool operator==(const traffic&) const = default;
};

/// With the life of the counters (report.hpp).
struct counted_traffic {
    traffic total{};
    uint64_t life = 0;
};

}  // namespace turnpike::observe
