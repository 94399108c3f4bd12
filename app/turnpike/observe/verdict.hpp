// SPDX-License-Identifier: BSD-3-Clause
// The resource that limits forwarding now, and the headroom of each resource: one line of the report.
//
//   core            a worker is busy all the time
//   l3, dram        the same, and the core's counters attribute most stalls to L3 or DRAM
//   pcie_bandwidth  the fuller direction of a port's PCIe link carries as many bytes of TLPs as it can: measured, else
//                   counted, else modelled
//   pcie_latency    devices drop, no other resource is full, and inbound PCIe reads are slow
//   line_rate       a port's wire is full
//   idle            none of these
//
// A resource is full from 90 % utilisation on. Each verdict names its source (modelled, counted, measured);
// an unknown utilisation has a reason instead.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "observe/report.hpp"

namespace turnpike::observe {

inline constexpr double full = 0.9;
/// Inbound reads of this latency limit a device: a 40 Gb/s port hides 500 ns with about 30 reads in flight
/// (Neugebauer et al. 2018, section 6), and few devices have twice as many.
inline constexpr double slow_read_ns = 1000;

inline constexpr std::array<std::string_view, 6> bound_names{
    "core", "l3", "dram", "pcie_bandwidth", "pcie_latency", "line_rate"};

struct headroom {
    std::string_view resource;
    std::string of{};                  ///< the most utilised one: "worker 1", "port left"
    std::string_view from{};           ///< modelled, counted or measured
    std::optional<double> used{};      ///< utilisation, 0 to 1
    std::optional<double> more_pps{};  ///< additional packets per second that it allows
    std::string why{};                 ///< why the utilisation or more_pps is unknown
};

struct verdict {
    std::string bound = "idle";
    std::string_view from = "counted";
    std::string says{};
    double seconds = 0;          ///< the interval that it is about
    std::vector<headroom> by{};  ///< in the order of bound_names
};

/// previous  start of the interval; null: the whole run
[[nodiscard]] verdict verdict_of(const report& now, const report* previous = nullptr);
/// As the member `verdict` of turnpike.report/2.
[[nodiscard]] nlohmann::json to_json(const verdict& v);

}  // namespace turnpike::observe
