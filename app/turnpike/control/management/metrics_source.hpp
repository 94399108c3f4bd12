// SPDX-License-Identifier: BSD-3-Clause
// The numbers of a scrape.
#pragma once

#include "observe/inventory.hpp"

namespace turnpike::control {

class controller;

/// The report and the inventory. The time grows with ports, interfaces, bridges, tunnels and distinct next hops, not with
/// routes, neighbours or FDB entries.
/// page     with what only the HTML page has
/// Threads  control
[[nodiscard]] observe::scraped scrape(controller& c, bool page);
/// Entries of tables, and their limits.
[[nodiscard]] std::vector<observe::table_report> table_sizes(controller& c);

}  // namespace turnpike::control
