// SPDX-License-Identifier: BSD-3-Clause
#include "figures.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>

#include "paper.hpp"
#include "pcie/cost.hpp"
#include "plan.hpp"

namespace turnpike::bench::dma {
namespace {

using nlohmann::json;
using choice = std::function<bool(const json&)>;

bool is(const json& cell, const char* test, const char* cache) {
    return cell["test"] == test && cell["cache"] == cache && cell["pattern"] == "random" &&
           cell["offset"] == 0;
}

std::vector<curve_point> points(const json& cells, const char* x, const char* y,
                                const choice& pick) {
    std::vector<curve_point> all;
    for (const json& cell : cells)
        if (pick(cell)) {
            curve_point at{.x = cell[x].get<double>(), .y = 0, .low = 0, .high = 0};
            if (cell.contains(y) && cell[y].is_object()) {
                at.y = cell[y]["median"].get<double>();
                at.low = cell[y]["min"].get<double>();
                at.high = cell[y]["p95"].get<double>();
            } else {
                at.y = cell[y].get<double>();
            }
            all.push_back(at);
        }
    std::ranges::sort(all, {}, &curve_point::x);
    return all;
}

const char* bound_of(const json& cells, const char* test) {
    for (const json& cell : cells)
        if (cell["test"] == test)
            return cell["means"] == "upper_bound"   ? " (upper bound)"
                   : cell["means"] == "lower_bound" ? " (lower bound)"
                                                    : "";
    return "";
}

void add_curve(panel& to, curve c) {
    if (!c.points.empty()) to.curves.push_back(std::move(c));
}

/// Values from the paper's text, for figures that have them.
void add_paper_points(panel& to, int number, const char* test) {
    for (const json& n : paper_numbers()["numbers"])
        if (n["figure"] == number && n["test"] == test && !n.contains("of"))
            to.curves.push_back(
                {fmt::format("paper, {}: {}{:g} {}", n["system"].get<std::string>(),
                             n["about"].get<bool>() ? "about " : "", n["value"].get<double>(),
                             n["unit"].get<std::string>()),
                 curve::look::points,
                 {{n["size"].get<double>(), n["value"].get<double>()}}});
}

/// Figure 4: the window, its units and cache lines, and the transfer in a unit.
picture layout_picture(const json& cells) {
    const json& cell = cells.front();
    const access_window w{cell["window"], cell["size"], cell["offset"]};
    const double unit = static_cast<double>(w.unit_bytes());
    const uint64_t shown = std::min<uint64_t>(w.units(), 3);
    std::string out =
        "unset border\nunset tics\nunset key\nset xrange [-0.05:1.05]\nset yrange [-0.6:1.5]\n";
    out += fmt::format(
        "set title 'window of {} bytes: {} units of {} bytes (whole cache lines), a transfer of {} "
        "bytes at offset {} of each'\n",
        w.bytes, w.units(), w.unit_bytes(), w.transfer_bytes, w.offset_bytes);
    int object = 1;
    const double scale = 1 / (unit * static_cast<double>(shown));
    for (uint64_t u = 0; u < shown; ++u) {
        const double start = static_cast<double>(u) * unit * scale;
        const double from = start + w.offset_bytes * scale, to = from + w.transfer_bytes * scale;
        out += fmt::format(
            "set object {} rect from {:.6f},0 to {:.6f},1 fc rgb '#ffffff' fs border lc rgb "
            "'#000000'\n",
            object++, start, start + unit * scale);
        out += fmt::format(
            "set object {} rect from {:.6f},0.1 to {:.6f},0.9 fc rgb '#56b4e9' fs noborder\n",
            object++, from, to);
        for (uint64_t line = 1; line < w.unit_bytes() / host_line_bytes && line < 64; ++line)
            out +=
                fmt::format("set arrow from {0:.6f},0 to {0:.6f},1 nohead dt 3 lc rgb '#777777'\n",
                            start + static_cast<double>(line * host_line_bytes) * scale);
        out +=
            fmt::format("set label 'unit {}' at {:.6f},1.15 center\n", u, start + unit * scale / 2);
    }
    out +=
        "set label 'blue: bytes transferred; dotted: cache lines; the rest of the window is "
        "alike' at 0.5,-0.3 center\n";
    return {"figure4", "Host buffer layout and access parameters", {}, out + "plot 1/0 notitle\n"};
}

bool baseline(const json& cell, const char* test) {
    return is(cell, test, "warm") && cell["window"] == usual_window.bytes && cell["local"] == true;
}

picture baseline_bandwidth(const figures_input& in) {
    picture p{"figure5", "DMA bandwidth, window 8K, warm", {}};
    for (const micro_benchmark test :
         {micro_benchmark::bw_rd, micro_benchmark::bw_wr, micro_benchmark::bw_rdwr}) {
        const char* const name = name_of(test);
        panel one{std::string(name) + bound_of(in.cells, name), "Gb/s", panel::axis::bytes, {}};
        add_curve(one, {"this engine", curve::look::line_points,
                        points(in.cells, "size", "gbps",
                               [&](const json& c) { return baseline(c, name); })});
        if (one.curves.empty()) continue;
        curve model{fmt::format("model, {}", pcie::to_string(in.link)), curve::look::line, {}};
        curve ethernet{"40G Ethernet", curve::look::dashed, {}};
        for (uint32_t size = 64; size <= 2048; ++size) {
            if (size % 32 > 1) continue;  // the steps of the curve are at multiples of MPS
            const double gbps = *modelled_gbps(in.link, test, {usual_window.bytes, size, 0});
            model.points.push_back({static_cast<double>(size), gbps});
            ethernet.points.push_back(
                {static_cast<double>(size), pcie::ethernet_payload_gbps(40, size + 4)});
        }
        one.curves.push_back(std::move(model));
        one.curves.push_back(std::move(ethernet));
        add_paper_points(one, 5, name);
        p.panels.push_back(std::move(one));
    }
    return p;
}

picture baseline_latency(const figures_input& in) {
    picture p{"figure6", "DMA latency, window 8K, warm: median, minimum and 95th percentile", {}};
    for (const char* const test : {"LAT_RD", "LAT_WRRD"}) {
        panel one{test + std::string(bound_of(in.cells, test)), "ns", panel::axis::bytes, {}};
        add_curve(one, {"this engine", curve::look::line_errors,
                        points(in.cells, "size", "latency_ns",
                               [&](const json& c) { return baseline(c, test); })});
        if (one.curves.empty()) continue;
        add_paper_points(one, 6, test);
        p.panels.push_back(std::move(one));
    }
    return p;
}

picture cache_effects(const figures_input& in) {
    picture p{"figure7",
              fmt::format("Cache effects (last cache: {})", bytes_text(in.last_cache_bytes)),
              {}};
    panel latency{"8 bytes: median, minimum and 95th percentile", "ns", panel::axis::windows, {}};
    panel bandwidth{"64 bytes", "Gb/s", panel::axis::windows, {}};
    for (const char* const cache : {"cold", "warm"}) {
        for (const char* const test : {"LAT_RD", "LAT_WRRD"})
            add_curve(latency, {fmt::format("{} {}{}", test, cache, bound_of(in.cells, test)),
                                curve::look::line_errors,
                                points(in.cells, "window", "latency_ns", [&](const json& c) {
                                    return is(c, test, cache) && c["size"] == 8 &&
                                           c["local"] == true;
                                })});
        for (const char* const test : {"BW_RD", "BW_WR"})
            add_curve(bandwidth, {fmt::format("{} {}{}", test, cache, bound_of(in.cells, test)),
                                  curve::look::line_points,
                                  points(in.cells, "window", "gbps", [&](const json& c) {
                                      return is(c, test, cache) && c["size"] == 64 &&
                                             c["local"] == true;
                                  })});
    }
    for (panel* one : {&latency, &bandwidth})
        if (!one->curves.empty()) p.panels.push_back(std::move(*one));
    return p;
}

/// Change of `now` against `before` in per cent, for windows that both have.
std::vector<curve_point> changes(const std::vector<curve_point>& before,
                                 const std::vector<curve_point>& now) {
    std::vector<curve_point> all;
    for (const auto& n : now)
        for (const auto& b : before)
            if (b.x == n.x) all.push_back({n.x, 100 * (n.y / b.y - 1)});
    return all;
}

std::vector<curve_point> read_bandwidth(const json& cells, uint32_t size, bool local) {
    return points(cells, "window", "gbps", [&](const json& c) {
        return is(c, "BW_RD", "warm") && c["size"] == size && c["local"] == local;
    });
}

/// BW_RD's change by window, and the paper's values as dashed lines over the windows that it names.
picture change_picture(int number, const char* title, const figures_input& in,
                       const std::function<std::vector<curve_point>(uint32_t)>& change) {
    picture p{fmt::format("figure{}", number), title, {}};
    panel one{fmt::format("BW_RD, warm{}", bound_of(in.cells, "BW_RD")),
              "change (%)",
              panel::axis::windows,
              {},
              false};
    for (const uint32_t size : compared_sizes())
        add_curve(one, {fmt::format("{} bytes", size), curve::look::line_points, change(size)});
    if (one.curves.empty()) return p;
    constexpr double least = 4096, most = 64u << 20, paper_cache = 25u << 20;
    for (const json& n : paper_numbers()["numbers"]) {
        if (n["figure"] != number || n["test"] != "BW_RD" || n.contains("of")) continue;
        const bool within = n.value("within_cache", false);
        const double from = n.contains("beyond_window") ? n["beyond_window"].get<double>()
                            : within                    ? least
                                                        : paper_cache;
        const double to = within ? paper_cache : most, value = n["value"].get<double>();
        one.curves.push_back(
            {fmt::format("paper, {} bytes: about {:g} %", n["size"].get<int>(), value),
             curve::look::dashed,
             {{from, value}, {to, value}}});
    }
    p.panels.push_back(std::move(one));
    return p;
}

}  // namespace

std::vector<figure_or_why> figures_of(const figures_input& in) {
    std::vector<figure_or_why> all;
    all.push_back({4, layout_picture(in.cells), {}});
    all.push_back({5, baseline_bandwidth(in),
                   "no bandwidth was measured in a warm window of 8K, at random and offset 0"});
    all.push_back({6, baseline_latency(in),
                   "no latency was measured in a warm window of 8K, at random and offset 0"});
    all.push_back(
        {7, cache_effects(in),
         "no latency of 8 bytes and no bandwidth of 64 bytes was measured, cold or warm"});
    all.push_back({8,
                   change_picture(8, "Reads of remote NUMA memory against local memory", in,
                                  [&](uint32_t size) {
                                      return changes(read_bandwidth(in.cells, size, true),
                                                     read_bandwidth(in.cells, size, false));
                                  }),
                   "BW_RD was measured on one NUMA node only (it needs a machine with two, and "
                   "hugepages on both)"});
    all.push_back(
        {9,
         change_picture(9, "Reads against an earlier run (with an IOMMU and without)", in,
                        [&](uint32_t size) {
                            return in.against == nullptr
                                       ? std::vector<curve_point>{}
                                       : changes(read_bandwidth(*in.against, size, true),
                                                 read_bandwidth(in.cells, size, true));
                        }),
         in.against == nullptr
             ? "it needs an earlier run to compare with, of the machine without its IOMMU: "
               "--against RUN.json"
             : "the earlier run and this one have no common BW_RD row, warm and of the same "
               "window"});
    for (figure_or_why& f : all)
        if (!f.drawing.panels.empty() || !f.drawing.commands.empty()) f.why.clear();
    return all;
}

}  // namespace turnpike::bench::dma
