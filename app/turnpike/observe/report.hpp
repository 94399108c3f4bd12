// SPDX-License-Identifier: BSD-3-Clause
// What turnpike reports: a snapshot of plain data that owners fill, and that renderers make JSON
// (turnpike.report/1) or a table of. Which of its numbers are metrics, with names and units:
// metrics.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/meter.hpp"
#include "observe/port_totals.hpp"

namespace turnpike::observe {

/// Another number each time. What counts under one name has the same as long as its counts go on, and
/// another when they begin at 0 again. Never 0.
[[nodiscard]] uint64_t new_life() noexcept;

/// rx + originated = tx + consumed + sum of drops + held, exactly, once the workers have stopped.
struct balance {
    uint64_t rx = 0, originated = 0, tx = 0, consumed = 0, drops = 0, held = 0;
    [[nodiscard]] bool holds() const noexcept {
        return rx + originated == tx + consumed + drops + held;
    }
};

/// What a worker's core counted by itself (lib/pmu), since its counters were opened.
struct core_report {
    std::map<std::string, double, std::less<>> values{};  ///< by the table's names: ipc, ipp...
    struct slots {
        std::string name{}, parent{}, unit{}, says{};
        unsigned level = 1;
        double share = 0, over = 0;
    };
    std::vector<slots> where{};  ///< the pipeline's slots went
    double counted_share = 1;    ///< of the time, by the least of the counters: below 1, scaled
    std::string says{};          ///< "38 % of cycles wait for L3"
    std::string bound{};         ///< the name of what it says
    std::string why{};           ///< nothing was counted, and this is why

    [[nodiscard]] const double* find(std::string_view name) const noexcept {
        const auto at = values.find(name);
        return at == values.end() ? nullptr : &at->second;
    }
};

struct worker_report {
    unsigned lcore = 0;
    bool forwards = true;              ///< false: it did, and was taken away
    int node = -1;                     ///< NUMA, here and below; -1: unknown
    std::vector<std::string> polls{};  ///< names of ports
    uint64_t packets = 0, busy_cycles = 0, slept_cycles = 0, total_cycles = 0;
    std::array<uint64_t, cost::burst_bins> bursts{};
    struct stage_cycles {
        std::string_view name{};
        uint64_t packets = 0, cycles = 0;
        uint64_t counted_packets = 0, instructions = 0;  ///< of some samples, or of none
        [[nodiscard]] double cycles_per_packet() const noexcept;
        [[nodiscard]] std::optional<double> instructions_per_packet() const noexcept;
    };
    std::vector<stage_cycles> stages{};  ///< in the order in which packets meet them
    core_report core{};
    uint64_t tsc_hz = 0;
    double duration_s = 0;

    /// names  of the stages that the meter numbers
    void add(const cost::meter& from, const std::vector<std::string_view>& names);
    /// Where a packet's cycles go, in the three groups of "Benchmarking and Analysis of Software Data Planes" (2017),
    /// figure 8: what receives and sends; what is done with packets; what is left of cpp() and ipp.
    struct group {
        std::string_view name{};
        double cycles = 0;
        std::optional<double> instructions{};
    };
    static constexpr std::string_view io_group = "io", processing_group = "processing",
                                      other_group = "other";
    /// Empty: no burst was sampled.
    [[nodiscard]] std::vector<group> groups() const;
    /// Busy cycles per packet; 0 without packets.
    [[nodiscard]] double cpp() const noexcept;
    [[nodiscard]] double utilisation() const noexcept;
    [[nodiscard]] double pps() const noexcept;
    /// Packets per second that would still fit: Hz / cpp - pps.
    [[nodiscard]] double headroom_pps() const noexcept;
};

/// The PCIe object of each source as JSON text, empty where `why` says why.
struct pcie_report {
    std::string modelled{}, counted{}, measured{};
    std::map<std::string, std::string> why{};
    std::map<std::string, uint64_t> counts{};  ///< the driver's xstats pcie_*, where it counts
};

struct port_report {
    std::string name{}, driver{};
    uint64_t life = 0;  ///< 0: all that were removed
    bool link_up = false;
    bool removed = false;    ///< its device is gone
    uint32_t link_mbps = 0;  ///< 0: unknown
    int node = -1;
    uint64_t rx_missed = 0;
    port_totals totals{};
    pcie_report pcie{};
};

struct mempool_report {
    std::string ops{};        ///< the handler
    std::string placement{};  ///< where buffers lie, in words
    double overhead = 0;      ///< memory a buffer takes, over buffers side by side, less 1
    std::map<std::string, double> set_max_over_mean{};  ///< by cache level: touched lines per set
    uint32_t low_water = 0;                             ///< fewest free buffers seen
    uint32_t buffers = 0, buffer_size = 0;
    int node = -1;  ///< where buffers and tables lie
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
    uint64_t life = 0;
    uint64_t packets = 0, bytes = 0;
    std::vector<uint64_t> by_worker{};  ///< packets
};

/// An access list at one interface, in one direction.
struct acl_report {
    std::string interface {
    }, direction{}, list{};
    uint64_t life = 0;
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
    std::vector<port_report> ports{};  ///< "(removed)" last, where ports were
    mempool_report mempool{};
    uint64_t held = 0;                             ///< packets that wait for a neighbour
    std::map<std::string, uint64_t> neighbours{};  ///< by state, and "limit"; empty: nothing routed
    std::map<std::string, uint64_t> routes{};      ///< by family; likewise
    std::vector<acl_report> acls{};
    std::string counters{};  ///< the table of the machine's own counters that is used; empty: none
    std::string counters_why{};  ///< why not
    uint64_t changes = 0;        ///< change sets that were applied, the start's one

    [[nodiscard]] balance total() const;
    /// What goes from one NUMA node to another, each with what to do about it; none: nothing does.
    [[nodiscard]] std::vector<std::string> crossings() const;
    /// Drops by name over all ports, without the reasons that never happened.
    [[nodiscard]] std::map<std::string, uint64_t> drops() const;
};
/// The same of one port.
[[nodiscard]] std::map<std::string, uint64_t> drops_of(const port_totals& p);
/// "up", "down", or "removed": there is no device.
[[nodiscard]] std::string_view link_of(const port_report& p) noexcept;

/// The report as turnpike.report/1.
[[nodiscard]] nlohmann::json to_json(const report& r);

/// The same for people. `previous` (may be null) makes rates those since then.
[[nodiscard]] std::string to_table(const report& r, const report* previous = nullptr);

/// Its metrics as OpenMetrics 1.0 text.
[[nodiscard]] std::string to_open_metrics(const report& r);

}  // namespace turnpike::observe
