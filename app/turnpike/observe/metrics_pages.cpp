// SPDX-License-Identifier: BSD-3-Clause
#include "observe/metrics_pages.hpp"

#include "observe/open_metrics.hpp"

namespace turnpike::observe {

http_answer metrics_page(const http_request& r, mailbox& from, const std::atomic<bool>& stopping) {
    if (r.path == "/")
        return {.type = "text/html; charset=utf-8",
                .body =
                    "<!doctype html><title>turnpike</title><p><a href=\"/metrics\">Metrics</a> "
                    "for Prometheus and OpenMetrics collectors\n"};
    if (r.path != "/metrics") return {.status = 404, .body = "There is /metrics.\n"};
    const mailbox::copy c = from.ask(stopping);
    if (c == nullptr)
        return {.status = 503, .body = "The control thread did not answer in time; try again.\n"};
    const exposition_format f = format_of(r.accept);
    return {.type = content_type(f), .body = to_exposition(*c, f)};
}

}  // namespace turnpike::observe
