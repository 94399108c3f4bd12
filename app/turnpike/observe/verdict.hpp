// SPDX-License-Identifier: BSD-3-Clause
// What bounds this forwarder now, and how far it is from each other bound: one line of the report.
//
//   core            a worker is busy all the time
//   l3, dram        the same, and its core's counters say that most of it waits there
//   pcie_bandwidth  a port's link is full, by the best column of the bill that there is
//   pcie_latency    devices drop, nothing else is full, and the PCIe root takes its time
//   line_rate       a port's wire is full
//   idle            nothing of these
//
// A bound is one from 90 % of what there is. Each is concluded from one of the bill's columns, which is
// said; one that cannot be told has a reason instead.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "observe/report.hpp"

namespace turnpike::observe {

inline constexpr double full = 0.9;
/// An inbound read that takes so long keeps a device waiting: from about 30 reads in flight a port of
/// 40 Gb/s hides 500 ns (Neugebauer et al. 2018, section 6), and few devices have twice as many.
inline constexpr double slow_read_ns = 1000;

inline constexpr std::array<std::string_view, 6> bound_names{
    "core", "l3", "dram", "pcie_bandwidth", "pcie_latency", "line_rate"};

struct headroom {
    std::string_view resource;
    std::string of{};              ///< "worker 1", "port left": the one that is nearest to its end
    std::string_view from{};       ///< modelled, counted or measured
    std::optional<double> used{};  ///< of what there is: 0 to 1
    std::optional<double> more_pps{};  ///< packets a second that would still go through it
    std::string why{};                 ///< it cannot be told, and this is why
};

struct verdict {
    std::string bound = "idle";
    std::string_view from = "counted";
    std::string says{};
    std::vector<headroom> by{};  ///< one for each of bound_names, in their order
};

/// previous  null: of the whole run
[[nodiscard]] verdict verdict_of(const report& now, const report* previous = nullptr);

}  // namespace turnpike::observe
