// SPDX-License-Identifier: BSD-3-Clause
// turnpike-pcie: tables and figures from lib/pcie's model (doc/pcie.md), and `measure`, which reads
// hardware counters (doc/measure.md).
#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/standard_descriptors.hpp"
#include "cell.hpp"
#include "figure.hpp"
#include "measure.hpp"
#include "options.hpp"
#include "print.hpp"

namespace {

using namespace turnpike;
using namespace turnpike::pcie_tool;

int refuse(const error& why) {
    fmt::print(stderr, "turnpike-pcie: {}\n", why.message());
    return why.code == EINVAL ? exit_refused : exit_failed;
}

std::string text_of(const request& r, const std::vector<cell>& cells) {
    switch (r.format) {
        case output::table:
            return r.link_only ? link_text(r) : table_text(r, cells);
        case output::csv:
            return csv_text(cells);
        case output::json:
            return json_text(r, cells);
    }
    return {};
}

int print(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
        return 0;
    return refuse({errno, "standard output", "cannot be written"});
}

int run(const request& r) {
    if (r.list_profiles) return print(profiles_text(r));
    const result<std::vector<cell>> cells = r.link_only ? std::vector<cell>{} : price(r);
    if (!cells) return refuse(cells.error());
    if (!r.figure.empty()) {
        if (const auto drawn = draw_figure(r, *cells); !drawn) return refuse(drawn.error());
        fmt::print(stderr, "turnpike-pcie: drew {0}.svg and {0}.png\n", r.figure);
        if (r.format == output::table) return 0;  // the user asked only for the figure
    }
    return print(text_of(r, *cells));
}

}  // namespace

int main(int argc, char** argv) {
    open_standard_descriptors();
    if (argc > 1 && std::string_view(argv[1]) == "measure") {
        const auto asked = read_measure_command_line(argc - 1, argv + 1);
        return asked.run ? measure(asked.wanted) : asked.exit_code;
    }
    const auto line = read_command_line(argc, argv);
    return line.wanted ? run(*line.wanted) : line.exit_code;
}
