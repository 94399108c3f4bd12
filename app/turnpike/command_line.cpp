// SPDX-License-Identifier: BSD-3-Clause
#include "command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "base/printable.hpp"
#include "cli/parse.hpp"
#include "manual/page.hpp"
#include "sources/schema.hpp"
#include "version.hpp"
#include "yaml/reader.hpp"

namespace turnpike {
namespace {

/// The arguments before "--" are EAL's; without "--" all are turnpike's.
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
/// Index in the table.
template <size_t N>
size_t place_in(const std::string_view (&names)[N], const std::string& name) {
    return static_cast<size_t>(std::find(std::begin(names), std::end(names), name) - names);
}

struct raw_options {
    options& into;
    std::string format{}, level{};
};

/// The options: for the command line, --help and the manual page.
void add_options(CLI::App& app, raw_options& to) {
    app.set_help_flag("-h,--help", "print this help");
    app.set_version_flag("--version", std::string(version), "print the version");
    app.add_option("--config", to.into.config, "configuration file (YAML)")
        ->required()
        ->type_name("FILE");
    app.add_option("--duration", to.into.duration_s,
                   "stop after this many seconds (default: never)")
        ->check(number_between(0, 1e9))
        ->type_name("S");
    app.add_option("--stats-interval", to.into.stats_interval_s,
                   "print the cost tables at this interval, in seconds")
        ->check(number_between(0, 1e9))
        ->type_name("S");
    app.add_option("--report", to.into.report,
                   "write the report (JSON) to this file at the end; - is stdout")
        ->type_name("FILE");
    app.add_option("--report-html", to.into.report_html,
                   "write the report as an HTML page to this file at the end")
        ->type_name("FILE");
    app.add_option("--log-format", to.format,
                   "log format: text (default), json, or journald, for systemd's journal")
        ->check(CLI::IsMember(list_of(observe::log_format_names)))
        ->type_name("FORMAT");
    app.add_option("--log-level", to.level,
                   "lowest level to log: error, warning, notice (default), info or debug")
        ->check(CLI::IsMember(list_of(observe::log_level_names)))
        ->type_name("LEVEL");
    app.add_option("--counters", to.into.counters,
                   "hardware counters: auto (default: where available), off, or a file "
                   "with a recording of them")
        ->type_name("WHICH");
    app.add_option("--sysfs", to.into.sysfs,
                   "mount point of sysfs, for PMUs and PCI devices (default: /sys)")
        ->type_name("FOLDER");
    app.add_flag("--all-syscalls", to.into.all_syscalls,
                 "do not deny system calls after the start (default: a seccomp filter)");
    app.add_flag("--check", to.into.check, "validate the configuration and exit");
    // CLI11 prints the text of CallForVersion and ignores missing options then.
    app.add_flag_callback(
        "--print-schema", [] { throw CLI::CallForVersion(sources::json_schema(), 0); },
        "print the JSON Schema of the configuration file and exit");
}

/// "; did you mean '--config'?", or for a word that is no option, the option of the configuration file.
std::string nearest_option(const CLI::App& app, const std::string& unknown) {
    if (!unknown.starts_with('-')) return "; the configuration file follows --config";
    std::vector<std::string> names;
    for (const CLI::Option* o : app.get_options()) names.push_back("--" + o->get_single_name());
    const std::vector<std::string_view> views(names.begin(), names.end());
    return yaml::suggestion(unknown.substr(0, unknown.find('=')), views);
}

}  // namespace

std::string manual_page() {
    options none;
    raw_options raw{none};
    CLI::App app;
    add_options(app, raw);
    manual::page p("turnpike", version,
                   "an L2/L3 forwarder that puts every packet's cost on the bill");
    p.section("Synopsis");
    p.usage("turnpike [EAL... --] --config FILE [OPTION...]");
    p.section("Description");
    p.paragraph(
        "turnpike forwards packets between DPDK ports by its configuration, and reports the cost "
        "of "
        "each packet. EAL stands for options of DPDK's EAL, such as -l 0-2; the configuration may "
        "contain them instead.");
    p.paragraph(
        "SIGHUP reloads the configuration without packet loss; SIGINT and SIGTERM stop turnpike. "
        "turnpikectl(1) queries and changes it while it runs.");
    p.section("Options");
    for (const CLI::Option* o : app.get_options()) {
        const std::string type = o->get_type_name();  // followed by the valid values
        const std::string value = type.substr(0, type.find(':'));
        const bool flag = o->get_expected_max() == 0;
        p.item(o->get_name(false, true) + (flag ? "" : " " + value), o->get_description() + ".");
    }
    p.section("Exit status");
    p.item("0", "stopped on request, and every packet and buffer is accounted for.");
    p.item(
        "1",
        "a resource such as a device or memory is missing, or the packet balance does not hold.");
    p.item("2", "wrong options, or an invalid configuration: nothing was started.");
    p.section("Files");
    p.item("/run/turnpike/control.sock", "the control socket, for turnpikectl(1).");
    p.section("See also");
    p.usage("turnpikectl");
    return p.text();
}

int read_command_line(int argc, char** argv, options& into) {
    CLI::App app{
        "turnpike: an L2/L3 forwarder that puts every packet's cost on the bill\n"
        "usage: turnpike [EAL options --] --config FILE [options]",
        "turnpike"};
    raw_options raw{into};
    add_options(app, raw);
    try {
        parse_words(app, split_eal(argc, argv, into.eal));
    } catch (const CLI::RequiredError& e) {
        // CLI11 checks required options before it checks unknown arguments.
        const std::vector<std::string> unknown = app.remaining();
        if (unknown.empty()) return exit_code_of(app, e);
        std::cerr << "turnpike: '" << printable(unknown.front()) << "' is unknown"
                  << nearest_option(app, unknown.front()) << '\n';
        return exit_refused;
    } catch (const CLI::ParseError& e) {
        return exit_code_of(app, e);
    }
    if (!raw.format.empty())
        into.log_format =
            static_cast<observe::log_format>(place_in(observe::log_format_names, raw.format));
    if (!raw.level.empty())
        into.log_level =
            static_cast<observe::log_level>(static_cast<size_t>(observe::log_level::error) +
                                            place_in(observe::log_level_names, raw.level));
    return -1;
}

}  // namespace turnpike
