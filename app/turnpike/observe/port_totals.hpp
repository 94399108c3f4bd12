// SPDX-License-Identifier: BSD-3-Clause
// Packet counters of one port, summed over all workers and the control thread.
#pragma once

#include <array>
#include <cstdint>

#include "counters/port_counters.hpp"
#include "datapath/drop_reason.hpp"

namespace turnpike::observe {

/// Usage of a port for the PCIe model: packets by size (sampled), and packets per burst call.
struct port_load {
    struct size {
        uint64_t packets = 0, bytes = 0;
    };
    std::array<size, counters::size_samples::bins> sizes{};
    uint64_t bursts = 0;
};

struct port_totals {
    uint64_t rx_packets = 0, tx_packets = 0, rx_bytes = 0, tx_bytes = 0;
    uint64_t originated = 0, consumed = 0;
    std::array<uint64_t, datapath::drop_reasons> drops{}, drop_bytes{};  ///< by reason
    port_load rx_load{}, tx_load{};

    void add(const counters::port_counters& from) noexcept;
    /// Adds the increase since `since`.
    void add(const port_totals& from, const port_totals& since) noexcept;
    [[nodiscard]] uint64_t all_drops() const noexcept;
};

}  // namespace turnpike::observe
