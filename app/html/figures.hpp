// SPDX-License-Identifier: BSD-3-Clause
// Pictures of an HTML page in SVG and HTML: bars and lines whose colours are CSS variables of the page (page.hpp), so that they
// follow its theme.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace turnpike::html {

/// Text for HTML: markup characters escaped, control characters replaced.
[[nodiscard]] std::string html_text(std::string_view text);
/// Colour of a series, a CSS value; the eighth is the first one's again.
[[nodiscard]] std::string colour(size_t series);
/// The names of series, by their colours.
[[nodiscard]] std::string legend(const std::vector<std::string>& series);
/// "12.3 M": three digits and a decimal prefix.
[[nodiscard]] std::string short_number(double value);

struct figure_part {
    std::string name{};
    double value = 0;
};

/// One bar of adjacent parts, with a legend of their names, values and shares; parts without a value are omitted.
/// title  for screen readers
/// unit   behind each value
[[nodiscard]] std::string stacked_bar(const std::string& title,
                                      const std::vector<figure_part>& parts,
                                      const std::string& unit);

/// Groups of bars side by side: a row for each group, a bar for each series. A negative value is unknown: no bar.
struct bar_group {
    std::string name{};
    std::vector<double> values{};  ///< by series
};
[[nodiscard]] std::string grouped_bars(const std::string& title,
                                       const std::vector<std::string>& series,
                                       const std::vector<bar_group>& groups);

/// A level between 0 and 1; above `warn` in the colour of warnings.
[[nodiscard]] std::string level_bar(const std::string& title, double level, double warn = 0.9);

/// Lines over the same time and with the same scale: from 0 to the maximum of all values.
[[nodiscard]] std::string sparkline(const std::string& title,
                                    const std::vector<std::vector<double>>& lines);

}  // namespace turnpike::html
