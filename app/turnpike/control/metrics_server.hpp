// SPDX-License-Identifier: BSD-3-Clause
// The listeners of `metrics:`, each with an HTTP server of its own thread. The servers ask for numbers through a mailbox,
// and the control thread collects them between two iterations (observe/mailbox.hpp).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "control/change.hpp"
#include "observe/mailbox.hpp"

namespace turnpike::control {

/// Threads  control.
class metrics_server : public owner {
  public:
    using source = std::function<observe::scraped(bool page)>;
    explicit metrics_server(source from) : from_(std::move(from)) {}
    ~metrics_server() override;

    /// Opens the listeners of new addresses; those of unchanged ones stay, with their connections.
    /// Errors  EADDRINUSE, EADDRNOTAVAIL, EACCES..., with the place of `metrics:`
    [[nodiscard]] result<std::unique_ptr<staged>> prepare(change& c) override;

    /// Answers a pending request. Call every iteration.
    void serve(uint64_t now_ms) noexcept;
    /// Closes all listeners.
    void close() noexcept { listening_.clear(); }

  private:
    class listener;
    class staged_listeners;
    using listeners = std::map<std::string, std::shared_ptr<listener>>;  ///< by address as text

    source from_;
    observe::mailbox mailbox_{};
    listeners listening_{};
    uint64_t next_look_ms_ = 0;
};

}  // namespace turnpike::control
