// SPDX-License-Identifier: BSD-3-Clause
// Shell completion. The shells' scripts call turnpikectl, which completes from the table of commands and
// from the state of the running turnpike.
//
//   turnpikectl complete -- show ro     one line per candidate: WORD<tab>HELP; an empty WORD: a file name
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "commands.hpp"

namespace turnpike::ctl {

struct completions {
    std::vector<std::pair<std::string, std::string>> words{};  ///< with their help
    bool files = false;                                        ///< file names, too
};
/// The words that may follow; the last word of the line is begun, or empty.
[[nodiscard]] completions complete(std::vector<std::string> line);

int print_candidates(const given& g);
int print_script(const given& g);

}  // namespace turnpike::ctl
