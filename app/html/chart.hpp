// SPDX-License-Identifier: BSD-3-Clause
// Line charts with axes, in SVG.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace turnpike::html {

struct chart_axis {
    std::string title{};
    bool log = false;             ///< decades; values of 0 or less are not drawn
    bool whole = false;           ///< labels at whole numbers only
    std::optional<double> min{};  ///< default: 0, or with `log` the decade below the least value
    /// Labels at values; empty: chosen by the range, with decimal prefixes.
    std::vector<std::pair<double, std::string>> ticks{};
};

struct chart_series {
    std::string name{};
    std::vector<std::pair<double, double>> points{};
    bool line = true;  ///< joins the points; false: marks only
};

/// title  for screen readers, and above the chart
/// Answers  "" without a point to draw
[[nodiscard]] std::string line_chart(const std::string& title, const chart_axis& x,
                                     const chart_axis& y, const std::vector<chart_series>& series);

}  // namespace turnpike::html
