// SPDX-License-Identifier: BSD-3-Clause
// The control socket of a configuration.
#pragma once

#include <memory>

#include "sources/socket.hpp"
#include "state/desired.hpp"

namespace turnpike::control {

/// Where the configuration names none.
inline constexpr const char* default_socket = "/run/turnpike/control.sock";

/// Listens, and answers once it is served. Null, and a line in the log: the default one cannot be, as
/// where another turnpike has it.
/// Errors  the one that is named cannot be: EADDRINUSE, ENOENT, EACCES...
[[nodiscard]] result<std::unique_ptr<sources::line_socket>> open_socket(
    const state::desired& wanted, sources::line_socket::answer_function answer,
    std::function<void(const sources::socket_peer&)> gone = {});

}  // namespace turnpike::control
