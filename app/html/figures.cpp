// SPDX-License-Identifier: BSD-3-Clause
#include "html/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace turnpike::html {
namespace {

constexpr size_t figure_colours = 8;
constexpr double figure_width = 640;

/// The opening tag, with the title as the name for screen readers.
std::string svg_begin(const std::string& title, double width, double height,
                      std::string_view kind) {
    return fmt::format(
        R"(<svg class="{}" role="img" aria-label="{}" viewBox="0 0 {:.0f} {:.0f}" preserveAspectRatio="none">)",
        kind, html_text(title), width, height);
}

std::string legend_entry(size_t i, const std::string& text) {
    return fmt::format(R"(<li><i style="background:{}"></i>{}</li>)", colour(i), html_text(text));
}

}  // namespace

std::string colour(size_t series) { return fmt::format("var(--c{})", series % figure_colours); }

std::string legend(const std::vector<std::string>& series) {
    std::string out = R"(<ul class="legend">)";
    for (size_t s = 0; s < series.size(); ++s) out += legend_entry(s, series[s]);
    return out + "</ul>";
}

std::string html_text(std::string_view text) {
    std::string out;
    for (const char c : text) switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            case '\'':
                out += "&#39;";
                break;
            default:
                out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
        }
    return out;
}

std::string short_number(double value) {
    static constexpr std::string_view prefixes[] = {"", " k", " M", " G", " T"};
    size_t i = 0;
    while (std::abs(value) >= 999.5 && i + 1 < std::size(prefixes)) {
        value /= 1000;
        ++i;
    }
    const bool whole = i == 0 && value == std::floor(value);
    const int digits = whole || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    return fmt::format("{:.{}f}{}", value, digits, prefixes[i]);
}

std::string stacked_bar(const std::string& title, const std::vector<figure_part>& parts,
                        const std::string& unit) {
    double sum = 0;
    for (const figure_part& p : parts) sum += std::max(0.0, p.value);
    if (sum <= 0) return {};
    std::string bar = svg_begin(title, figure_width, 24, "bar"), names;
    double x = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].value <= 0) continue;
        const double width = figure_width * parts[i].value / sum;
        bar += fmt::format(
            R"(<rect x="{:.2f}" y="0" width="{:.2f}" height="24" fill="{}"><title>{}</title></rect>)",
            x, width, colour(i), html_text(parts[i].name));
        names += legend_entry(
            i, fmt::format("{} {}{} ({:.0f} %)", parts[i].name, short_number(parts[i].value), unit,
                           100 * parts[i].value / sum));
        x += width;
    }
    return bar + R"(</svg><ul class="legend">)" + names + "</ul>";
}

std::string grouped_bars(const std::string& title, const std::vector<std::string>& series,
                         const std::vector<bar_group>& groups) {
    double most = 0;
    for (const bar_group& g : groups)
        for (const double v : g.values) most = std::max(most, v);
    if (most <= 0) return {};
    std::string out = fmt::format(R"(<table class="bars"><caption>{}</caption>)", html_text(title));
    for (const bar_group& g : groups) {
        out += fmt::format(R"(<tr><th scope="row">{}</th><td>)", html_text(g.name));
        for (size_t s = 0; s < g.values.size(); ++s) {
            if (g.values[s] < 0) continue;
            out += fmt::format(
                R"(<span class="one"><b style="width:{:.1f}%;background:{}"></b><em>{}</em></span>)",
                75 * g.values[s] / most, colour(s), short_number(g.values[s]));
        }
        out += "</td></tr>";
    }
    return out + "</table>" + legend(series);
}

std::string level_bar(const std::string& title, double level, double warn) {
    const double width = std::clamp(level, 0.0, 1.0) * 100;
    return svg_begin(title, 100, 8, "level") +
           R"svg(<rect width="100" height="8" fill="var(--line)"/>)svg" +
           fmt::format(R"svg(<rect width="{:.2f}" height="8" fill="var({})"/></svg>)svg", width,
                       level >= warn ? "--warn" : "--c0");
}

std::string sparkline(const std::string& title, const std::vector<std::vector<double>>& lines) {
    constexpr double width = 120, height = 28;
    double most = 0;
    for (const auto& line : lines)
        for (const double v : line) most = std::max(most, v);
    std::string out = svg_begin(title, width, height, "spark");
    for (size_t i = 0; i < lines.size(); ++i) {
        if (lines[i].size() < 2) continue;
        std::string points;
        const double step = width / static_cast<double>(lines[i].size() - 1);
        for (size_t n = 0; n < lines[i].size(); ++n)
            points += fmt::format("{:.1f},{:.1f} ", step * static_cast<double>(n),
                                  height - 1 - (most > 0 ? lines[i][n] / most * (height - 2) : 0));
        out += fmt::format(
            R"(<polyline points="{}" fill="none" stroke="{}" vector-effect="non-scaling-stroke"/>)",
            points, colour(i));
    }
    return out + "</svg>";
}

}  // namespace turnpike::html
