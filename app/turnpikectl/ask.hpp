// SPDX-License-Identifier: BSD-3-Clause
// Commands that are one request to turnpike.
#pragma once

#include "commands.hpp"

namespace turnpike::ctl {

inline constexpr int exit_refused = 1, exit_usage = 2, exit_no_connection = 3;

/// Prints the error on standard error; returns `code`.
int complain(const error& e, int code);
/// The error in an answer without a result.
[[nodiscard]] error refusal_of(const nlohmann::json& answer);
/// Prints the first refusal of an answer, by the words of the command, and the others.
int complain_of(const nlohmann::json& answer, const given& g);
/// The error by the words of the command, in place of the request's: "set port west mtu" for "do[0].set.port.mtu".
[[nodiscard]] error by_words(error e, const given& g);
/// Sends the request, prints all pages of the result, and returns the exit code.
int ask(const command& what, const given& g);

}  // namespace turnpike::ctl
