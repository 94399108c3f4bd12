// SPDX-License-Identifier: BSD-3-Clause
// The report as one HTML page that stands alone: no script (a Content-Security-Policy forbids any), no font, no other file.
// Light and dark by the browser's setting.
//
//   report   turnpike.report/2 (json.cpp)
//   rates    the result of `show rates` with `history`, or null
//   tables   a list of {name, entries, max_entries}, or null
//   changes  the `states` of the request of that name, or null
//
// All of it is data of the control socket, so that turnpikectl and turnpike make the same page (page.hpp has no DPDK).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace turnpike::observe {

struct page_source {
    const nlohmann::json& report;
    const nlohmann::json& rates;
    const nlohmann::json& tables;
    const nlohmann::json& changes;
    /// Seconds after which a browser loads the page again from the metrics server; 0: never.
    unsigned refresh_s = 0;
};

/// "2.5 s", "90 s", "45 min", "18 h", "3 days".
[[nodiscard]] std::string interval_text(double seconds);
/// Members that are missing or of another type are shown as unknown.
[[nodiscard]] std::string to_page(const page_source& from);

}  // namespace turnpike::observe
