// SPDX-License-Identifier: BSD-3-Clause
// What turnpikectl can do: one table. The command line is read by it, and --help, the manual page and what
// shells complete are made of it. A new command is a row; a new kind of value, too.
#pragma once

#include <chrono>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "usage.hpp"

namespace turnpike::ctl {

/// What a command line said.
struct given {
    read_words words{};
    std::map<std::string_view, std::string> options{};  ///< "--json" likewise, with an empty value

    [[nodiscard]] bool has(std::string_view word) const;
    /// Of the first value of that kind; empty: there is none.
    [[nodiscard]] std::string value(std::string_view kind) const;
    [[nodiscard]] std::vector<std::string> values(std::string_view kind) const;
    [[nodiscard]] std::string option(std::string_view name, std::string_view otherwise = {}) const;
    /// Of an option whose kind is SECONDS.
    [[nodiscard]] std::chrono::milliseconds seconds(std::string_view name, double otherwise) const;
    [[nodiscard]] bool as_json() const { return options.contains("--json"); }
};

struct command {
    std::string_view usage;  ///< usage.hpp
    std::string_view help;   ///< empty: not for people
    /// What turnpike is asked.
    result<nlohmann::json> (*request)(const given&) = nullptr;
    /// Its result for people; null: a table of `columns` of the result's `list`, or a line a value.
    std::string (*text)(const given&, const nlohmann::json&) = nullptr;
    std::string_view list{}, columns{};
    /// All that there is to do, instead; the exit code.
    int (*run)(const given&) = nullptr;
};
[[nodiscard]] std::span<const command> commands() noexcept;

/// Options that go with every command.
struct common_option {
    std::string_view name, value, help;
};
[[nodiscard]] std::span<const common_option> common_options() noexcept;

/// First words of several commands.
struct topic {
    std::string_view name, help;
};
[[nodiscard]] std::span<const topic> topics() noexcept;

/// A kind of value: capital letters in a usage.
struct value_kind {
    std::string_view name, help;
    bool is_file;
    /// Where those that there are stand: `member` of each in `list` of what `show` says of `what`.
    std::string_view what, list, member;
    /// What is wrong with a value; null: turnpike says that.
    const char* (*complaint)(const std::string&);
};
[[nodiscard]] std::span<const value_kind> value_kinds() noexcept;
/// It must be there.
[[nodiscard]] const value_kind& kind_of(std::string_view name);

inline constexpr std::string_view default_socket = "/run/turnpike/control.sock";

}  // namespace turnpike::ctl
