// SPDX-License-Identifier: BSD-3-Clause
// A line of text as the words of a command.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace turnpike::ctl {

/// Splits a line at blanks; quotes protect blanks.
/// Errors  EINVAL: a quote is not closed
[[nodiscard]] result<std::vector<std::string>> split_words(const std::string& line);
/// Completes abbreviated keywords where only one keyword begins so, and replaces other spellings: "sh int" is "show
/// interfaces".
/// further  first words of other lines, which an abbreviation may be for
[[nodiscard]] std::vector<std::string> whole_words(std::vector<std::string> words,
                                                   std::span<const std::string_view> further = {});

}  // namespace turnpike::ctl
