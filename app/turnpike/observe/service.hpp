// SPDX-License-Identifier: BSD-3-Clause
// What the service manager is told, where one started us: readiness, reloads, a line of status, and that
// we are alive. Source: sd_notify(3): datagrams of NAME=VALUE lines to the socket that NOTIFY_SOCKET names.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/owned_fd.hpp"

namespace turnpike::observe {

/// Nothing is said where nobody asked for it; nothing waits, and what cannot be said is not.
/// Threads  one.
class service {
  public:
    using clock = std::chrono::steady_clock;

    /// Of NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
    service();

    void ready(std::string_view status) noexcept;
    void reloading() noexcept;
    void status(std::string_view text) noexcept;
    void stopping() noexcept;
    /// To be called often: once in half of the time that the manager waits it is told that we live,
    /// where `alive` says so. It is asked no more often than that.
    void look(const std::function<bool()>& alive) noexcept;

  private:
    void say(const std::string& lines) noexcept;

    std::string address_{};  ///< as in sockaddr_un; empty: nobody listens
    owned_fd fd_{};
    std::optional<clock::duration> half_{};  ///< of what the watchdog waits; none: there is none
    clock::time_point next_{};
};

}  // namespace turnpike::observe
