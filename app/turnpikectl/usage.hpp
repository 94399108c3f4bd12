// SPDX-License-Identifier: BSD-3-Clause
// A command's usage text defines its grammar: it is parsed, completed from and printed.
//
//   show routes [PREFIX [longer]]            lower case: a keyword
//   route add|replace PREFIX [via ADDRESS]   upper case: a value of that kind; |: alternatives
//   watch drops [--interval SECONDS]         an option, at any position
//   set KEY WORD...                          one or more
//   route add [nexthop via ADDRESS]...       zero or more
//
// Brackets enclose optional parts; adjacent brackets may come in any order.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace turnpike::ctl {

struct part {
    /// The alternative keywords or, if `is_value`, the name of the value's kind.
    std::vector<std::string_view> words{};
    bool is_value = false, repeats = false;
    std::vector<part> inner{};  ///< the parts of a bracket; `words` is empty then
};

struct usage_option {
    std::string_view name, value{};  ///< "--interval", and the kind of its value; empty: no value
};

struct usage {
    std::vector<part> parts{};
    std::vector<usage_option> options{};
};
/// text  from a table in this program; throws std::logic_error if malformed
[[nodiscard]] usage read_usage(std::string_view text);

/// Parsed words, each with its part: the name of the value's kind, or the keyword.
using read_words = std::vector<std::pair<std::string_view, std::string>>;

/// All continuations of the words so far. Starts before the first word.
class reading {
  public:
    explicit reading(const usage& of);

    /// Consumes a word. Returns false, without a change, if it matches no continuation.
    [[nodiscard]] bool accept(const std::string& word);
    /// The parsed words if the usage may end here; keywords are preferred to values.
    [[nodiscard]] std::optional<read_words> whole() const;
    /// The possible next parts, without duplicates.
    [[nodiscard]] std::vector<const part*> next() const;

  private:
    struct partial {
        std::vector<const part*> rest{};
        read_words words{};
    };
    static void open(const partial& from, std::vector<partial>& into);

    std::vector<partial> partials_;
};

}  // namespace turnpike::ctl
