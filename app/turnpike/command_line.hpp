// SPDX-License-Identifier: BSD-3-Clause
// Command line: turnpike [EAL options --] [options].
#pragma once

#include <string>
#include <vector>

#include "observe/log.hpp"

namespace turnpike {

constexpr int exit_failed = 1, exit_refused = 2;

struct options {
    std::string config, report, report_html;
    double duration_s = 0;        ///< 0: no limit
    double stats_interval_s = 0;  ///< 0: no tables while running
    bool check = false;
    bool all_syscalls = false;
    std::string counters = "auto";  ///< auto, off, or a file with a recording
    std::string sysfs = "/sys";
    observe::log_format log_format = observe::log_format::text;
    observe::log_level log_level = observe::log_level::notice;
    std::vector<std::string> eal;
};

/// turnpike(1), as roff.
[[nodiscard]] std::string manual_page();

/// Fills `into`; answers an exit code if the program should end now, else -1.
int read_command_line(int argc, char** argv, options& into);

}  // namespace turnpike
