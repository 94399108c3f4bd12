// SPDX-License-Identifier: BSD-3-Clause
// The model as text: for people, for spreadsheets, for scripts.
#pragma once

#include <string>
#include <vector>

#include "cell.hpp"
#include "options.hpp"

namespace turnpike::pcie_tool {

/// A row a cell; one cell alone also gets its bill by purpose.
[[nodiscard]] std::string table_text(const request& r, const std::vector<cell>& cells);

[[nodiscard]] std::string csv_text(const std::vector<cell>& cells);

/// schema turnpike.bench/1, bench "pcie"
[[nodiscard]] std::string json_text(const request& r, const std::vector<cell>& cells);

/// The link alone (--detect without anything to price).
[[nodiscard]] std::string link_text(const request& r);

/// What each profile knows and assumes.
[[nodiscard]] std::string profiles_text(const request& r);

}  // namespace turnpike::pcie_tool
