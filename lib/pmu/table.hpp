// SPDX-License-Identifier: BSD-3-Clause
// What a family of CPUs can count and what follows from it: tables of data, data/pmu/*.yaml, which the
// program carries inside and which are installed beside it.
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
// Errors  EINVAL, `object` is FILE:LINE; unknown and repeated keys are refused, and formulas with names
//         that nothing has
// Threads any
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

/// core: of a CPU. stack: of the PCIe root in front of a device; events of PMUs that know no stacks are
/// the socket's. socket: sums over a socket. instance: of each PMU of a kind alone (DRAM channels, UPI
/// links).
enum class scope : uint8_t { core, stack, socket, instance };
inline constexpr std::array<std::string_view, 4> scope_names{"core", "stack", "socket", "instance"};

/// A kind of PMU.
struct pmu_kind {
    std::string name;           ///< in the table
    std::string devices;        ///< in sysfs, without their numbers
    unsigned counters = 4;      ///< general ones of each
    unsigned counters_smt = 0;  ///< of them, with two threads a core; 0: as many
    bool one_filter = false;    ///< events with another config1 cannot be counted at once
};

struct event {
    std::string name;         ///< in formulas
    std::string pmu;          ///< whose
    std::string native{};     ///< what its maker calls it
    std::string config{};     ///< terms of the PMU's format; empty: libpfm4 knows it as `native`
    uint32_t counters = ~0u;  ///< a bit for each general counter that can count it
    bool fixed = false;       ///< it has a counter of its own
    std::string leader{};     ///< the event that must stand before it in its group
};

struct metric {
    std::string name;
    pmu::scope of = scope::core;
    std::string unit{};  ///< "ratio", "MB/s", "ns"...
    pmu::formula how{};
    std::string text{};    ///< what it is, one line
    std::string kind{};    ///< for scope instance: of which PMUs
    unsigned level = 0;    ///< of a pipeline's slots: 1 to 3; 0: something else
    std::string parent{};  ///< the slot metric that it is a part of
    double over = 0;       ///< from here on it means something
    std::string says{};    ///< of a slot metric: "of slots wait for L3"
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
    std::vector<metric> metrics{};  ///< what a formula names stands before it

    [[nodiscard]] const event* find_event(std::string_view name) const noexcept;
    [[nodiscard]] const metric* find_metric(std::string_view name) const noexcept;
    [[nodiscard]] const pmu_kind* find_pmu(std::string_view name) const noexcept;
    [[nodiscard]] bool is_for(const cpu_model& m) const noexcept;
};

/// What formulas may name beside events and metrics: seconds that were counted; packets (of what is
/// asked about); smt, 1 with two threads a core; tsc_ghz; link_max_mb_s and dram_max_mb_s, where known.
inline constexpr std::array<std::string_view, 6> given_names{
    "seconds", "packets", "smt", "tsc_ghz", "link_max_mb_s", "dram_max_mb_s"};

/// origin  what stands for FILE in messages
[[nodiscard]] result<table> parse_table(std::string_view yaml, const std::string& origin);
/// Errors  also those of opening the file
[[nodiscard]] result<table> load_table(const std::filesystem::path& file);

/// Those that the program carries: {file's name, its text}.
struct builtin_table {
    std::string_view file, text;
};
[[nodiscard]] const std::vector<builtin_table>& builtin_tables();
/// The one for a CPU.
/// Errors  ENOTSUP: there is none, said with the CPU's name
[[nodiscard]] result<table> table_for(const cpu_model& m);

}  // namespace turnpike::pmu
