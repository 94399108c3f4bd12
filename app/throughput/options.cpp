// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/parse.hpp"
#include "version.hpp"

namespace turnpike::throughput {

command_line read_command_line(int argc, char** argv) {
    options o;
    CLI::App app(
        "Measures the throughput, latency, frame loss rate and buffer of a device between two "
        "ports.");
    app.name("turnpike-throughput");
    app.footer(
        "Usage: turnpike-throughput [EAL options --] RUN.yaml [options]\n"
        "       turnpike-throughput --result RESULT.json [--html FILE]\n"
        "       turnpike-throughput --compare A.json B.json\n"
        "       turnpike-throughput [EAL options --] scale PLAN.yaml [options]\n"
        "       turnpike-throughput [EAL options --] paper PLAN.yaml [options]\n"
        "doc/throughput.md describes the run file and the result. Ctrl-C ends a run; the result "
        "has the trials up to then.");
    app.set_version_flag("--version", std::string("turnpike-throughput ") + version);
    auto* const run =
        app.add_option("RUN", o.run_file, "the run: ports, traffic, rates and procedures (YAML)");
    auto* const result =
        app.add_option("--result", o.result_file, "show an earlier result (JSON) instead of a run");
    auto* const compare =
        app.add_option(
               "--compare", o.compare,
               "two results (JSON): changes of their figures, beside the noise of the trials")
            ->expected(2);
    app.add_flag("--json", o.json,
                 "print the result (turnpike.throughput/1) on standard output, instead of tables");
    app.add_option("--output", o.json_file,
                   "write the result (JSON) to this file, also after Ctrl-C");
    app.add_option("--html", o.html_file, "write the result as one HTML page that stands alone")
        ->excludes(compare);
    auto* const scale = app.add_subcommand(
        "scale", "the same run for several setups of the device: workers, frequencies, SMT");
    scale->add_option("PLAN", o.scale_file, "the setups: commands that start the device (YAML)")
        ->required();
    scale->fallthrough();
    auto* const paper = app.add_subcommand(
        "paper",
        "the tables of the 2017 paper on software data planes, of this machine: workloads by "
        "cores, SMT and frequencies");
    paper->add_option("PLAN", o.paper_file, "the workloads: commands that start the device (YAML)")
        ->required();
    paper->fallthrough();
    app.require_subcommand(0, 1);
    result->excludes(run, compare);
    compare->excludes(run);
    std::vector<std::string> all(argv + 1, argv + argc);
    const auto dashes = std::find(all.begin(), all.end(), "--");
    if (dashes != all.end()) {
        o.eal.assign(all.begin(), dashes);
        all.erase(all.begin(), dashes + 1);
    }
    try {
        parse_words(app, std::move(all));
    } catch (const CLI::ParseError& e) {
        return {{}, exit_code_of(app, e)};
    }
    if (o.run_file.empty() && o.result_file.empty() && o.compare.empty() && o.scale_file.empty() &&
        o.paper_file.empty()) {
        fmt::print(stderr,
                   "turnpike-throughput: needs RUN.yaml, --result, --compare, scale or paper; see "
                   "--help\n");
        return {{}, exit_refused};
    }
    return {std::move(o), 0};
}

}  // namespace turnpike::throughput
