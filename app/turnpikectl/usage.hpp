// SPDX-License-Identifier: BSD-3-Clause
// A command's usage as people write it is what its words are read by, completed from and printed as:
//
//   show routes [PREFIX [longer]]            small letters: the word itself
//   route add|replace PREFIX [via ADDRESS]   capital letters: a value of that kind; |: one of these
//   watch drops [--interval SECONDS]         an option, which may stand anywhere
//   set KEY WORD...                          once or more
//   route add [nexthop via ADDRESS]...       any number of times
//
// What stands in brackets may be left out; brackets side by side come in any order.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace turnpike::ctl {

struct part {
    /// Words of which one is written, or, where `is_value`, the one name of the value's kind.
    std::vector<std::string_view> words{};
    bool is_value = false, repeats = false;
    std::vector<part> inner{};  ///< not empty: these, in brackets, and `words` is empty
};

struct usage_option {
    std::string_view name,
        value{};  ///< "--interval", and the kind of its value; empty: it has none
};

struct usage {
    std::vector<part> parts{};
    std::vector<usage_option> options{};
};
/// text  of a table in this program: what is not well formed there is std::logic_error
[[nodiscard]] usage read_usage(std::string_view text);

/// Words that were read, each with the part that it is: the kind's name, or the word itself.
using read_words = std::vector<std::pair<std::string_view, std::string>>;

/// Every way in which words so far may go on. Starts before the first word.
class reading {
  public:
    explicit reading(const usage& of);

    /// Another word; false: it fits nowhere, and nothing has changed.
    [[nodiscard]] bool take(const std::string& word);
    /// How the words were read, where they may end here: as words rather than as values.
    [[nodiscard]] std::optional<read_words> whole() const;
    /// What may be next; each once.
    [[nodiscard]] std::vector<const part*> next() const;

  private:
    struct way {
        std::vector<const part*> rest{};
        read_words words{};
    };
    static void open(const way& from, std::vector<way>& into);

    std::vector<way> ways_;
};

}  // namespace turnpike::ctl
