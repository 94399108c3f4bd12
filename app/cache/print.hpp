// SPDX-License-Identifier: BSD-3-Clause
// What turnpike-cache shows.
#pragma once

#include <string>
#include <vector>

#include "cache/histogram.hpp"
#include "options.hpp"

namespace turnpike::cache_tool {

/// One way to lay the buffers, and the lines that then meet in each set of each cache.
struct row {
    std::string name;
    cache::placement placed;
    double overhead;                         ///< memory, over packed, less 1
    std::vector<cache::histogram> by_level;  ///< as request.caches.levels
};

std::vector<row> rows_of(const request& r);
std::string table_text(const request& r, const std::vector<row>& rows);
std::string csv_text(const request& r, const std::vector<row>& rows);
/// The gnuplot program: lines in each set of one cache, a panel a placement.
std::string figure_script(const request& r, const std::vector<row>& rows);

}  // namespace turnpike::cache_tool
