// SPDX-License-Identifier: BSD-3-Clause
// The command line of turnpike-throughput.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace turnpike::throughput {

inline constexpr int exit_failed = 1;   ///< a port, a link, a file
inline constexpr int exit_refused = 2;  ///< invalid input

struct options {
    std::vector<std::string> eal{};  ///< before "--"
    // One of these five.
    std::string run_file{};
    std::string result_file{};           ///< an earlier result
    std::vector<std::string> compare{};  ///< two results
    std::string scale_file{};            ///< the plan of `scale`
    std::string paper_file{};            ///< the plan of `paper`

    bool json = false;
    std::string json_file{};  ///< empty: none
    std::string html_file{};  ///< empty: none
};

/// The options, or an exit code (after --help or an error).
struct command_line {
    std::optional<options> given{};
    int exit_code = 0;
};

/// Prints help and errors itself.
[[nodiscard]] command_line read_command_line(int argc, char** argv);

}  // namespace turnpike::throughput
