// SPDX-License-Identifier: BSD-3-Clause
// The report: a snapshot as plain data. Owners of state fill it; renderers print it as JSON
// (turnpike.report/2) or as a table. metrics.hpp lists the numbers that are metrics, with names and units.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/meter.hpp"
#include "datapath/punt_class.hpp"
#include "observe/pcie_load.hpp"
#include "observe/port_totals.hpp"

namespace turnpike::observe {

/// A new unique number, never 0. An object keeps its life while its counters continue, and gets a new one
/// when they restart at 0.
[[nodiscard]] uint64_t new_life() noexcept;

/// rx + originated = tx + consumed + sum of drops + held, exactly, once the workers have stopped.
struct balance {
    uint64_t rx = 0, originated = 0, tx = 0, consumed = 0, drops = 0, held = 0;
    [[nodiscard]] bool holds() const noexcept {
        return rx + originated == tx + consumed + drops + held;
    }
};

/// PMU counters of a worker's core (lib/pmu) since they were opened.
struct core_report {
    std::map<std::string, double, std::less<>> values{};  ///< by metric name: ipc, ipp...
    struct slots {
        std::string name{}, parent{}, unit{}, says{};
        unsigned level = 1;
        double share = 0, over = 0;
    };
    std::vector<slots> where{};  ///< breakdown of the pipeline slots (top-down analysis)
    double counted_share =
        1;                ///< lowest share of time that a counter was scheduled; below 1: scaled
    std::string says{};   ///< "38 % of cycles wait for L3"
    std::string bound{};  ///< the name of the metric in `says`
    std::string why{};    ///< why nothing was counted

    [[nodiscard]] const double* find(std::string_view name) const noexcept {
        const auto at = values.find(name);
        return at == values.end() ? nullptr : &at->second;
    }
};

/// Utilisation from which a worker's packets show the cost of more packets. An idle worker receives single packets,
/// which cost many times as much as packets of full bursts.
inline constexpr double shows_cost = 0.01;

struct worker_report {
    unsigned lcore = 0;
    bool forwards = true;                ///< false: removed from the workers
    int node = -1;                       ///< NUMA, here and below; -1: unknown
    std::vector<std::string> polls{};    ///< names of the polled ports
    uint64_t packets = 0, injected = 0;  ///< received, and from control
    uint64_t busy_cycles = 0, slept_cycles = 0, control_cycles = 0, total_cycles = 0;
    std::array<uint64_t, counters::burst_bins> bursts{};
    struct stage_cycles {
        std::string_view name{};
        uint64_t packets = 0, cycles = 0;
        uint64_t counted_packets = 0, instructions = 0;  ///< of the samples with instruction counts
        [[nodiscard]] double cycles_per_packet() const noexcept;
        [[nodiscard]] std::optional<double> instructions_per_packet() const noexcept;
    };
    std::vector<stage_cycles> stages{};  ///< in graph order
    core_report core{};
    uint64_t tsc_hz = 0;

    /// names  of the stages, by their number in the meter
    void add(const counters::meter& from, const std::vector<std::string_view>& names);
    /// Cycles per packet in the three groups of "Benchmarking and Analysis of Software Data Planes" (2017),
    /// figure 8: I/O, packet processing, and the remainder of cpp() and ipp.
    struct group {
        std::string_view name{};
        double cycles = 0;
        std::optional<double> instructions{};
    };
    static constexpr std::string_view io_group = "io", processing_group = "processing",
                                      other_group = "other";
    /// Empty if no burst was sampled.
    [[nodiscard]] std::vector<group> groups() const;
    /// Received and injected packets.
    [[nodiscard]] uint64_t processed() const noexcept { return packets + injected; }
    /// Busy cycles per processed packet; 0 without packets.
    [[nodiscard]] double cpp() const noexcept;
    /// Busy cycles over total cycles, less the cycles of control on the same lcore.
    [[nodiscard]] double utilisation() const noexcept;
    /// Received packets per second of the time that the worker ran.
    [[nodiscard]] double pps() const noexcept;
    /// Additional packets per second: processed / s * (1 / utilisation - 1). Only of a worker that is busy enough.
    [[nodiscard]] double headroom_pps() const noexcept;
    [[nodiscard]] bool knows_headroom() const noexcept { return utilisation() >= shows_cost; }
};

/// The PCIe figures by source as JSON text; an absent source is empty and has a reason in `why`.
struct pcie_report {
    std::string modelled{}, counted{}, measured{};
    std::map<std::string, std::string> why{};
    std::map<std::string, uint64_t> counts{};  ///< the driver's xstats pcie_*, if it has them
    pcie_facts facts{};
};

struct port_report {
    std::string name{}, driver{};
    uint64_t life = 0;     ///< 0: the sum of removed ports
    bool admin_up = true;  ///< not `shutdown` by configuration
    bool link_up = false;
    bool removed = false;    ///< the device was removed
    uint32_t link_mbps = 0;  ///< 0: unknown
    double duration_s = 0;   ///< that the counters cover; 0: as the report
    int node = -1;
    uint64_t rx_missed = 0, rx_no_buffer = 0;
    port_totals totals{};
    pcie_report pcie{};
};

struct mempool_report {
    std::string ops{};        ///< name of the mempool handler
    std::string placement{};  ///< placement of the buffers, as text
    double overhead = 0;      ///< memory overhead per buffer relative to a packed layout
    std::map<std::string, double> set_max_over_mean{};  ///< by cache level: touched lines per set
    uint32_t low_water = 0;                             ///< minimum number of free buffers observed
    uint32_t buffers = 0, buffer_size = 0;
    int node = -1;  ///< NUMA node of buffers and tables
    /// Buffers in use before the first port was opened, and now.
    uint32_t in_use_at_start = 0, in_use = 0;
    /// Buffers in use that a closed driver is known to leak (rxtx/driver_facts).
    uint32_t kept_by_drivers = 0;
};

/// One ACL rule; the last one is the default action.
struct acl_rule_report {
    std::string name{};  ///< empty: none
    std::string action{};
    std::string
        where{};  ///< position in the configuration; empty: an implicit rule, which has a name
    uint64_t life = 0;
    uint64_t packets = 0, bytes = 0;
    std::vector<uint64_t> by_worker{};  ///< packets
};

/// An ACL bound to an interface in one direction; without an interface, one that is not bound.
struct acl_report {
    std::string interface {
    }, direction{}, list{};
    std::string search4{}, search6{};  ///< datapath::acl_list::search_of
    uint64_t life = 0;
    uint64_t permitted = 0, denied = 0;  ///< packets, including earlier versions of the ACL
    uint64_t bytes = 0;                  ///< memory of the lookup table
    std::vector<acl_rule_report> rules{};
    size_t first_rule = 0;  ///< position of rules[0], where the report has a part of the rules
};

/// Packets of an interface for the control thread, of one class.
struct punt_report {
    std::string interface {};
    datapath::punt_class of = datapath::punt_class::local;
    uint64_t life = 0;  ///< of the interface
    uint64_t punted = 0, dropped = 0;
};

struct report {
    std::string version{};
    double duration_s = 0;
    uint64_t tsc_hz = 0;
    uint16_t max_simd_bitwidth = 0;
    std::map<std::string, std::string> isa{};  ///< {"ipv4_checksum": "avx2"}
    std::vector<worker_report> workers{};
    std::vector<port_report> ports{};  ///< "(removed)" last, if ports were removed
    mempool_report mempool{};
    uint64_t held = 0;  ///< packets pending neighbour resolution
    std::map<std::string, uint64_t>
        neighbours{};  ///< by state, and "limit"; empty: no routed interface
    std::map<std::string, uint64_t> routes{};  ///< by family; empty likewise
    std::vector<acl_report> acls{};
    std::vector<punt_report> punt{};  ///< classes with counted packets, by interface
    std::string counters{};           ///< name of the PMU counter table in use; empty: none
    std::string counters_why{};       ///< why none
    uint64_t changes = 0;             ///< applied transactions, including the start

    [[nodiscard]] balance total() const;
    /// Accesses across NUMA nodes, each with a remedy.
    [[nodiscard]] std::vector<std::string> crossings() const;
    /// Non-zero drop counters by reason, summed over all ports.
    [[nodiscard]] std::map<std::string, uint64_t> drops() const;
};
/// Non-zero drop counters of one port.
[[nodiscard]] std::map<std::string, uint64_t> drops_of(const port_totals& p);
/// "up", "down" or "removed".
[[nodiscard]] std::string_view link_of(const port_report& p) noexcept;

/// The report as turnpike.report/2.
[[nodiscard]] nlohmann::json to_json(const report& r);

/// The report as a table. Rates are since `previous`, or since the start if it is null.
[[nodiscard]] std::string to_table(const report& r, const report* previous = nullptr);

}  // namespace turnpike::observe
