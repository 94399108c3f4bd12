// SPDX-License-Identifier: BSD-3-Clause
#include "observe/page.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "datapath/drop_reason.hpp"
#include "html/figures.hpp"
#include "html/page.hpp"

namespace turnpike::observe {

std::string interval_text(double seconds) {
    constexpr double minute = 60, hour = 60 * minute, day = 24 * hour, few = 2;
    if (seconds < 10) return fmt::format("{:.1f} s", seconds);
    if (seconds < few * minute) return fmt::format("{:.0f} s", seconds);
    if (seconds < few * hour) return fmt::format("{:.0f} min", seconds / minute);
    if (seconds < few * day) return fmt::format("{:.0f} h", seconds / hour);
    return fmt::format("{:.0f} days", seconds / day);
}

namespace {

using namespace html;
using nlohmann::json;

const json& member(const json& of, std::string_view name) {
    static const json none;
    const auto at = of.is_object() ? of.find(name) : of.end();
    return of.is_object() && at != of.end() ? *at : none;
}
const json& list_in(const json& of, std::string_view name) {
    static const json none = json::array();
    const json& found = member(of, name);
    return found.is_array() ? found : none;
}
std::optional<double> number_in(const json& of, std::string_view name) {
    const json& value = member(of, name);
    return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}
/// Not escaped.
std::string plain_in(const json& of, std::string_view name) {
    const json& value = member(of, name);
    if (value.is_string()) return value.get<std::string>();
    return value.is_null() ? "-" : value.dump(-1, ' ', false, json::error_handler_t::replace);
}
std::string text_in(const json& of, std::string_view name) { return html_text(plain_in(of, name)); }
/// "12.3 M"; "-" if unknown.
std::string short_in(const json& of, std::string_view name, std::string_view unit = "") {
    const auto n = number_in(of, name);
    return n ? short_number(*n) + std::string(unit) : "-";
}

std::string verdict_line(std::string_view since, const json& v) {
    const bool idle = !member(v, "bound").is_string() || member(v, "bound") == "idle";
    return fmt::format("<p class=\"verdict{}\">{}: <strong>{}</strong>, {}</p>",
                       idle ? "" : " full", since, text_in(v, "bound"), text_in(v, "says"));
}

/// The headroom is the one of the recent verdict if the rates have a verdict, else the one of the report's verdict.
std::string verdict_section(const json& report, const json& rates) {
    const bool recent = member(rates, "verdict").is_object();
    const json& v = member(recent ? rates : report, "verdict");
    // Since the last request for rates, which may have been made days ago.
    std::string body =
        recent ? verdict_line("The last " + interval_text(number_in(v, "seconds").value_or(0)), v)
               : "";
    body += verdict_line("Since the start", member(report, "verdict"));
    std::vector<table_row> rows;
    for (const auto& [name, h] : member(v, "headroom").items()) {
        const auto used = number_in(h, "used");
        rows.push_back({html_text(name), text_in(h, "of"),
                        used ? level_bar(name, *used) : text_in(h, "why"),
                        used ? fmt::format("{:.0f} %", 100 * *used) : "-", short_in(h, "pps"),
                        text_in(h, "from")});
    }
    return section("verdict", "Verdict and headroom",
                   body + table("Headroom by resource",
                                {"resource", "most used", "utilisation", "#used",
                                 "#headroom packets/s", "source"},
                                rows));
}

std::string cycles_section(const json& report) {
    std::string body;
    for (const json& w : list_in(report, "workers")) {
        std::vector<figure_part> parts;
        for (const json& s : list_in(w, "stages"))
            if (const auto cycles = number_in(s, "cycles_per_packet"))
                parts.push_back(
                    {member(s, "name").is_string() ? member(s, "name").get<std::string>() : "?",
                     *cycles});
        const auto used = number_in(w, "utilisation");
        body += fmt::format("<h3>Worker {}: {} cycles per packet, {} packets/s, busy {}</h3>",
                            text_in(w, "lcore"), short_in(w, "cpp"), short_in(w, "pps"),
                            used ? fmt::format("{:.1f} %", 100 * *used) : "-");
        body += stacked_bar(
            fmt::format("cycles per packet by stage of worker {}", plain_in(w, "lcore")), parts,
            " cycles");
    }
    return section("cycles", "The bill: cycles by stage, per packet that passes it", body);
}

/// Bytes of a purpose in both directions; negative: unknown.
double bytes_of(const json& per_packet, const std::string& purpose) {
    const json& bytes = member(member(member(per_packet, "by_purpose"), purpose), "bytes");
    const auto up = number_in(bytes, "up"), down = number_in(bytes, "down");
    return up && down ? *up + *down : -1;
}
double lines_of_all(const json& per_packet) {
    double sum = 0;
    bool known = false;
    for (const auto& [name, n] : member(per_packet, "lines").items())
        if (n.is_number()) {
            sum += n.get<double>();
            known = true;
        }
    return known ? sum : -1;
}

std::string pcie_section(const json& report) {
    static constexpr std::array<std::string_view, 3> sources{"modelled", "counted", "measured"};
    std::string body;
    for (const json& p : list_in(report, "ports")) {
        const json& pcie = member(p, "pcie");
        std::vector<bar_group> groups;
        for (const auto& [purpose, of] :
             member(member(member(pcie, "modelled"), "per_packet"), "by_purpose").items()) {
            bar_group g{.name = purpose};
            for (const auto source : sources)
                g.values.push_back(bytes_of(member(member(pcie, source), "per_packet"), purpose));
            groups.push_back(std::move(g));
        }
        bar_group all{.name = "cache lines, all purposes"};
        for (const auto source : sources)
            all.values.push_back(lines_of_all(member(member(pcie, source), "per_packet")));
        const std::string bytes = grouped_bars("PCIe bytes per packet by purpose",
                                               {"modelled", "counted", "measured"}, groups),
                          lines = grouped_bars("PCIe cache lines per packet",
                                               {"modelled", "counted", "measured"}, {all});
        std::string why;
        for (const auto& [source, text] : member(pcie, "why").items())
            why +=
                fmt::format("<p class=\"soft\">Not {}: {}</p>", html_text(source),
                            text.is_string() ? html_text(text.get_ref<const std::string&>()) : "-");
        body += fmt::format("<h3>Port {}</h3>", text_in(p, "name")) + bytes + lines + why;
    }
    return section("pcie", "The bill: PCIe per packet", body);
}

/// A time of the system's clock; "-" if unknown.
std::string time_in(const json& of, std::string_view name) {
    constexpr double year_10000 = 253402300800.0;
    const auto s = number_in(of, name);
    if (!s || *s < 0 || *s >= year_10000) return "-";
    return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(*s)));
}

/// The entry of a list with this name.
const json& named(const json& list, const json& name) {
    static const json none;
    for (const json& one : list)
        if (member(one, "name") == name) return one;
    return none;
}
std::vector<double> line_of(const json& entry, std::string_view name) {
    std::vector<double> out;
    for (const json& n : list_in(member(entry, "history"), name))
        out.push_back(n.is_number() ? n.get<double>() : 0);
    return out;
}

std::string ports_section(const json& report, const json& rates) {
    std::vector<table_row> rows;
    for (const json& p : list_in(report, "ports")) {
        const json& r = named(list_in(rates, "ports"), member(p, "name"));
        const json& now = member(r, "1s");
        const auto three = [&](std::string_view counter) {
            return fmt::format("{} / {} / {}", short_in(now, counter),
                               short_in(member(r, "10s"), counter),
                               short_in(member(r, "1min"), counter));
        };
        const std::string name = text_in(p, "name");
        rows.push_back(
            {name, text_in(p, "link"), three("rx_packets"), three("tx_packets"),
             short_in(now, "rx_bits"), short_in(now, "tx_bits"),
             sparkline("bits per second of port " + plain_in(p, "name") + ", received and sent",
                       {line_of(r, "rx_bits"), line_of(r, "tx_bits")}),
             short_in(p, "rx_missed")});
    }
    return section("ports", "Ports",
                   table("Ports",
                         {"port", "link", "#rx packets/s, 1 s / 10 s / 1 min",
                          "#tx packets/s, 1 s / 10 s / 1 min", "#rx bit/s", "#tx bit/s",
                          "last minutes", "#missed by the NIC"},
                         rows));
}

/// Sum of a reason's rates of the last minute at all ports; none: unknown.
std::optional<double> drop_rate(const json& rates, const std::string& reason) {
    std::optional<double> sum;
    for (const json& d : list_in(rates, "drops"))
        if (member(d, "reason") == reason)
            if (const auto n = number_in(member(d, "1min"), "packets")) sum = sum.value_or(0) + *n;
    return sum;
}

std::string drops_section(const json& report, const json& rates) {
    std::vector<std::pair<double, table_row>> all;
    for (const auto& [reason, n] : member(report, "drops").items()) {
        const datapath::drop_text* const text = datapath::find_drop(reason);
        const double count = n.is_number() ? n.get<double>() : 0;
        const auto rate = drop_rate(rates, reason);
        all.emplace_back(count, table_row{html_text(reason), short_number(count),
                                          rate ? short_number(*rate) : "-",
                                          text != nullptr ? html_text(text->meaning) : "-",
                                          text != nullptr ? html_text(text->remedy) : "-"});
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<table_row> rows;
    for (auto& [count, row] : all) rows.push_back(std::move(row));
    return section(
        "drops", "Drops",
        rows.empty()
            ? "<p class=\"soft\">No packet was dropped.</p>"
            : table("Drops", {"reason", "#packets", "#packets/s, 1 min", "meaning", "remedy"},
                    rows));
}

std::string tables_section(const json& report, const json& from) {
    const json& mempool = member(report, "mempool");
    json tables = json::array();
    if (mempool.is_object())
        tables.push_back({{"name", "packet buffers (mbufs)"},
                          {"entries", member(mempool, "in_use")},
                          {"max_entries", member(mempool, "buffers")}});
    for (const json& t : from) tables.push_back(t);
    std::vector<table_row> rows;
    for (const json& t : tables) {
        const auto entries = number_in(t, "entries"), limit = number_in(t, "max_entries");
        if (!entries) continue;
        const bool bounded = limit && *limit > 0;
        rows.push_back(
            {text_in(t, "name"), short_number(*entries), bounded ? short_number(*limit) : "-",
             bounded ? level_bar("entries of " + plain_in(t, "name"), *entries / *limit) : ""});
    }
    return section("tables", "Tables and their limits",
                   table("Tables", {"table", "#entries", "#limit", "level"}, rows));
}

std::string changes_section(const json& changes) {
    std::vector<table_row> rows;
    for (const json& c : changes)
        rows.push_back({time_in(c, "when"), text_in(c, "by"), text_in(c, "what")});
    return section("changes", "Recent changes, the last first",
                   table("Changes", {"when", "by", "what"}, rows));
}

}  // namespace

std::string to_page(const page_source& from) {
    const json& r = from.report;
    const auto seconds = number_in(r, "duration_s");
    std::string out = html::begin_page({.title = "turnpike", .refresh_s = from.refresh_s});
    out += fmt::format(
        "<header><h1>turnpike {}</h1><p class=\"soft\">{} of forwarding; {} configurations "
        "applied</p></header><main>\n",
        text_in(r, "version"), seconds ? fmt::format("{:.0f} s", *seconds) : "an unknown time",
        text_in(r, "changes"));
    out += verdict_section(r, from.rates) + ports_section(r, from.rates) +
           drops_section(r, from.rates) + cycles_section(r) + pcie_section(r) +
           tables_section(r, from.tables) + changes_section(from.changes);
    out += "</main>";
    if (from.refresh_s != 0)
        out +=
            "<footer class=\"soft\"><a href=\"/metrics\">Metrics</a> for Prometheus and "
            "OpenMetrics collectors</footer>";
    return out + html::end_page();
}

}  // namespace turnpike::observe
