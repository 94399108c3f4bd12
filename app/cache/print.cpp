// SPDX-License-Identifier: BSD-3-Clause
#include "print.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "figure/gnuplot.hpp"

namespace turnpike::cache_tool {

std::vector<row> rows_of(const request& r) {
    std::vector<row> out{
        {"naive", cache::packed(r.layout, r.page_bytes), 0, {}},
        {"dpdk", cache::odd_lines(r.layout, r.page_bytes), 0, {}},
        {"turnpike", cache::place(r.layout, r.caches, r.page_bytes, r.objects), 0, {}}};
    uint64_t least = 0;
    for (row& one : out) {
        const auto objects = cache::places(one.placed, r.objects);
        const uint64_t bytes = objects.back() + r.layout.bytes - objects.front();
        if (least == 0) least = bytes;  // the packed layout
        one.overhead = static_cast<double>(bytes) / static_cast<double>(least) - 1;
        for (const auto& level : r.caches.levels)
            one.by_level.push_back(cache::measured(level, objects, r.layout.hot));
    }
    return out;
}

std::string table_text(const request& r, const std::vector<row>& rows) {
    std::string out = fmt::format("{} objects of {} bytes, {} hot lines each; caches: {}\n",
                                  r.objects, r.layout.bytes, r.layout.hot.size(), r.caches.source);
    out += fmt::format("{:<10}{:<44}{:>9}{:>7}{:>9}{:>9}{:>10}{:>8}\n", "", "placement", "overhead",
                       "cache", "mean", "most", "most/mean", "unused");
    for (const row& one : rows)
        for (size_t i = 0; i < one.by_level.size(); ++i) {
            const auto& h = one.by_level[i];
            out += fmt::format("{:<10}{:<44}{:>8.2f}%{:>7}{:>9.2f}{:>9}{:>10.3f}{:>8}\n",
                               i == 0 ? one.name : "", i == 0 ? one.placed.text() : "",
                               100 * one.overhead, fmt::format("L{}", r.caches.levels[i].number),
                               h.mean(), h.most(), h.max_over_mean(),
                               std::count(h.lines.begin(), h.lines.end(), 0u));
        }
    return out;
}

std::string csv_text(const request& r, const std::vector<row>& rows) {
    std::string out = "placement,level,set,lines\n";
    for (const row& one : rows)
        for (size_t i = 0; i < one.by_level.size(); ++i)
            for (size_t set = 0; set < one.by_level[i].lines.size(); ++set)
                out += fmt::format("{},{},{},{}\n", one.name, r.caches.levels[i].number, set,
                                   one.by_level[i].lines[set]);
    return out;
}

std::string figure_script(const request& r, const std::vector<row>& rows) {
    const auto level = static_cast<size_t>(r.caches.find(r.level) - r.caches.levels.data());
    const uint32_t sets = r.caches.levels[level].sets;
    uint32_t top = 1;
    std::string script, plots;
    for (const row& one : rows) {
        top = std::max(top, one.by_level[level].most());
        script += fmt::format("${} << EOD\n", one.name);
        for (const uint32_t lines : one.by_level[level].lines) script += fmt::format("{}\n", lines);
        script += "EOD\n";
        plots +=
            fmt::format("set title {}\nplot ${} using 0:1 with boxes lc rgb '#0072b2' notitle\n",
                        figure::quoted(fmt::format("{}: {}, {:.1f}% padding", one.name,
                                                   one.placed.text(), 100 * one.overhead)),
                        one.name);
    }
    script += fmt::format(
        "set style fill solid 1.0 noborder\nset boxwidth 1\nset xrange [-1:{}]\nset yrange [0:{}]\n"
        "set border 3\nset xtics nomirror\nset ytics nomirror\nset xlabel 'set'\nset ylabel "
        "'lines'\n",
        sets, top + top / 10 + 1);
    const std::string whole = fmt::format(
        "set multiplot layout {},1 title 'Touched lines in each of the {} sets of L{}: {} objects "
        "of {} bytes'\n{}"
        "unset multiplot\n",
        rows.size(), sets, r.level, r.objects, r.layout.bytes, plots);
    script += fmt::format(
        "set terminal svg size 900,900 font 'Helvetica,13' background '#ffffff'\nset output {}\n{}",
        figure::quoted(r.figure + ".svg"), whole);
    script += fmt::format(
        "set terminal pngcairo size 1200,1200 font 'Sans,12'\nset output {}\n{}unset output\n",
        figure::quoted(r.figure + ".png"), whole);
    return script;
}

}  // namespace turnpike::cache_tool
