// SPDX-License-Identifier: BSD-3-Clause
#include "command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "version.hpp"

namespace turnpike {
namespace {

/// Everything before "--" is EAL's; without "--" everything is ours.
std::vector<std::string> split_eal(int argc, char** argv, std::vector<std::string>& eal) {
    std::vector<std::string> ours(argv + 1, argv + argc);
    const auto divide = std::find(ours.begin(), ours.end(), "--");
    if (divide != ours.end()) {
        eal.assign(ours.begin(), divide);
        ours.erase(ours.begin(), divide + 1);
    }
    return ours;
}

template <size_t N>
std::vector<std::string> list_of(const std::string_view (&names)[N]) {
    return {std::begin(names), std::end(names)};
}
/// Where it is.
template <size_t N>
size_t place_in(const std::string_view (&names)[N], const std::string& name) {
    return static_cast<size_t>(std::find(std::begin(names), std::end(names), name) - names);
}

}  // namespace

int read_command_line(int argc, char** argv, options& into) {
    CLI::App app{
        "turnpike: an L2/L3 forwarder that puts every packet's cost on the bill\n"
        "usage: turnpike [EAL options --] --config FILE [options]"};
    app.set_version_flag("--version", std::string(version));
    app.add_option("--config", into.config, "YAML file that says what to forward")
        ->required()
        ->type_name("FILE");
    app.add_option("--duration", into.duration_s, "stop after so many seconds (default: never)")
        ->check(CLI::Range(0.0, 1e9))
        ->type_name("S");
    app.add_option("--stats-interval", into.stats_interval_s, "print the bill every so often")
        ->check(CLI::Range(0.0, 1e9))
        ->type_name("S");
    app.add_option("--report", into.report, "write the report (JSON) here at the end; - is stdout")
        ->type_name("FILE");
    std::string format, level;
    app.add_option(
           "--log-format", format,
           "how the log is written: text (default), json, or journald, for systemd's journal")
        ->check(CLI::IsMember(list_of(observe::log_format_names)))
        ->type_name("FORMAT");
    app.add_option("--log-level", level,
                   "write this and what is worse: error, warning, notice (default), info or debug")
        ->check(CLI::IsMember(list_of(observe::log_level_names)))
        ->type_name("LEVEL");
    app.add_flag("--check", into.check, "validate the configuration and end");
    std::vector<std::string> ours = split_eal(argc, argv, into.eal);
    std::reverse(ours.begin(), ours.end());  // CLI11 takes a vector from its back
    try {
        app.parse(ours);
    } catch (const CLI::ParseError& e) {
        return app.exit(e, std::cout, std::cerr) == 0 ? 0 : exit_refused;
    }
    if (!format.empty())
        into.log_format =
            static_cast<observe::log_format>(place_in(observe::log_format_names, format));
    if (!level.empty())
        into.log_level =
            static_cast<observe::log_level>(static_cast<size_t>(observe::log_level::error) +
                                            place_in(observe::log_level_names, level));
    return -1;
}

}  // namespace turnpike
