// SPDX-License-Identifier: BSD-3-Clause
// The report, schema turnpike.report/1: numbers that control collected, as JSON and as a table.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cost/meter.hpp"
#include "cost/port_counters.hpp"

namespace turnpike::cost {

/// Drops by name, without the reasons that never happened.
using named_drops = std::map<std::string, uint64_t>;

/// rx + originated = tx + consumed + sum of drops + held, exactly, once the workers have stopped.
struct balance {
    uint64_t rx = 0, originated = 0, tx = 0, consumed = 0, drops = 0, held = 0;
    [[nodiscard]] bool holds() const noexcept {
        return rx + originated == tx + consumed + drops + held;
    }
};

struct worker_report {
    unsigned lcore = 0;
    uint64_t packets = 0, busy_cycles = 0, total_cycles = 0;
    std::array<uint64_t, burst_bins> bursts{};
    struct stage_cycles {
        uint64_t packets = 0, cycles = 0;
    };
    std::array<stage_cycles, stages> sampled{};

    void add(const meter& from) noexcept;
    /// Busy cycles per packet; 0 without packets.
    [[nodiscard]] double cpp() const noexcept;
    [[nodiscard]] double utilisation() const noexcept;
    /// Packets per second that would still fit: Hz / cpp - pps.
    [[nodiscard]] double headroom_pps(uint64_t tsc_hz, double duration_s) const noexcept;
};

/// How a port is used, for the PCIe bill: packets by size (of samples), and packets a call.
struct port_load {
    struct size {
        uint64_t packets = 0, bytes = 0;
    };
    std::array<size, size_samples::bins> sizes{};
    uint64_t bursts = 0;

    void add(const size_samples& from, uint64_t of_bursts) noexcept;
};

/// The PCIe object of each source, null where `why` says why.
struct pcie_report {
    std::shared_ptr<const nlohmann::json> modelled{}, counted{}, measured{};
    std::map<std::string, std::string> why{};
};

struct port_report {
    std::string name{}, driver{};
    bool link_up = false;
    uint64_t rx_packets = 0, tx_packets = 0, rx_bytes = 0, tx_bytes = 0, rx_missed = 0;
    uint64_t originated = 0, consumed = 0;
    named_drops drops{};
    port_load rx_load{}, tx_load{};
    pcie_report pcie{};

    void add(const port_counters& from);
};

struct mempool_report {
    std::string ops{};        ///< the handler
    std::string placement{};  ///< where buffers lie, in words
    double overhead = 0;      ///< memory a buffer takes, over buffers side by side, less 1
    std::map<std::string, double> set_max_over_mean{};  ///< by cache level: touched lines per set
    uint32_t low_water = 0;                             ///< fewest free buffers seen
    uint32_t buffers = 0, buffer_size = 0;
    /// Buffers out of the pool before the first port was opened, and now.
    uint32_t in_use_at_start = 0, in_use = 0;
    /// Of those, buffers that a closed driver is known not to give back (rxtx/driver_facts).
    uint32_t kept_by_drivers = 0;
};

/// One rule of an access list; the last one is the list's default.
struct acl_rule_report {
    std::string name{};  ///< empty: none
    std::string action{};
    std::string where{};  ///< in the configuration; empty: turnpike's own
    uint64_t packets = 0, bytes = 0;
    std::vector<uint64_t> by_worker{};  ///< packets
};

/// An access list at one port, in one direction.
struct acl_report {
    std::string port{}, direction{}, list{};
    uint64_t permitted = 0, denied = 0;  ///< packets, by lists that were replaced too
    uint64_t bytes = 0;                  ///< memory that workers read
    std::vector<acl_rule_report> rules{};
};

struct report {
    std::string version{};
    double duration_s = 0;
    uint64_t tsc_hz = 0;
    uint16_t max_simd_bitwidth = 0;
    std::map<std::string, std::string> isa{};  ///< {"ipv4_checksum": "avx2"}
    std::vector<worker_report> workers{};
    std::vector<port_report> ports{};
    mempool_report mempool{};
    uint64_t held = 0;                             ///< packets that wait for a neighbour
    std::map<std::string, uint64_t> neighbours{};  ///< by state, and "limit"; empty: nothing routed
    std::map<std::string, uint64_t> routes{};      ///< by family; likewise
    std::vector<acl_report> acls{};

    [[nodiscard]] balance total() const;
    [[nodiscard]] named_drops drops() const;
};

/// The report as turnpike.report/1.
[[nodiscard]] nlohmann::json to_json(const report& r);

/// The same for people. `previous` (may be null) makes rates those since then.
[[nodiscard]] std::string to_table(const report& r, const report* previous = nullptr);

}  // namespace turnpike::cost
