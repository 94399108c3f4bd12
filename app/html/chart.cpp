// SPDX-License-Identifier: BSD-3-Clause
#include "html/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "html/figures.hpp"

namespace turnpike::html {
namespace {

constexpr double chart_width = 640, chart_height = 300, chart_left = 68, chart_right = 30,
                 chart_top = 10, chart_bottom = 40;

/// Maps values of an axis to coordinates.
class scale {
  public:
    scale(const chart_axis& axis, double least, double most, double from, double to)
        : axis_(axis), from_(from), to_(to) {
        if (axis.log) {
            low_ = std::floor(std::log10(axis.min.value_or(least)));
            high_ = std::max(low_ + 1, std::ceil(std::log10(most)));
            return;
        }
        low_ = axis.min.value_or(std::min(0.0, least));
        high_ = most > low_ ? most : low_ + 1;
        if (!axis.ticks.empty()) high_ = std::max(high_, axis.ticks.back().first);
    }
    [[nodiscard]] bool has(double value) const {
        return std::isfinite(value) && (!axis_.log || value > 0);
    }
    [[nodiscard]] double at(double value) const {
        const double v = axis_.log ? std::log10(value) : value;
        return from_ + (v - low_) / (high_ - low_) * (to_ - from_);
    }
    /// Values and their labels: the axis' own, decades, or steps of 1, 2 or 5 times a power of ten.
    [[nodiscard]] std::vector<std::pair<double, std::string>> ticks() const {
        if (!axis_.ticks.empty()) return axis_.ticks;
        std::vector<std::pair<double, std::string>> out;
        if (axis_.log) {
            for (double decade = low_; decade <= high_; ++decade)
                out.emplace_back(std::pow(10, decade), short_number(std::pow(10, decade)));
            return out;
        }
        const double rough = (high_ - low_) / 5,
                     power = std::pow(10, std::floor(std::log10(rough)));
        double step = 10 * power;
        for (const double factor : {5.0, 2.0, 1.0})
            if (factor * power >= rough) step = factor * power;
        if (axis_.whole) step = std::max(1.0, step);
        for (double v = std::ceil(low_ / step) * step; v <= high_ + step / 100; v += step)
            out.emplace_back(v, short_number(std::abs(v) < step / 100 ? 0 : v));
        return out;
    }

  private:
    const chart_axis& axis_;
    double from_, to_, low_ = 0, high_ = 1;
};

struct range {
    double least = HUGE_VAL, most = -HUGE_VAL;
    void add(double value, const chart_axis& axis) {
        if (!std::isfinite(value) || (axis.log && value <= 0)) return;
        least = std::min(least, value);
        most = std::max(most, value);
    }
    [[nodiscard]] bool empty() const { return least > most; }
};

std::string text_at(double x, double y, std::string_view anchor, const std::string& text) {
    return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)", x, y, anchor,
                       html_text(text));
}

std::string grid_line(double x1, double y1, double x2, double y2) {
    return fmt::format(
        R"svg(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="var(--line)"/>)svg", x1,
        y1, x2, y2);
}

std::string axes(const scale& to_x, const scale& to_y, const chart_axis& x, const chart_axis& y) {
    std::string out;
    for (const auto& [value, label] : to_y.ticks())
        out += grid_line(chart_left, to_y.at(value), chart_width - chart_right, to_y.at(value)) +
               text_at(chart_left - 6, to_y.at(value) + 4, "end", label);
    for (const auto& [value, label] : to_x.ticks())
        out += grid_line(to_x.at(value), chart_height - chart_bottom, to_x.at(value),
                         chart_height - chart_bottom + 4) +
               text_at(to_x.at(value), chart_height - chart_bottom + 16, "middle", label);
    out +=
        text_at((chart_left + chart_width - chart_right) / 2, chart_height - 6, "middle", x.title);
    return out + fmt::format(R"svg(<text x="12" y="{0:.0f}" transform="rotate(-90 12 {0:.0f})" )svg"
                             R"(text-anchor="middle">{1}</text>)",
                             (chart_top + chart_height - chart_bottom) / 2, html_text(y.title));
}

std::string drawn(const chart_series& s, const std::string& stroke, const scale& to_x,
                  const scale& to_y) {
    std::string line, marks;
    for (const auto& [x, y] : s.points) {
        if (!to_x.has(x) || !to_y.has(y)) continue;
        line += fmt::format("{:.1f},{:.1f} ", to_x.at(x), to_y.at(y));
        marks += fmt::format(
            R"(<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="{}"><title>{}: {}, {}</title></circle>)",
            to_x.at(x), to_y.at(y), stroke, html_text(s.name), short_number(x), short_number(y));
    }
    if (!s.line || line.empty()) return marks;
    return fmt::format(R"(<polyline points="{}" fill="none" stroke="{}" stroke-width="1.5"/>)",
                       line, stroke) +
           marks;
}

}  // namespace

std::string line_chart(const std::string& title, const chart_axis& x, const chart_axis& y,
                       const std::vector<chart_series>& series) {
    range of_x, of_y;
    std::vector<std::string> names;
    for (const chart_series& s : series) {
        names.push_back(s.name);
        for (const auto& [px, py] : s.points) {
            of_x.add(px, x);
            of_y.add(py, y);
        }
    }
    if (of_x.empty() || of_y.empty()) return {};
    const scale to_x(x, of_x.least, of_x.most, chart_left, chart_width - chart_right),
        to_y(y, of_y.least, of_y.most, chart_height - chart_bottom, chart_top);
    std::string out = fmt::format(
        R"(<h3>{0}</h3><div class="scroll" tabindex="0" role="region" aria-label="{0}">)"
        R"(<svg class="chart" role="img" aria-label="{0}" viewBox="0 0 {1:.0f} {2:.0f}">)",
        html_text(title), chart_width, chart_height);
    out += axes(to_x, to_y, x, y);
    for (size_t i = 0; i < series.size(); ++i) out += drawn(series[i], colour(i), to_x, to_y);
    return out + "</svg></div>" + legend(names);
}

}  // namespace turnpike::html
