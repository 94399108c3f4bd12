// SPDX-License-Identifier: BSD-3-Clause
// HTML pages that stand alone: one file without scripts and network, light and dark by the reader's setting, readable on a
// telephone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace turnpike::html {

struct page_head {
    std::string title{};
    unsigned refresh_s = 0;  ///< the browser loads the page again; 0: it does not
};
/// Up to <body>, with the style of all elements of this folder.
[[nodiscard]] std::string begin_page(const page_head& head);
[[nodiscard]] std::string end_page();

/// body  HTML; empty: "Nothing yet."
[[nodiscard]] std::string section(std::string_view id, std::string_view title,
                                  const std::string& body);

/// Cells of a row, as HTML, in the order of the headings.
using table_row = std::vector<std::string>;
/// A table that scrolls on its own where it is wider than the screen (`tabindex`: by keyboard, too). On a telephone each
/// row is a block, and its cells have the headings in front.
/// headings  a first '#': a column of numbers. The first column names the row
[[nodiscard]] std::string table(std::string_view name,
                                const std::vector<std::string_view>& headings,
                                const std::vector<table_row>& rows);

}  // namespace turnpike::html
