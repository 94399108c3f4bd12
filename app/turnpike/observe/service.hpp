// SPDX-License-Identifier: BSD-3-Clause
// Notifications to the service manager: readiness, reload, status line and watchdog. Source: sd_notify(3): datagrams of NAME=VALUE lines to the socket that NOTIFY_SOCKET names.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/owned_fd.hpp"

namespace turnpike::observe {

/// Does nothing unless NOTIFY_SOCKET is set. Never blocks; a message that cannot be sent is dropped.
/// Threads  one.
class service {
  public:
    using clock = std::chrono::steady_clock;

    /// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
    service();

    /// A part of the start begins, and may take this long: EXTEND_TIMEOUT_USEC, beyond the unit's TimeoutStartSec.
    void starting(std::string_view part, std::chrono::seconds within) noexcept;
    void ready(std::string_view status) noexcept;
    void reloading() noexcept;
    void status(std::string_view text) noexcept;
    void stopping() noexcept;
    /// To be called periodically: every half of WATCHDOG_USEC, calls `alive` and, if true, sends WATCHDOG=1.
    void poll(const std::function<bool()>& alive) noexcept;

  private:
    void notify(const std::string& lines) noexcept;

    std::string address_{};  ///< as in sockaddr_un; empty: no service manager
    owned_fd fd_{};
    std::optional<clock::duration> half_{};  ///< half the watchdog interval; none: no watchdog
    clock::time_point next_{};
};

}  // namespace turnpike::observe
