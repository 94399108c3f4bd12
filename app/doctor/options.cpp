// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/parse.hpp"
#include "examine.hpp"
#include "version.hpp"

namespace turnpike::doctor {
namespace {

std::string about() {
    std::string out =
        "turnpike-doctor: obstacles to starting turnpike on this machine, causes of lost packets "
        "and lost speed, and the\n"
        "command that mends each. It changes nothing without --fix NAME --yes.\n\n"
        "  turnpike-doctor --config /etc/turnpike/turnpike.yaml\n"
        "  turnpike-doctor --fix frequency           (shows the changes)\n\n"
        "Checks:\n";
    for (const check& c : checks()) out += fmt::format("  {:<12} {}\n", c.name, c.about);
    return out;
}

}  // namespace

command_line read_command_line(int argc, char** argv) {
    request r;
    CLI::App app(about(), "turnpike-doctor");
    app.set_version_flag("--version", version);
    app.add_option("--config", r.config, "configuration (YAML): its ports and lcores are judged")
        ->check(CLI::ExistingFile);
    app.add_option("--root", r.root, "folder with proc and sys (default: /)")
        ->check(CLI::ExistingDirectory);
    app.add_option("--replay", r.replay, "judge a recording instead of this machine")
        ->check(CLI::ExistingFile)
        ->excludes("--root");
    app.add_option(
        "--record", r.record,
        "write everything that was read to this file, for a report or a test; - is stdout");
    std::vector<std::string> names;
    for (const check& c : checks()) names.emplace_back(c.name);
    app.add_option("--fix", r.fix, "show the changes that mend the diagnoses of these checks")
        ->delimiter(',')
        ->check(CLI::IsMember(names));
    app.add_flag("--yes", r.yes, "with --fix: write them")->needs("--fix");
    app.add_flag("--json", r.json, "print JSON (turnpike.doctor/1)");
    try {
        parse_words(app, {argv + 1, argv + argc});
    } catch (const CLI::ParseError& e) {
        return {std::nullopt, exit_code_of(app, e)};
    }
    return {std::move(r), 0};
}

}  // namespace turnpike::doctor
