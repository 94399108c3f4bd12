// SPDX-License-Identifier: BSD-3-Clause
// turnpikectl [options] COMMAND: show and change the state of a running turnpike.
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <system_error>

#include "ask.hpp"
#include "base/standard_descriptors.hpp"
#include "command_line.hpp"
#include "manual.hpp"
#include "session.hpp"
#include "version.hpp"

namespace {

using namespace turnpike;

int run(const std::vector<std::string>& words) {
    if (const auto split = ctl::split_options(words);
        split && split->words.empty() && split->open.empty() &&
        !split->options.contains("--help") && !split->options.contains("--version") &&
        ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1)
        return ctl::run_prompt(words);
    // `conf` is `configure` on other routers: it must not confirm a change.
    constexpr std::string_view of_prompt[] = {"configure"};
    const auto line = ctl::read_command_line(words, true, of_prompt);
    if (!line) return ctl::complain(line.error(), ctl::exit_usage);
    if (line->says.options.contains("--help")) return ctl::print_help(line->says.values("WORD"));
    if (line->what == nullptr) return std::printf("%s\n", version) < 0 ? ctl::exit_refused : 0;
    return line->what->run != nullptr ? line->what->run(line->says)
                                      : ctl::ask(*line->what, line->says);
}

}  // namespace

int main(int argc, char** argv) {
    open_standard_descriptors();
    try {
        const int code = run({argv + 1, argv + argc});
        return code != 0 ? code : ctl::flush_output();
    } catch (const std::system_error& e) {
        if (const int code = ctl::flush_output(); code != 0) return code;  // of fmt::print()
        std::fprintf(stderr, "turnpikectl: %s\n", e.what());
        return ctl::exit_refused;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "turnpikectl: %s\n", e.what());
        return ctl::exit_refused;
    }
}
