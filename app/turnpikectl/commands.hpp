// SPDX-License-Identifier: BSD-3-Clause
// The table of turnpikectl's commands. The parser of the command line, --help, the manual page and shell
// completion all use it. A new command, or a new kind of value, is a new row.
#pragma once

#include <chrono>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "usage.hpp"

namespace turnpike::ctl {

/// The words of one change of a request.
struct change_words {
    std::string location{};  ///< "FILE:LINE" of a batch; empty: the command line
    read_words words{};
};

/// A parsed command line.
struct given {
    read_words words{};
    std::map<std::string_view, std::string> options{};  ///< "--json" likewise, with an empty value
    /// The lines of a batch, by the number of their change; for errors.
    mutable std::vector<change_words> changes{};
    bool in_prompt = false;  ///< of a session, whose prompt has unsaved changes and a running timer
    uint64_t pending_id = 0;  ///< of the change that `confirm` is for; 0: any

    [[nodiscard]] bool has(std::string_view word) const;
    /// The first value of that kind, or an empty string.
    [[nodiscard]] std::string value(std::string_view kind) const;
    [[nodiscard]] std::vector<std::string> values(std::string_view kind) const;
    [[nodiscard]] std::string option(std::string_view name, std::string_view otherwise = {}) const;
    /// The value of an option of kind SECONDS.
    [[nodiscard]] std::chrono::milliseconds seconds(std::string_view name, double otherwise) const;
    [[nodiscard]] bool as_json() const { return options.contains("--json"); }
};

struct command {
    std::string_view usage;  ///< usage.hpp
    std::string_view help;   ///< empty: hidden
    /// Builds the request.
    result<nlohmann::json> (*request)(const given&) = nullptr;
    /// Formats the result; null: a table of `columns` of the result's `list`, or a line per value.
    std::string (*text)(const given&, const nlohmann::json&) = nullptr;
    std::string_view list{}, columns{};
    /// Runs the command instead of a single request; returns the exit code.
    int (*run)(const given&) = nullptr;
};
[[nodiscard]] std::span<const command> commands() noexcept;

/// Whether the command changes the configuration: `--comment` is of these commands only.
[[nodiscard]] bool is_change(const command& c) noexcept;

/// Options of every command.
struct common_option {
    std::string_view name, value, help;
};
[[nodiscard]] std::span<const common_option> common_options() noexcept;

/// A first word that several commands share.
struct topic {
    std::string_view name, help;
};
[[nodiscard]] std::span<const topic> topics() noexcept;

/// A kind of value, in capital letters in a usage.
struct value_kind {
    std::string_view name, help;
    /// Source of existing values for completion: `member` of each entry of `list` in `show what`.
    std::string_view what{}, list{}, member{};
    bool is_file = false;
    /// Returns the error of a value, or null; a null function: turnpike validates the value.
    const char* (*complaint)(const std::string&) = nullptr;
};
[[nodiscard]] std::span<const value_kind> value_kinds() noexcept;
/// Throws std::logic_error if the kind does not exist.
[[nodiscard]] const value_kind& kind_of(std::string_view name);

inline constexpr const char* default_socket = "/run/turnpike/control.sock";
/// Without --socket: TURNPIKE_SOCKET of the environment, or default_socket.
[[nodiscard]] std::string_view usual_socket() noexcept;

}  // namespace turnpike::ctl
