// SPDX-License-Identifier: BSD-3-Clause
// The control socket: opened before everything else, and moved or re-permissioned by a configuration change.
//
//   another path          opened in prepare; the previous one is closed in commit
//   owner, group          set in prepare, and restored if the change is not committed
//
// Clients stay connected: they belong to the same line_socket.
#pragma once

#include <chrono>
#include <memory>

#include "control/transaction.hpp"
#include "sources/socket.hpp"

namespace turnpike::control {

/// Path if the configuration has none.
inline constexpr const char* default_socket = "/run/turnpike/control.sock";

/// Threads  control.
class socket_owner : public config_handler {
  public:
    /// Opens the socket; requests are answered once it is served. If the default path fails, for
    /// example because another turnpike uses it, logs that and continues without a socket.
    /// Errors  a configured path cannot be opened: EADDRINUSE, ENOENT, EACCES...
    [[nodiscard]] static result<std::unique_ptr<socket_owner>> open(
        const state::configuration& config, sources::line_socket::answer_function answer,
        std::function<void(const sources::socket_peer&)> gone = {});

    /// Errors  the configured path cannot be opened, nor the default one
    [[nodiscard]] result<std::unique_ptr<prepared_change>> prepare(transaction& c) override;

    /// Answers requests, as line_socket::serve.
    /// Threads  management. Only its calls change the socket's configuration
    void serve(std::chrono::milliseconds wait) noexcept { socket_.serve(wait); }

  private:
    class prepared_socket;

    explicit socket_owner(sources::line_socket::dependencies s) : socket_(std::move(s)) {}

    sources::line_socket socket_;
};

}  // namespace turnpike::control
