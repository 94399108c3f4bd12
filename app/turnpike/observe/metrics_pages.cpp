// SPDX-License-Identifier: BSD-3-Clause
#include "observe/metrics_pages.hpp"

#include <nlohmann/json.hpp>

#include "observe/open_metrics.hpp"
#include "observe/page.hpp"

namespace turnpike::observe {
namespace {

constexpr unsigned page_refresh_s = 10;

}  // namespace

std::vector<table_report> all_tables(const inventory& of) {
    std::vector<table_report> out = of.tables;
    for (const vrf_report& v : of.vrfs) {
        out.push_back({"IPv4 routes of VRF " + v.name, v.ipv4, 0});
        out.push_back({"IPv6 routes of VRF " + v.name, v.ipv6, 0});
    }
    for (const bridge_report& b : of.bridges)
        out.push_back({"addresses of bridge " + b.name, b.entries, b.max_entries});
    return out;
}

std::string page_of(const scraped& all, unsigned refresh_s) {
    using nlohmann::json;
    const json report = to_json(all.numbers), rates = json::parse(all.rates, nullptr, false),
               changes = json::parse(all.changes, nullptr, false);
    json tables = json::array();
    for (const table_report& t : all_tables(all.objects))
        tables.push_back(
            {{"name", t.name}, {"entries", t.entries}, {"max_entries", t.max_entries}});
    const json states = changes.is_object() ? changes.value("states", json()) : json();
    return to_page({report, rates, tables, states, refresh_s});
}

http_answer metrics_page(const http_request& r, mailbox& from, const std::atomic<bool>& stopping) {
    const bool page = r.path == "/";
    if (!page && r.path != "/metrics")
        return {.status = 404, .body = "There are / and /metrics.\n"};
    const mailbox::copy c = from.ask(stopping, page);
    if (c == nullptr)
        return {.status = 503, .body = "The control thread did not answer in time; try again.\n"};
    if (page) return {.type = "text/html; charset=utf-8", .body = page_of(*c, page_refresh_s)};
    const exposition_format f = format_of(r.accept);
    return {.type = content_type(f), .body = to_exposition(*c, f)};
}

}  // namespace turnpike::observe
