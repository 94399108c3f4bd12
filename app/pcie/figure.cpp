// SPDX-License-Identifier: BSD-3-Clause
#include "figure.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "figure/gnuplot.hpp"

namespace turnpike::pcie_tool {
namespace {

using figure::quoted;

struct style {
    const char* profile;
    const char* title;  // the curve's title in the paper
    const char* colour;
};

// Colours that colour-blind readers can distinguish (Okabe and Ito).
constexpr style paper_styles[] = {
    {"data-only", "Effective PCIe BW", "#000000"},
    {"niantic-dpdk", "Modern NIC (DPDK driver)", "#0072b2"},
    {"niantic-kernel", "Modern NIC (kernel driver)", "#d55e00"},
    {"simple", "Simple NIC", "#009e73"},
};
constexpr size_t figure_1_curves = std::size(paper_styles);  // as many fit below the curves
constexpr const char* other_colours[] = {"#cc79a7", "#e69f00", "#56b4e9", "#8c510a",
                                         "#5e3c99", "#1b7837", "#b2182b", "#4d4d4d"};

style style_of(const std::string& profile, size_t position) {
    for (const auto& known : paper_styles)
        if (profile == known.profile) return known;
    return {profile.c_str(), profile.c_str(), other_colours[position % std::size(other_colours)]};
}

std::set<double> ethernet_speeds(const std::vector<cell>& cells) {
    std::set<double> speeds;
    for (const auto& c : cells)
        if (c.ethernet_gbps > 0) speeds.insert(c.ethernet_gbps);
    return speeds;
}

std::string data_blocks(const request& r, const std::vector<cell>& cells) {
    std::string script;
    for (size_t p = 0; p < r.profiles.size(); ++p) {
        script += fmt::format("$profile{} << EOD\n", p);
        for (const auto& c : cells)
            if (c.bill.profile.name == r.profiles[p].name)
                script += fmt::format("{} {:.6f}\n", c.frame_bytes, c.both.gbps);
        script += "EOD\n";
    }
    size_t e = 0;
    for (const double speed : ethernet_speeds(cells)) {
        script += fmt::format("$ethernet{} << EOD\n", e++);
        for (const uint32_t frame : r.frames)
            script += fmt::format("{} {:.6f}\n", frame, pcie::ethernet_payload_gbps(speed, frame));
        script += "EOD\n";
    }
    return script;
}

std::string plot_command(const request& r, const std::vector<cell>& cells) {
    std::string curves;
    const auto add = [&curves](const std::string& curve) {
        curves += (curves.empty() ? "" : ", \\\n     ") + curve;
    };
    for (size_t p = 0; p < r.profiles.size(); ++p) {
        const style s = style_of(r.profiles[p].name, p);
        add(fmt::format("$profile{} with lines lw 2 lc rgb '{}' title {}", p, s.colour,
                        quoted(s.title)));
        if (p == 0) {  // the line rates are second in the key, as in the paper
            size_t e = 0;
            for (const double speed : ethernet_speeds(cells)) {
                add(
                    fmt::format("$ethernet{} with lines lw 1.5 dt {} lc rgb '#777777' "
                                "title '{:g}G Ethernet'",
                                e, e + 2, speed));
                ++e;
            }
        }
    }
    return "plot " + curves + "\n";
}

}  // namespace

std::string figure_script(const request& r, const std::vector<cell>& cells) {
    double top = 10;
    for (const auto& c : cells) top = std::max(top, c.both.gbps);
    const double max_ethernet_mtu = 2 * top;  // omit faster lines, which would compress the curves
    for (const double speed : ethernet_speeds(cells))
        if (speed < max_ethernet_mtu) top = std::max(top, speed);
    const uint32_t shortest = std::ranges::min(r.frames);
    const char* const key = r.profiles.size() <= figure_1_curves ? "bottom right" : "outside right";
    std::string script = data_blocks(r, cells);
    script += fmt::format(
        "set xlabel 'Ethernet frame size (bytes)'\nset ylabel 'Bandwidth, both directions at once "
        "(Gb/s each way)'\n"
        "set title 'PCIe {}, MPS {}, MRRS {}: modelled bidirectional bandwidth'\n"
        "set key {} reverse Left\nset grid lt 1 lc rgb '#dddddd'\nset border 3\n"
        "set xtics nomirror\nset ytics nomirror\n"
        "set xrange [{}:{}]\nset yrange [0:{}]\n",
        to_string(r.link), r.link.mps, r.link.mrrs, key, shortest <= 64 ? 0 : shortest,
        std::ranges::max(r.frames), std::ceil((top + 1) / 10) * 10);
    const std::string plot = plot_command(r, cells);
    script += fmt::format(
        "set terminal svg size 900,560 font 'Helvetica,14' background '#ffffff'\nset output {}\n{}",
        quoted(r.figure + ".svg"), plot);
    script += fmt::format(
        "set terminal pngcairo size 1200,750 font 'Sans,13'\nset output {}\n{}unset output\n",
        quoted(r.figure + ".png"), plot);
    return script;
}

result<void> draw_figure(const request& r, const std::vector<cell>& cells) {
    if (std::ranges::min(r.frames) == std::ranges::max(r.frames))
        return fail(EINVAL, "--figure", "a curve needs two frame sizes or more: --frame 64-1500");
    return figure::run_gnuplot(figure_script(r, cells));
}

}  // namespace turnpike::pcie_tool
