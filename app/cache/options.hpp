// SPDX-License-Identifier: BSD-3-Clause
// The command line of turnpike-cache.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cache/placement.hpp"

namespace turnpike::cache_tool {

inline constexpr int exit_failed = 1, exit_refused = 2;

struct request {
    cache::object_layout layout{};
    uint64_t objects = 8192;
    uint64_t page_bytes = 2u << 20;  ///< 0: objects may cross pages
    cache::geometry caches{};
    bool csv = false;
    std::string figure{};  ///< base name of the files; empty: no figure
    unsigned level = 1;    ///< cache level of the figure
};

struct command_line {
    std::optional<request> wanted;
    int exit_code = 0;  ///< if there is no request
};
/// Prints help, version and errors itself.
command_line read_command_line(int argc, char** argv);

}  // namespace turnpike::cache_tool
