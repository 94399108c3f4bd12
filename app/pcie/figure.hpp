// SPDX-License-Identifier: BSD-3-Clause
// Figure 1 of "Understanding PCIe performance for end host networking": bandwidth in both
// directions at once against frame size, a curve a profile, and Ethernet's line rates.
#pragma once

#include <string>
#include <vector>

#include "cell.hpp"
#include "options.hpp"

namespace turnpike::pcie_tool {

/// The gnuplot program that draws `cells` into STEM.svg and STEM.png, data inside.
[[nodiscard]] std::string figure_script(const request& r, const std::vector<cell>& cells);

/// Errors  ENOENT: gnuplot is not installed
///         EINVAL: a profile at fewer than two frame sizes, which is no curve
///         EIO: gnuplot failed (it says why on standard error)
[[nodiscard]] result<void> draw_figure(const request& r, const std::vector<cell>& cells);

}  // namespace turnpike::pcie_tool
