// SPDX-License-Identifier: BSD-3-Clause
// Output of the model: text table, CSV, JSON.
#pragma once

#include <string>
#include <vector>

#include "cell.hpp"
#include "options.hpp"

namespace turnpike::pcie_tool {

/// A row per cell; a single cell also gets its bill by purpose.
[[nodiscard]] std::string table_text(const request& r, const std::vector<cell>& cells);

[[nodiscard]] std::string csv_text(const std::vector<cell>& cells);

/// schema turnpike.bench/1, bench "pcie"
[[nodiscard]] std::string json_text(const request& r, const std::vector<cell>& cells);

/// Only the link (--detect without a profile).
[[nodiscard]] std::string link_text(const request& r);

/// Sources and assumptions of each profile.
[[nodiscard]] std::string profiles_text(const request& r);

}  // namespace turnpike::pcie_tool
