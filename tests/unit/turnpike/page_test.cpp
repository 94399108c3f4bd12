// SPDX-License-Identifier: BSD-3-Clause
// The HTML page: well-formed, alone, complete, and safe for any text in its data. tests/system/page_test.py shows it in a browser.
#include "observe/page.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "datapath/drop_reason.hpp"
#include "html/figures.hpp"

namespace turnpike {
namespace {

using nlohmann::json;
using namespace observe;
using namespace html;

/// The first violation of nesting; empty: none. Only elements that HTML closes by itself may stay open.
std::string not_nested(const std::string& page) {
    static const std::set<std::string> alone{"meta", "link", "!doctype"};
    std::vector<std::string> open;
    for (size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
        const size_t end = page.find('>', at);
        if (end == std::string::npos) return "no end: " + page.substr(at, 80);
        const bool closes = page[at + 1] == '/', is_empty = page[end - 1] == '/';
        const size_t from = at + (closes ? 2 : 1);
        const std::string name = page.substr(from, page.find_first_of(" />", from) - from);
        if (closes) {
            if (open.empty() || open.back() != name) return "closes: " + page.substr(at, 80);
            open.pop_back();
        } else if (!is_empty && !alone.contains(name)) {
            open.push_back(name);
        }
    }
    return open.empty() ? "" : "open: " + open.back();
}

json page_report() {
    const json per_packet = {{"lines", {{"rd_cur", 1.5}, {"itom", 0.5}}},
                             {"by_purpose",
                              {{"rx_data", {{"bytes", {{"up", 80.0}, {"down", 4.0}}}}},
                               {"doorbells", {{"bytes", {{"up", 0.0}, {"down", 2.0}}}}}}}};
    return {
        {"version", "9.8.7"},
        {"duration_s", 61.5},
        {"changes", 3},
        {"verdict",
         {{"bound", "core"},
          {"says", "worker 1 is busy 99 % of the time"},
          {"headroom",
           {{"core", {{"of", "worker 1"}, {"used", 0.99}, {"pps", 12345.0}, {"from", "counted"}}},
            {"dram",
             {{"of", nullptr}, {"used", nullptr}, {"pps", nullptr}, {"why", "no table"}}}}}}},
        {"workers",
         {{{"lcore", 1},
           {"cpp", 190.0},
           {"pps", 1.2e7},
           {"utilisation", 0.99},
           {"stages",
            {{{"name", "rx"}, {"cycles_per_packet", 100.0}},
             {{"name", "tx"}, {"cycles_per_packet", 50.0}}}}}}},
        {"ports",
         {{{"name", "west"},
           {"link", "up"},
           {"rx_missed", 77},
           {"pcie",
            {{"modelled", {{"per_packet", per_packet}}},
             {"counted", {{"per_packet", per_packet}}},
             {"measured", nullptr},
             {"why", {{"measured", "this CPU has no table"}}}}}}}},
        {"drops", {{"no_route", 5}, {"acl_deny", 1234567}}}};
}
json page_rates() {
    const json window = {
        {"rx_packets", 1500.0}, {"tx_packets", 2.0}, {"rx_bits", 8e6}, {"tx_bits", 1e9}};
    return {{"ports",
             {{{"name", "west"},
               {"1s", window},
               {"10s", window},
               {"1min", nullptr},
               {"history", {{"rx_bits", {0, 5, 10}}, {"tx_bits", {1, 1, 1}}}}}}},
            {"drops", {{{"port", "west"}, {"reason", "no_route"}, {"1min", {{"packets", 2.5}}}}}}};
}
std::string page_of(const json& report, const json& rates, const json& tables,
                    const json& changes) {
    return to_page({report, rates, tables, changes});
}
std::string whole_page() {
    return page_of(page_report(), page_rates(),
                   {{{"name", "fdb"}, {"entries", 90}, {"max_entries", 100}}},
                   {{{"by", "uid 0 (process 7)"}, {"what", "apply a.yaml"}, {"when", 1700000000}}});
}

TEST(page, has_all_parts) {
    const std::string page = whole_page();
    EXPECT_EQ(not_nested(page), "");
    for (const char* message :
         {"turnpike 9.8.7", "worker 1 is busy 99 % of the time", "12.3 k", "no table",
          "rx 100 cycles (67 %)", "rx_data", ">84<", "Not measured: this CPU has no table",
          "1.50 k / 1.50 k / -", "8.00 M", "polyline", "1.23 M", "no route to the destination",
          ">2.50<", "fdb", "2023-11-14 22:13:20 UTC", "apply a.yaml", "uid 0 (process 7)", ">77<"})
        EXPECT_NE(page.find(message), std::string::npos) << message << "\n" << page;
    const auto& no_route =
        datapath::drop_texts[static_cast<size_t>(datapath::drop_reason::no_route)];
    EXPECT_NE(page.find(html_text(no_route.remedy)), std::string::npos);
    EXPECT_LT(page.find("acl_deny"), page.find("no_route")) << "the most frequent first";
}

TEST(page, stands_alone) {
    const std::string page = whole_page();
    for (const char* other :
         {"http:", "https:", "src=", "url(", "@import", "<script", "javascript:"})
        EXPECT_EQ(page.find(other), std::string::npos) << other;
    EXPECT_NE(page.find("prefers-color-scheme:dark"), std::string::npos);
    EXPECT_NE(page.find("name=\"viewport\""), std::string::npos);
    EXPECT_EQ(page.find("http-equiv=\"refresh\""), std::string::npos);
    EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
    const json report = page_report(), none;
    EXPECT_NE(to_page({report, none, none, none, 10}).find("http-equiv=\"refresh\" content=\"10\""),
              std::string::npos);
}

TEST(page, any_text_is_text) {
    const std::string hostile = "</td><script>alert('1')</script>&\"\n\x01";
    json report = page_report(), rates = page_rates();
    report["version"] = report["verdict"]["says"] = report["ports"][0]["name"] =
        rates["ports"][0]["name"] = hostile;
    report["workers"][0]["stages"][0]["name"] = hostile;
    report["drops"][hostile] = 1;
    report["verdict"]["headroom"][hostile] = {{"used", 0.5}, {"of", hostile}};
    report["ports"][0]["pcie"]["why"][hostile] = hostile;
    report["ports"][0]["pcie"]["modelled"]["per_packet"]["by_purpose"][hostile] = {
        {"bytes", {{"up", 1}, {"down", 1}}}};
    const std::string page =
        page_of(report, rates, {{{"name", hostile}, {"entries", 1}, {"max_entries", 2}}},
                {{{"by", hostile}, {"what", hostile}, {"when", hostile}}});
    EXPECT_EQ(not_nested(page), "");
    EXPECT_EQ(page.find("<script"), std::string::npos);
    EXPECT_EQ(page.find('\x01'), std::string::npos);
    EXPECT_NE(page.find("&lt;/td&gt;&lt;script&gt;alert(&#39;1&#39;)"), std::string::npos);
}

TEST(page, missing_members_are_unknown) {
    for (const json& odd :
         {json(), json::object(), json::array({1, "x", nullptr}), json("text"), json(7)}) {
        EXPECT_EQ(not_nested(page_of(odd, odd, odd, odd)), "") << odd;
        for (const char* name : {"verdict", "workers", "ports", "drops"}) {
            json report = page_report();
            report[name] = odd;
            EXPECT_EQ(not_nested(page_of(report, odd, odd, odd)), "") << name << odd;
        }
    }
}

TEST(page, the_recent_verdict_is_first) {
    json rates = page_rates();
    rates["verdict"] = {{"bound", "line_rate"},
                        {"seconds", 18 * 3600.0},
                        {"says", "port west is full"},
                        {"headroom", {{"line_rate", {{"of", "port west"}, {"used", 0.97}}}}}};
    const std::string page = page_of(page_report(), rates, {}, {});
    const size_t recent = page.find("The last 18 h: <strong>line_rate</strong>, port west is full");
    EXPECT_NE(recent, std::string::npos);
    EXPECT_LT(recent, page.find("Since the start: <strong>core</strong>"));
    EXPECT_NE(page.find(">97 %<"), std::string::npos);
    EXPECT_EQ(page.find(">99 %<"), std::string::npos) << "the headroom is the recent one";
}

TEST(page, times_that_no_calendar_has_are_unknown) {
    for (const json& when :
         {json(-1), json(1e300), json(253402300800), json(UINT64_MAX), json("x")})
        EXPECT_NE(page_of({}, {}, {}, {{{"by", "b"}, {"what", "w"}, {"when", when}}})
                      .find(R"(<tr><th scope="row">-</th><td data-of="by">b</td>)"),
                  std::string::npos)
            << when;
}

TEST(page, numbers_have_three_digits) {
    for (const auto& [value, text] : std::map<double, std::string>{{0, "0"},
                                                                   {7, "7"},
                                                                   {0.5, "0.50"},
                                                                   {12.34, "12.3"},
                                                                   {999, "999"},
                                                                   {999.7, "1.00 k"},
                                                                   {123456, "123 k"},
                                                                   {1e9, "1.00 G"},
                                                                   {-2, "-2"},
                                                                   {1e30, "1000000000000000000 T"}})
        EXPECT_EQ(short_number(value), text) << value;
    EXPECT_EQ(stacked_bar("t", {}, ""), "");
    EXPECT_EQ(grouped_bars("t", {"a"}, {{"g", {-1}}}), "");
    EXPECT_EQ(not_nested(sparkline("t", {{}, {1}, {1, 2}})), "");
}

}  // namespace
}  // namespace turnpike
