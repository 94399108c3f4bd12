// SPDX-License-Identifier: BSD-3-Clause
// The pages of the metrics server.
#pragma once

#include "observe/http_server.hpp"
#include "observe/mailbox.hpp"

namespace turnpike::observe {

/// The tables of the inventory, of the FIBs and of the bridges. A limit of 0: none but the memory.
[[nodiscard]] std::vector<table_report> all_tables(const inventory& of);

/// The HTML page of a copy for it.
/// refresh_s  seconds after which a browser loads the page again; 0: never
[[nodiscard]] std::string page_of(const scraped& all, unsigned refresh_s = 0);

/// The page at /, /metrics in the format that the request accepts; 503 if control does not answer in time.
/// Threads  the HTTP server's
[[nodiscard]] http_answer metrics_page(const http_request& r, mailbox& from,
                                       const std::atomic<bool>& stopping);

}  // namespace turnpike::observe
