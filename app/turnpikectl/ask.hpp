// SPDX-License-Identifier: BSD-3-Clause
// Commands that are one request to turnpike.
#pragma once

#include "commands.hpp"

namespace turnpike::ctl {

class connection;

/// 1: turnpike refused the request, or a file or this machine does not allow it. 2: the command line is wrong, and nothing
/// was sent. 3: turnpike does not answer.
inline constexpr int exit_refused = 1, exit_usage = 2, exit_no_connection = 3;

/// An error of the command line, in front of any request.
[[nodiscard]] inline tl::unexpected<error> misuse(std::string object, std::string text) {
    return fail(0, std::move(object), std::move(text));
}
[[nodiscard]] inline int exit_of(const error& e) noexcept {
    return e.code == 0 ? exit_usage : exit_refused;
}

/// The exit code of an error of connection::ask() or result_in().
[[nodiscard]] inline int exit_of_answer(const error& e) noexcept {
    return e.code == ETIMEDOUT || e.code == ECONNRESET || e.code == EPROTO ? exit_no_connection
                                                                           : exit_refused;
}

/// Prints the error on standard error; returns `code`.
int complain(const error& e, int code);
/// Connects to the socket that the command line names.
[[nodiscard]] result<connection> connect(const given& g);
/// The result in an answer.
/// Errors  of the connection; EINVAL: a refusal
[[nodiscard]] result<nlohmann::json> result_in(result<nlohmann::json> answer);
[[nodiscard]] std::string json_line(const nlohmann::json& value);
/// On standard output, in pieces: after Ctrl-C at the prompt the rest is left out.
void print_text(std::string_view text) noexcept;
/// Flushes standard output; returns the exit code.
int flush_output();
/// The error in an answer without a result.
[[nodiscard]] error refusal_of(const nlohmann::json& answer);
/// Prints the first refusal of an answer, by the words of the command, and the others.
int complain_of(const nlohmann::json& answer, const given& g, const nlohmann::json& request);
/// The error by the words of the command, in place of the request's: "set port west mtu" for "do[0].set.port.mtu".
[[nodiscard]] error by_words(error e, const given& g, const nlohmann::json& request);
/// Sends the request, prints all pages of the result, and returns the exit code.
int ask(const command& what, const given& g);

}  // namespace turnpike::ctl
