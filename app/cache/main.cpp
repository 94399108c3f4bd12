// SPDX-License-Identifier: BSD-3-Clause
// turnpike-cache: placements of lib/cache as a table, CSV and figures.
#include <fmt/core.h>

#include <cstdio>

#include "base/standard_descriptors.hpp"
#include "figure/gnuplot.hpp"
#include "options.hpp"
#include "print.hpp"

int main(int argc, char** argv) {
    turnpike::open_standard_descriptors();
    using namespace turnpike::cache_tool;
    const auto line = read_command_line(argc, argv);
    if (!line.wanted) return line.exit_code;
    const request& r = *line.wanted;
    const auto rows = rows_of(r);
    if (!r.figure.empty()) {
        if (const auto drawn = turnpike::figure::run_gnuplot(figure_script(r, rows)); !drawn) {
            fmt::print(stderr, "turnpike-cache: {}\n", drawn.error().message());
            return exit_failed;
        }
        fmt::print(stderr, "turnpike-cache: drew {0}.svg and {0}.png\n", r.figure);
    }
    const std::string text = r.csv ? csv_text(r, rows) : table_text(r, rows);
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
        return 0;
    fmt::print(stderr, "turnpike-cache: cannot write to standard output\n");
    return exit_failed;
}
