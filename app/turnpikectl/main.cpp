// SPDX-License-Identifier: BSD-3-Clause
// turnpikectl [options] COMMAND: show and change the state of a running turnpike.
#include <cstdio>
#include <exception>

#include "ask.hpp"
#include "command_line.hpp"
#include "manual.hpp"
#include "version.hpp"

namespace {

using namespace turnpike;

int run(const std::vector<std::string>& words) {
    const auto line = ctl::read_command_line(words);
    if (!line) return ctl::complain(line.error(), ctl::exit_usage);
    if (line->says.options.contains("--help")) return ctl::print_help(line->says.values("WORD"));
    if (line->what == nullptr) return std::printf("%s\n", version) < 0 ? ctl::exit_refused : 0;
    return line->what->run != nullptr ? line->what->run(line->says)
                                      : ctl::ask(*line->what, line->says);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run({argv + 1, argv + argc});
    } catch (const std::exception& e) {
        std::fprintf(stderr, "turnpikectl: %s\n", e.what());
        return ctl::exit_refused;
    }
}
