// SPDX-License-Identifier: BSD-3-Clause
// Parser of the command line, from the table of commands.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "commands.hpp"

namespace turnpike::ctl {

struct command_line {
    const command* what = nullptr;  ///< null: only --help or --version
    given says{};
};
/// abbreviated  takes the beginnings of keywords (words.hpp)
/// further      first words of other lines, which an abbreviation may be for
/// Errors       EINVAL: the error, and the accepted words
[[nodiscard]] result<command_line> read_command_line(
    const std::vector<std::string>& words, bool abbreviated = false,
    std::span<const std::string_view> further = {});

/// A command that matches the first `taken` words.
struct candidate {
    const command* what = nullptr;
    usage how{};
    std::vector<part> next{};  ///< possible next parts
    size_t taken = 0;          ///< matching words
    std::optional<read_words> whole{};
};
/// The commands that match the most words.
[[nodiscard]] std::vector<candidate> candidates_of(const std::vector<std::string>& words);

/// Options separated from words.
struct split_line {
    std::vector<std::string> words{};
    std::map<std::string_view, std::string> options{};
    std::string_view open{};  ///< kind of the missing value of the last option
};
/// Errors  EINVAL: unknown option, one that is given twice, or a value for an option without one
[[nodiscard]] result<split_line> split_options(const std::vector<std::string>& line);

}  // namespace turnpike::ctl
