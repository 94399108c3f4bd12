// SPDX-License-Identifier: BSD-3-Clause
#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/parse.hpp"
#include "measure.hpp"
#include "options.hpp"

namespace turnpike::pcie_tool {

measure_command_line read_measure_command_line(int argc, char** argv) {
    measure_command_line out;
    measure_request& r = out.wanted;
    CLI::App app(
        "turnpike-pcie measure: counters of the PCIe root above devices (doc/measure.md).\n"
        "Measures while another program runs: any, or the command after --.\n\n"
        "  turnpike-pcie measure --seconds 10\n"
        "  turnpike-pcie measure --device 0000:3b:00.0 --json -- dpdk-testpmd -l 0-3 -- "
        "--forward\n",
        "turnpike-pcie measure");
    app.add_option("--device", r.devices,
                   "PCI devices, separated by commas (default: all network devices)")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("BDF");
    app.add_option("--seconds", r.seconds, "duration without a command (default 1)")
        ->check(number_between(0.001, 86400))
        ->type_name("S");
    app.add_option("--dram-max", r.dram_max_mb_s,
                   "bandwidth of a socket's memory, for its utilisation")
        ->check(number_between(1, 1e9))
        ->type_name("MB/S");
    app.add_flag("--json", r.json, "print one JSON object");
    app.add_option("--sysfs", r.sysfs, "root of sysfs (default: /sys)")->type_name("FOLDER");
    app.add_option("--counters", r.recorded, "use counts from a recording instead of the kernel's")
        ->type_name("FILE");
    app.add_option("--events", r.events, "your own table of events and metrics")->type_name("FILE");
    std::vector<std::string> ours(argv + 1, argv + argc);
    const auto divide = std::find(ours.begin(), ours.end(), "--");
    if (divide != ours.end()) {
        r.command.assign(divide + 1, ours.end());
        ours.erase(divide, ours.end());
    }
    try {
        parse_words(app, std::move(ours));
        out.run = true;
    } catch (const CLI::ParseError& e) {
        out.exit_code = exit_code_of(app, e);
    }
    return out;
}

}  // namespace turnpike::pcie_tool
