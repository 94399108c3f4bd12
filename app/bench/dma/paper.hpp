// SPDX-License-Identifier: BSD-3-Clause
// What the paper says: its model as curves, and the numbers that its text gives (data/pcie-bench/paper.json).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "pcie/link.hpp"
#include "row.hpp"

namespace turnpike::bench::dma {

/// What the paper's model (section 3, equations 1 to 3; lib/pcie) says that a link carries of a bandwidth test, in
/// Gb/s of payload each way; none for latency.
[[nodiscard]] std::optional<double> modelled_gbps(const pcie::link& l, micro_benchmark test,
                                                  const access_window& w) noexcept;

/// The file that is installed, as it stands in the program.
[[nodiscard]] const nlohmann::json& paper_numbers();

}  // namespace turnpike::bench::dma
