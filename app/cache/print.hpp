// SPDX-License-Identifier: BSD-3-Clause
// Output of turnpike-cache.
#pragma once

#include <string>
#include <vector>

#include "cache/histogram.hpp"
#include "options.hpp"

namespace turnpike::cache_tool {

/// A placement, and the number of hot lines per cache set.
struct row {
    std::string name;
    cache::placement placed;
    double overhead;                         ///< memory relative to packed, less 1
    std::vector<cache::histogram> by_level;  ///< as request.caches.levels
};

std::vector<row> rows_of(const request& r);
std::string table_text(const request& r, const std::vector<row>& rows);
std::string csv_text(const request& r, const std::vector<row>& rows);
/// The gnuplot program: lines per set of one cache, a panel per placement.
std::string figure_script(const request& r, const std::vector<row>& rows);

}  // namespace turnpike::cache_tool
