// SPDX-License-Identifier: BSD-3-Clause
// The paper's model as curves, and the values in its text (data/pcie-bench/paper.json).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "pcie/link.hpp"
#include "row.hpp"

namespace turnpike::bench::dma {

/// A link's maximum payload in a bandwidth test by the paper's model (section 3, equations 1 to 3;
/// lib/pcie), in Gb/s per direction; nullopt for latency.
[[nodiscard]] std::optional<double> modelled_gbps(const pcie::link& l, micro_benchmark test,
                                                  const access_window& w) noexcept;

/// The installed file, embedded in the program.
[[nodiscard]] const nlohmann::json& paper_numbers();

}  // namespace turnpike::bench::dma
