// SPDX-License-Identifier: BSD-3-Clause
// A command done by asking turnpike.
#pragma once

#include "commands.hpp"

namespace turnpike::ctl {

inline constexpr int exit_refused = 1, exit_usage = 2, exit_no_connection = 3;

/// Says on standard error what is wrong; answers `code`.
int complain(const error& e, int code);
/// What turnpike answered, where that is no result.
[[nodiscard]] error refusal_of(const nlohmann::json& answer);
/// Asks what the command asks, all pages where there are several, and prints them; the exit code.
int ask(const command& what, const given& g);

}  // namespace turnpike::ctl
