// SPDX-License-Identifier: BSD-3-Clause
// The command line of turnpike-doctor.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace turnpike::doctor {

struct request {
    std::string config{};            ///< a configuration; empty: none
    std::string root = "/";          ///< a folder with proc and sys
    std::string replay{}, record{};  ///< files of recordings
    std::vector<std::string> fix{};  ///< names of checks
    bool yes = false, json = false;
};

struct command_line {
    std::optional<request> wanted{};
    int exit_code = 0;  ///< if nothing is wanted: help, or an error, which is printed
};

[[nodiscard]] command_line read_command_line(int argc, char** argv);

}  // namespace turnpike::doctor
