// SPDX-License-Identifier: BSD-3-Clause
// The pages of the metrics server.
#pragma once

#include "observe/http_server.hpp"
#include "observe/mailbox.hpp"

namespace turnpike::observe {

/// /metrics in the format that the request accepts, / with a link to it; 503 if control does not answer in time.
/// Threads  the HTTP server's
[[nodiscard]] http_answer metrics_page(const http_request& r, mailbox& from,
                                       const std::atomic<bool>& stopping);

}  // namespace turnpike::observe
