// SPDX-License-Identifier: BSD-3-Clause
// The control socket, as the configuration has it: made before all else, moved by a change.
//
//   another path          listened at when the change is prepared; then the one before is closed
//   owner, group          given when it is prepared, and taken back where the change is not made
//
// Clients stay, wherever they came from: they are the same line_socket's.
#pragma once

#include <memory>

#include "control/change.hpp"
#include "sources/socket.hpp"

namespace turnpike::control {

/// Where the configuration names none.
inline constexpr const char* default_socket = "/run/turnpike/control.sock";

/// Threads  control.
class socket_owner : public owner {
  public:
    /// Listens, and answers once it is served. Without a socket, and a line in the log: the default one
    /// cannot be, as where another turnpike has it.
    /// Errors  the one that is named cannot be: EADDRINUSE, ENOENT, EACCES...
    [[nodiscard]] static result<std::unique_ptr<socket_owner>> open(
        const state::desired& wanted, sources::line_socket::answer_function answer,
        std::function<void(const sources::socket_peer&)> gone = {});

    /// Errors  the one that is wanted cannot be, the default one neither
    [[nodiscard]] result<std::unique_ptr<staged>> prepare(change& c) override;

    void serve() noexcept { socket_.serve(); }

  private:
    class staged_socket;

    explicit socket_owner(sources::line_socket::surroundings s) : socket_(std::move(s)) {}

    sources::line_socket socket_;
};

}  // namespace turnpike::control
