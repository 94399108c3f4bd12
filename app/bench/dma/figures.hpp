// SPDX-License-Identifier: BSD-3-Clause
// The paper's figures 4 to 9 from a run's results, with the paper's values.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "pcie/link.hpp"
#include "picture.hpp"

namespace turnpike::bench::dma {

struct figures_input {
    const nlohmann::json& cells;
    const nlohmann::json* against;  ///< an earlier run's cells, for figure 9; nullptr: none
    pcie::link link;                ///< for the modelled curves
    uint64_t last_cache_bytes;
};

struct figure_or_why {
    int number;
    picture drawing;
    std::string why;  ///< reason that it cannot be drawn; empty: it can
};

/// Figures 4 to 9, in order.
[[nodiscard]] std::vector<figure_or_why> figures_of(const figures_input& in);

}  // namespace turnpike::bench::dma
