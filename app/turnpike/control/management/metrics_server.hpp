// SPDX-License-Identifier: BSD-3-Clause
// The listeners of `metrics:`, each with an HTTP server of its own thread. The servers ask for numbers through a mailbox,
// and the management thread collects them under a loan of the tables (observe/mailbox.hpp).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "control/transaction.hpp"
#include "observe/mailbox.hpp"

namespace turnpike::control {

/// Threads  control.
class metrics_server : public config_handler {
  public:
    using source = std::function<observe::scraped(bool page)>;
    explicit metrics_server(source from) : from_(std::move(from)) {}
    ~metrics_server() override;

    /// Opens the listeners of new addresses; those of unchanged ones stay, with their connections.
    /// Errors  EADDRINUSE, EADDRNOTAVAIL, EACCES..., with the place of `metrics:`
    [[nodiscard]] result<std::unique_ptr<prepared_change>> prepare(transaction& c) override;

    /// Whether a request waits for answer().
    /// Threads  any
    [[nodiscard]] bool asked() const noexcept { return mailbox_.asked(); }
    /// Answers a pending request: it visits all rules of ACLs, so it takes long.
    /// Requires  the tables, by a loan or on the control thread
    void answer() noexcept;
    /// Closes connections that exceed their lifetime. Call every iteration.
    void close_overdue(uint64_t now_ms) noexcept;
    /// Closes all listeners.
    void close() noexcept { listening_.clear(); }

  private:
    class listener;
    class prepared_listeners;
    using listeners = std::map<std::string, std::shared_ptr<listener>>;  ///< by address as text

    source from_;
    /// Longer than a reload of a million routes takes, which comes before a scrape.
    observe::mailbox mailbox_{observe::mailbox::limits{.patience = std::chrono::seconds(8)}};
    listeners listening_{};
    uint64_t next_look_ms_ = 0;
};

}  // namespace turnpike::control
