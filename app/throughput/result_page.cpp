// SPDX-License-Identifier: BSD-3-Clause
#include "result_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

#include "html/chart.hpp"
#include "html/figures.hpp"
#include "html/page.hpp"
#include "scale.hpp"
#include "tables.hpp"

namespace turnpike::throughput {
namespace {

using namespace html;
using nlohmann::json;

std::string size_name(const json& size) {
    const auto name = size.at("size").get<std::string>();
    if (name == "capture") return name;
    return name == "imix" ? "IMIX" : name + " bytes";
}

/// ", does not count" behind a figure of a trial at another load, or of which the tester lost frames itself.
std::string counts_mark(const json& row) {
    return row.value("counts", true) ? "" : ", does not count";
}

std::string soft_line(const std::string& text) {
    return "<p class=\"soft\">" + html_text(text) + "</p>";
}

/// Throughput by frame size; the first series is the line rate.
std::string throughput_section(const json& sizes) {
    std::vector<std::string> series{"line rate"};
    std::vector<bar_group> groups;
    std::string remarks;
    const auto value_of = [&](bar_group& g, const std::string& name, double value) {
        size_t at = 0;
        while (at < series.size() && series[at] != name) ++at;
        if (at == series.size()) series.push_back(name);
        g.values.resize(std::max(g.values.size(), at + 1), -1);
        g.values[at] = value;
    };
    const auto add_remark = [&remarks](const bar_group& g, const std::string& name,
                                       const json& found) {
        if (const std::string text = throughput_remark(found); !text.empty())
            remarks += soft_line(fmt::format("{}, {}: {}", g.name, name, text));
    };
    for (const json& size : sizes) {
        bar_group g{.name = size_name(size)};
        value_of(g, "line rate", number_or(size, "line_rate_fps", -1));
        if (const auto t = size.find("throughput"); t != size.end()) {
            if (t->at("method") == "rfc2544") {
                value_of(g, "RFC 2544 throughput", number_or(*t, "throughput_fps", -1));
                add_remark(g, "RFC 2544 throughput", *t);
            } else {
                for (const json& goal : t->at("goals")) {
                    const auto name = goal.at("name").get<std::string>();
                    value_of(g, name + ", conditional throughput",
                             number_or(goal, "conditional_throughput_fps", -1));
                    add_remark(g, name, goal);
                }
            }
        }
        groups.push_back(std::move(g));
    }
    return section("throughput", "Throughput by frame size",
                   grouped_bars("frames per second", series, groups) + remarks);
}

std::string loss_section(const json& sizes) {
    std::vector<chart_series> all;
    for (const json& size : sizes) {
        chart_series s{.name = size_name(size)},
            others{.name = size_name(size) + ", does not count", .line = false};
        for (const json& r : size.value("frame_loss", json::array()))
            (r.value("counts", true) ? s : others)
                .points.emplace_back(number_or(r, "load_fps", 0),
                                     100 * number_or(r, "loss_ratio", 0));
        for (chart_series* one : {&s, &others})
            if (!one->points.empty()) all.push_back(std::move(*one));
    }
    if (all.empty()) return {};
    return section("loss", "Frame loss rate",
                   line_chart("Frame loss rate by load", {.title = "load, frames/s"},
                              {.title = "frames lost, %"}, all));
}

std::string latency_table(const json& sizes) {
    std::vector<table_row> rows;
    for (const json& size : sizes)
        for (const json& r : size.value("latency", json::array())) {
            const std::string remark = latency_remark(r);
            table_row row{size_name(size),
                          fmt::format("{} %{}{}", r.at("percent").get<unsigned>(),
                                      remark.empty() ? "" : ", ", remark),
                          fmt::format("{:.6f}", number_or(r, "load_fps", 0) / 1e6)};
            for (const char* figure : latency_figures) row.push_back(decimal_or_dash(r, figure));
            rows.push_back(std::move(row));
        }
    return table("Latency, in microseconds",
                 {"frames", "#load", "#Mfps", "#min", "#mean", "#50 %", "#90 %", "#99 %", "#99.9 %",
                  "#max", "#PDV", "#tester"},
                 rows);
}

/// Percentiles at their number of nines, so that the last ones are apart.
std::string latency_section(const json& sizes, const json& method) {
    static constexpr std::pair<const char*, double> percentiles[] = {
        {"min_us", 0}, {"p50_us", 0.301}, {"p90_us", 1}, {"p99_us", 2}, {"p99_9_us", 3}};
    static const std::vector<std::pair<double, std::string>> labels = {
        {0, "min"}, {0.301, "50 %"}, {1, "90 %"}, {2, "99 %"}, {3, "99.9 %"}};
    std::string body;
    for (const json& size : sizes) {
        std::vector<chart_series> all;
        for (const json& r : size.value("latency", json::array())) {
            if (number_or(r, "frames", 1) == 0) continue;
            chart_series s{.name = fmt::format("at {} % of the throughput{}",
                                               r.at("percent").get<unsigned>(), counts_mark(r))};
            for (const auto& [key, nines] : percentiles)
                s.points.emplace_back(nines, number_or(r, key, 0));
            all.push_back(std::move(s));
        }
        body +=
            line_chart("Latency, " + size_name(size), {.title = "share of frames", .ticks = labels},
                       {.title = "latency, us", .log = true}, all);
    }
    if (!body.empty()) body += latency_table(sizes);
    if (!body.empty() && method.is_string())
        body += soft_line("The tester's own latency: " + method.get<std::string>() + ".");
    return body.empty() ? "" : section("latency", "Latency", body);
}

/// RFC 9004: the longest bursts without loss, and the buffer.
std::string back_to_back_section(const json& sizes) {
    std::vector<table_row> rows;
    for (const json& size : sizes) {
        const auto b = size.find("back_to_back");
        if (b == size.end()) continue;
        const auto frames = [&b](const char* figure) { return decimal_or_dash(*b, figure); };
        rows.push_back({size_name(size), frames("mean_frames"), frames("min_frames"),
                        frames("max_frames"), frames("deviation_frames"), frames("buffer_frames"),
                        frames("corrected_buffer_us"),
                        fmt::format("{:.0f}{}{}", number_or(*b, "repeats", 0),
                                    b->at("limited").get<bool>() ? ", limited by max_frames" : "",
                                    counts_mark(*b))});
    }
    if (rows.empty()) return {};
    return section("back-to-back", "Back-to-back frames",
                   table("Longest bursts without loss",
                         {"frames", "#mean", "#min", "#max", "#deviation", "#buffer", "#buffer, us",
                          "#repeats"},
                         rows));
}

/// Times of recovery: of the trials, and their mean.
std::string recovery_section(const json& sizes) {
    std::vector<table_row> rows;
    for (const auto& [procedure, figure, name] :
         {std::tuple{"system_recovery", "recovery_ms", "system recovery"},
          {"reset", "reset_ms", "reset"}})
        for (const json& size : sizes) {
            const auto t = size.find(procedure);
            if (t == size.end()) continue;
            std::string trials;
            for (const json& r : t->at("results"))
                trials +=
                    fmt::format("{}{:.3f}{}{}", trials.empty() ? "" : ", ", number_or(r, figure, 0),
                                r.at("recovered").get<bool>() ? "" : " (not recovered)",
                                r.value("counts", true) ? "" : " (does not count)");
            if (const std::string remark = trials_without(*t, "overloaded", "not overloaded");
                !remark.empty())
                trials += "; " + remark;
            const double mean = number_or(*t, "mean_ms", -1);
            rows.push_back({size_name(size), name, mean < 0 ? "-" : fmt::format("{:.3f}", mean),
                            trials.empty() ? "-" : trials});
        }
    if (rows.empty()) return {};
    return section("recovery", "System recovery and reset",
                   table("Times", {"frames", "procedure", "#mean, ms", "trials, ms"}, rows));
}

/// The loads of a search's trials, in their order.
std::string course_section(const json& sizes) {
    std::string body;
    for (const json& size : sizes) {
        chart_series whole{.name = "no frame lost", .line = false},
            lossy{.name = "frames lost", .line = false},
            others{.name = "does not count", .line = false};
        double number = 0;
        for (const json& t : size.value("trials", json::array())) {
            if (t.at("procedure") != "throughput") continue;
            chart_series& to = !t.at("counts").get<bool>()          ? others
                               : number_or(t, "loss_ratio", 0) == 0 ? whole
                                                                    : lossy;
            to.points.emplace_back(++number, number_or(t, "load_fps", 0));
        }
        body +=
            line_chart("Search, " + size_name(size), {.title = "trial", .whole = true, .min = 0},
                       {.title = "load, frames/s"}, {whole, lossy, others});
    }
    return body.empty() ? "" : section("search", "Course of the search", body);
}

std::string setup_section(const json& result) {
    std::vector<table_row> rows;
    for (const json& p : result.value("ports", json::array()))
        rows.push_back({html_text(p.at("name").get<std::string>()),
                        html_text(p.at("driver").get<std::string>()),
                        html_text(p.at("device").get<std::string>()),
                        number_or(p, "link_mbps", 0) > 0
                            ? short_number(number_or(p, "link_mbps", 0) * 1e6) + "bit/s"
                            : "-",
                        p.value("rx_timestamps", json()).is_string()
                            ? p["rx_timestamps"].get<std::string>()
                            : "-"});
    std::string traffic;
    for (const char* object : {"traffic", "trial"}) {
        const json members = result.value(object, json::object());
        for (const auto& [key, value] : members.items())
            traffic += fmt::format("{}{} {}", traffic.empty() ? "" : "; ", key,
                                   value.is_string() ? value.get<std::string>() : value.dump());
    }
    return section("setup", "Ports and traffic",
                   table("Ports", {"port", "driver", "device", "#link", "RX timestamps"}, rows) +
                       soft_line(traffic));
}

/// A value of each step for each size, in the sizes' order.
template <class Add>
void for_each_size(const json& steps, const Add& add) {
    for (const json& step : steps)
        for (const json& size : step.at("sizes")) add(step, size);
}

std::string steps_section(const json& steps) {
    std::vector<std::string> series;
    std::vector<bar_group> groups;
    for (const json& step : steps) series.push_back(step.at("name").get<std::string>());
    for_each_size(steps, [&](const json& step, const json& size) {
        const std::string name = size_name(size);
        auto g = std::ranges::find(groups, name, &bar_group::name);
        if (g == groups.end()) g = groups.insert(g, {.name = name});
        g->values.resize(series.size(), -1);
        const auto at = std::ranges::find(series, step.at("name").get<std::string>());
        g->values[static_cast<size_t>(at - series.begin())] = number_or(size, "throughput_fps", -1);
    });
    return section("throughput", "Throughput by frame size",
                   grouped_bars("frames per second", series, groups));
}

/// Empty where all steps have the same number of units.
std::string speedup_section(const json& steps, const std::string& unit) {
    std::vector<chart_series> all;
    chart_series linear{.name = "linear"};
    for_each_size(steps, [&](const json& step, const json& size) {
        const double units = step.at("units").get<double>();
        const bool at_least = size.value("at_least", false);
        if (const double speedup = number_or(size, "speedup", -1); speedup >= 0) {
            const std::string name = size_name(size) + (at_least ? ", at least" : "");
            auto s = std::ranges::find(all, name, &chart_series::name);
            if (s == all.end()) s = all.insert(s, {.name = name, .line = !at_least});
            s->points.emplace_back(units, speedup);
        }
        const auto first_done =
            std::ranges::find_if(steps, [](const json& s) { return !s.at("sizes").empty(); });
        const double first = first_done->at("units").get<double>();
        if (linear.points.empty() || linear.points.back().first != units)
            linear.points.emplace_back(units, units / first);
    });
    if (linear.points.size() < 2 || all.empty()) return {};
    all.push_back(std::move(linear));
    return section("speedup", "Speedup",
                   line_chart("Speedup over the first step", {.title = unit},
                              {.title = "throughput / the first step's"}, all));
}

std::string scale_section(const json& steps, const std::string& unit) {
    const auto figure = [](const json& of, const char* name, int digits, double per = 1) {
        return html_text(size_text(of, name, digits, per));
    };
    std::vector<table_row> rows;
    for_each_size(steps, [&](const json& step, const json& size) {
        rows.push_back({html_text(step.at("name").get<std::string>()),
                        fmt::format("{:g}", step.at("units").get<double>()), size_name(size),
                        figure(size, "throughput_fps", 6, 1e6), figure(size, "speedup", 2),
                        figure(size, "efficiency", 2), figure_text(step, "cpp", 0),
                        figure_text(step, "ipp", 0), figure_text(step, "ipc", 2)});
    });
    for (const json& step : steps)
        if (step.at("sizes").empty())
            rows.push_back({html_text(step.at("name").get<std::string>()),
                            fmt::format("{:g}", step.at("units").get<double>()), "-", "-", "-", "-",
                            "-", "-", "-"});
    std::string notes;
    for (const std::string& note : notes_of(steps)) notes += soft_line(note);
    const std::string units = "#" + html_text(unit);
    return section(
        "steps", "Setups of the device",
        table("Setups of the device",
              {"step", units, "frames", "#Mfps", "#speedup", "#efficiency", "#CPP", "#IPP", "#IPC"},
              rows) +
            notes);
}

}  // namespace

std::string begin_result_page(const json& of, const json& setup) {
    const auto name = of.value("name", std::string());
    std::string out = begin_page({.title = "turnpike-throughput " + name}) + "<header>";
    if (setup.is_object())
        out += fmt::format("<p class=\"verdict\"><strong>{}</strong>: {}</p>",
                           html_text(setup.at("kind").get<std::string>()),
                           html_text(setup.at("setup").get<std::string>()));
    return out + fmt::format(
                     "<h1>Throughput{}</h1><p class=\"soft\">turnpike-throughput {}{}</p>"
                     "</header><main>\n",
                     name.empty() ? "" : " of " + html_text(name),
                     html_text(of.at("version").get<std::string>()),
                     of.at("complete").get<bool>()
                         ? ""
                         : "; not complete: " + html_text(of.value("stopped", json()).is_string()
                                                              ? of["stopped"].get<std::string>()
                                                              : "stopped"));
}

std::string to_scale_page(const json& scaled) {
    const json steps = scaled.value("steps", json::array());
    const auto unit = scaled.at("unit").get<std::string>();
    return begin_result_page(scaled, first_result(steps)) + steps_section(steps) +
           speedup_section(steps, unit) + scale_section(steps, unit) + "</main>" + end_page();
}

std::string to_page(const json& result) {
    const json sizes = result.value("sizes", json::array());
    std::string out = begin_result_page(result, result);
    out += throughput_section(sizes) + loss_section(sizes) +
           latency_section(sizes, tester_method_of(result)) + back_to_back_section(sizes) +
           recovery_section(sizes) + course_section(sizes) + setup_section(result);
    return out + "</main>" + end_page();
}

}  // namespace turnpike::throughput
