// SPDX-License-Identifier: BSD-3-Clause
// The command line, by the table of commands.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"

namespace turnpike::ctl {

struct command_line {
    const command* what = nullptr;  ///< null: --help or --version is all
    given says{};
};
/// Errors  EINVAL: what is wrong, and what may stand there
[[nodiscard]] result<command_line> read_command_line(const std::vector<std::string>& words);

/// A command, as far as words lead to it.
struct candidate {
    const command* what = nullptr;
    usage how{};
    std::vector<part> next{};  ///< what may follow
    size_t taken = 0;          ///< words that fit
    std::optional<read_words> whole{};
};
/// Those of the table for which the most words fit.
[[nodiscard]] std::vector<candidate> candidates_of(const std::vector<std::string>& words);

/// Options apart from words.
struct split_line {
    std::vector<std::string> words{};
    std::map<std::string_view, std::string> options{};
    std::string_view open{};  ///< the last one lacks its value, which is of this kind
};
/// Errors  EINVAL: no such option, no value for it
[[nodiscard]] result<split_line> split_options(const std::vector<std::string>& line);

}  // namespace turnpike::ctl
