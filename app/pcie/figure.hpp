// SPDX-License-Identifier: BSD-3-Clause
// Figure 1 of "Understanding PCIe performance for end host networking": bandwidth in both
// directions at once against frame size, a curve per profile, and Ethernet's line rates.
#pragma once

#include <string>
#include <vector>

#include "cell.hpp"
#include "options.hpp"

namespace turnpike::pcie_tool {

/// The gnuplot program that draws `cells` to STEM.svg and STEM.png; it contains the data.
[[nodiscard]] std::string figure_script(const request& r, const std::vector<cell>& cells);

/// Errors  ENOENT: gnuplot is not installed
///         EINVAL: fewer than two frame sizes for a profile
///         EIO: gnuplot failed (its message is on standard error)
[[nodiscard]] result<void> draw_figure(const request& r, const std::vector<cell>& cells);

}  // namespace turnpike::pcie_tool
