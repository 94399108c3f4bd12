// SPDX-License-Identifier: BSD-3-Clause
// turnpike-pcie measure: reads the counters of devices' PCIe root, while any program runs.
#pragma once

#include <string>
#include <vector>

namespace turnpike::pcie_tool {

struct measure_request {
    std::vector<std::string> devices;  ///< PCI addresses; empty: every network device
    double seconds = 1;
    double dram_max_mb_s = 0;  ///< bandwidth of a socket's memory; 0: unknown
    bool json = false;
    std::string sysfs = "/sys";
    std::string recorded;              ///< file with recorded counts; empty: the kernel's
    std::string events;                ///< the user's table; empty: the CPU's
    std::vector<std::string> command;  ///< measured while it runs; empty: for `seconds`
};

struct measure_command_line {
    bool run = false;
    int exit_code = 0;
    measure_request wanted{};
};
/// Prints help and errors itself. argv[0] is "measure".
[[nodiscard]] measure_command_line read_measure_command_line(int argc, char** argv);

/// Returns the exit code: 0, or the command's; 1: no counter works, reported on standard error.
int measure(const measure_request& r);

}  // namespace turnpike::pcie_tool
