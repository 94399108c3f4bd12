// SPDX-License-Identifier: BSD-3-Clause
// turnpike-pcie measure: what the PCIe root in front of devices counts, beside any program.
#pragma once

#include <string>
#include <vector>

namespace turnpike::pcie_tool {

struct measure_request {
    std::vector<std::string> devices;  ///< PCI addresses; none: every network device
    double seconds = 1;
    double dram_max_mb_s = 0;  ///< what a socket's memory can do; 0: not known
    bool json = false;
    std::string sysfs = "/sys";
    std::string recorded;              ///< counts out of this file; empty: the kernel's
    std::string events;                ///< a table of one's own; empty: the CPU's
    std::vector<std::string> command;  ///< measured while it runs; empty: for so many seconds
};

struct measure_command_line {
    bool run = false;
    int exit_code = 0;
    measure_request wanted{};
};
/// Prints help and refusals itself. argv[0] is "measure".
[[nodiscard]] measure_command_line read_measure_command_line(int argc, char** argv);

/// Returns the exit code: 0, or that of the command; 1: nothing could be counted, said on standard error.
int measure(const measure_request& r);

}  // namespace turnpike::pcie_tool
