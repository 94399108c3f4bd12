// SPDX-License-Identifier: BSD-3-Clause
// Event and metric tables of CPU families: data/pmu/*.yaml, embedded in the program and installed
// beside it.
//
//   family: icelakex
//   summary: one line
//   cpus: [{vendor: GenuineIntel, family: 6, models: [106, 106]}]
//   source: [where each number comes from]
//   pmus:
//     iio: {devices: uncore_iio, counters: 4}          # general counters of one such PMU
//   events:
//     iio_clock: {pmu: iio, name: UNC_IIO_CLOCKTICKS, config: "event=0x01"}
//   metrics:
//     iio_ghz: {of: stack, unit: GHz, formula: "iio_clock / seconds / 1e9", text: "..."}
//
// Errors  EINVAL, `object` is FILE:LINE; rejects unknown and repeated keys, and formulas with
//         undefined names Threads any
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "pmu/formula.hpp"
#include "pmu/sysfs_text.hpp"

namespace turnpike::pmu {

/// core: per CPU. stack: the IIO stack above a device; events of PMUs without stacks are the
/// socket's. socket: sums over a socket. instance: each PMU of a kind by itself (DRAM channels, UPI
/// links).
enum class scope : uint8_t { core, stack, socket, instance };
inline constexpr std::array<std::string_view, 4> scope_names{"core", "stack", "socket", "instance"};

/// A kind of PMU.
struct pmu_kind {
    std::string name;           ///< name in the table
    std::string devices;        ///< name in sysfs, without the number
    unsigned counters = 4;      ///< general counters per PMU
    unsigned counters_smt = 0;  ///< general counters with SMT active; 0: the same
    bool one_filter = false;    ///< events with different config1 cannot be counted together
};

struct event {
    std::string name;         ///< name in formulas
    std::string pmu;          ///< the event's PMU
    std::string native{};     ///< the CPU vendor's name
    std::string config{};     ///< terms of the PMU's format; empty: libpfm4 encodes `native`
    uint32_t counters = ~0u;  ///< bitmap of the general counters that can count it
    bool fixed = false;       ///< has a fixed counter
    std::string leader{};     ///< the event that must precede it in its group
};

struct metric {
    std::string name;
    pmu::scope of = scope::core;
    std::string unit{};  ///< "ratio", "MB/s", "ns"...
    pmu::formula how{};
    std::string text{};    ///< description, one line
    std::string kind{};    ///< for scope instance: the PMU kind
    unsigned level = 0;    ///< top-down level: 1 to 3; 0: not a slot metric
    std::string parent{};  ///< the slot metric that it is a part of
    double over = 0;       ///< significant above this share
    std::string says{};    ///< for a slot metric: "of slots wait for L3"
};

struct table {
    std::string family, summary;
    struct models {
        std::string vendor;
        uint32_t family = 0, first = 0, last = 0;
    };
    std::vector<models> cpus{};
    std::vector<std::string> sources{};
    std::vector<pmu_kind> pmus{};
    std::vector<event> events{};
    std::vector<metric> metrics{};  ///< in dependency order

    [[nodiscard]] const event* find_event(std::string_view name) const noexcept;
    [[nodiscard]] const metric* find_metric(std::string_view name) const noexcept;
    [[nodiscard]] const pmu_kind* find_pmu(std::string_view name) const noexcept;
    [[nodiscard]] bool is_for(const cpu_model& m) const noexcept;
};

/// Names in formulas besides events and metrics: seconds (measured time); packets (of the measured
/// object); smt, 1 if SMT is active; tsc_ghz; link_max_mb_s and dram_max_mb_s, if known.
inline constexpr std::array<std::string_view, 6> given_names{
    "seconds", "packets", "smt", "tsc_ghz", "link_max_mb_s", "dram_max_mb_s"};

/// origin  replaces FILE in messages
[[nodiscard]] result<table> parse_table(std::string_view yaml, const std::string& origin);
/// Errors  also of opening the file
[[nodiscard]] result<table> load_table(const std::filesystem::path& file);

/// Embedded tables: {file name, text}.
struct builtin_table {
    std::string_view file, text;
};
[[nodiscard]] const std::vector<builtin_table>& builtin_tables();
/// The table for a CPU.
///
/// Errors  ENOTSUP: there is none; the text has the CPU's name
[[nodiscard]] result<table> table_for(const cpu_model& m);

}  // namespace turnpike::pmu
