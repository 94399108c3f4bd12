// SPDX-License-Identifier: BSD-3-Clause
#include "picture.hpp"

#include <fmt/format.h>

#include <fstream>

#include "figure/gnuplot.hpp"

namespace turnpike::bench::dma {
namespace {

// Colours that colour-blind readers can distinguish (Okabe and Ito).
constexpr const char* colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                   "#e69f00", "#56b4e9", "#000000"};

std::string drawn(const picture& p, const curve& c, size_t index, size_t colour) {
    const char* const columns = c.looks == curve::look::line_errors ? "1:2:3:4" : "1:2";
    std::string how;
    switch (c.looks) {
        case curve::look::line:
            how = "lines lw 2";
            break;
        case curve::look::dashed:
            how = "lines lw 1.5 dt 2";
            break;
        case curve::look::points:
            how = "points pt 2 ps 1.4 lw 2";
            break;
        case curve::look::line_points:
            how = "linespoints lw 1.5 pt 7 ps 0.5";
            break;
        case curve::look::line_errors:
            how = "yerrorlines lw 1.5 pt 7 ps 0.5";
            break;
    }
    return fmt::format("'{}.dat' index {} using {} with {} lc rgb '{}' title {}", p.name, index,
                       columns, how, colours[colour % std::size(colours)], figure::quoted(c.title));
}

std::string commands_of(const picture& p) {
    if (p.panels.empty()) return p.commands;
    std::string out = fmt::format("set multiplot layout 1,{} title {}\n", p.panels.size(),
                                  figure::quoted(p.title));
    size_t index = 0;
    for (const panel& one : p.panels) {
        out += fmt::format("set title {}\nset ylabel {}\n", figure::quoted(one.title),
                           figure::quoted(one.y_label));
        out += one.from_zero ? "set yrange [0:*]\n" : "set yrange [*:*]\n";
        out += one.x == panel::axis::bytes ? "set xlabel 'transfer (bytes)'\nset format x '%g'\n"
                                           : "set xlabel 'window (bytes)'\nset format x '%.0b%B'\n";
        std::string curves;
        for (size_t i = 0; i < one.curves.size(); ++i)
            curves += (i == 0 ? "" : ", \\\n     ") + drawn(p, one.curves[i], index++, i);
        out += "plot " + curves + "\n";
    }
    return out + "unset multiplot\n";
}

result<void> write_file(const std::filesystem::path& path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    file.close();
    if (!file)
        return fail(EIO, path.string(), "cannot be written; --figures takes an existing folder");
    return {};
}

}  // namespace

std::string data_of(const picture& p) {
    std::string out = fmt::format("# {}\n# x y low high\n", p.title);
    bool first = true;
    for (const panel& one : p.panels)
        for (const curve& c : one.curves) {
            out += fmt::format("{}# {}: {}\n", first ? "" : "\n\n", one.title, c.title);
            first = false;
            for (const curve_point& at : c.points)
                out += fmt::format("{:g} {:.6g} {:.6g} {:.6g}\n", at.x, at.y, at.low, at.high);
        }
    return out;
}

std::string script_of(const picture& p) {
    const size_t panels = p.panels.empty() ? 2 : p.panels.size();
    const std::string commands = commands_of(p);
    std::string out = "set encoding utf8\n";
    if (!p.panels.empty())
        out +=
            "set grid lt 1 lc rgb '#dddddd'\nset border 3\nset tics nomirror\nset logscale x 2\n"
            "set bmargin 11\nset key bmargin left vertical maxrows 7 reverse Left\n";
    out += fmt::format(
        "set terminal svg size {},560 font 'Helvetica,12' noenhanced background '#ffffff'\nset "
        "output "
        "'{}.svg'\n{}",
        420 * panels + 60, p.name, commands);
    out += fmt::format(
        "set terminal pngcairo size {},700 font 'Sans,10' noenhanced\nset output '{}.png'\n{}unset "
        "output\n",
        520 * panels + 80, p.name, commands);
    return out;
}

result<bool> write_picture(const picture& p, const std::filesystem::path& folder) {
    for (const auto& [ending, text] : {std::pair{".dat", data_of(p)}, {".gnuplot", script_of(p)}})
        if (auto written = write_file(folder / (p.name + ending), text); !written)
            return tl::unexpected(written.error());
    const auto drawing = figure::run_gnuplot(
        fmt::format("cd {}\nload '{}.gnuplot'\n", figure::quoted(folder.string()), p.name));
    if (!drawing && drawing.error().code == ENOENT) return false;
    if (!drawing) return tl::unexpected(drawing.error());
    return true;
}

}  // namespace turnpike::bench::dma
