// SPDX-License-Identifier: BSD-3-Clause
// The captures that are on (datapath/capture.hpp), by request of clients: doc/capture.md. A capture ends with the connection
// of its client, follows ports that are reopened, and loses ports that are removed.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "control/control_tx.hpp"
#include "control/forwarding/capture_writer.hpp"
#include "control/forwarding/ports.hpp"
#include "control/forwarding/workers.hpp"
#include "control/transaction.hpp"
#include "rcu/qsbr.hpp"

namespace turnpike::control {

class control_calls;
class controller;
class request_fields;

/// Threads  control.
class captures : public config_handler {
  public:
    captures(workers& w, control_tx& out, rcu::qsbr& rcu) : workers_(w), out_(out), rcu_(rcu) {}
    ~captures() override;

    /// Begins a capture; its thread writes to `to`. Ended ones beyond max_ended are forgotten, the oldest first: each has its
    /// rings.
    /// Answers  its number
    /// Errors   EBUSY: too many, including ended ones whose threads write the rest; EAGAIN, ENOMEM. `to` stays the caller's:
    ///          close() may block.
    [[nodiscard]] result<uint64_t> begin(std::shared_ptr<capture_session> s, owned_fd&& to,
                                         uint64_t connection);
    /// Ends a capture; its thread writes the rest. No effect if there is none.
    void end(uint64_t number);
    /// The client has gone: ends its captures, and forgets them.
    void forget(uint64_t connection) noexcept;
    /// Null: there is none.
    [[nodiscard]] const capture_session* find(uint64_t number) const noexcept;
    [[nodiscard]] std::vector<uint64_t> numbers() const;
    /// Takes ended captures off the workers, and gives the others the devices' clocks. Call every iteration.
    void tick(const ports& of) noexcept;
    /// At the end: waits for the threads, a second at most.
    void close() noexcept;

    /// Ports that are removed are captured no more, reopened ones at their new index; new workers capture.
    [[nodiscard]] result<std::unique_ptr<prepared_change>> prepare(transaction& c) override;

  private:
    class prepared_captures;
    static constexpr uint16_t no_port = UINT16_MAX;
    static constexpr size_t max_ended = 4;
    struct entry {
        std::shared_ptr<capture_session> session{};
        uint64_t connection = 0;
        bool on = false;               ///< workers copy for it
        std::vector<uint16_t> port{};  ///< by interface of the file: its port now
        /// Workers copy no more for it, and its thread has ended.
        [[nodiscard]] bool ended() const noexcept {
            return !on && session->done.load(std::memory_order_acquire);
        }
    };
    bool turn_off(entry& one) noexcept;
    /// waits  for a grace period; otherwise the tap before stays until a later call does
    /// Throws std::bad_alloc with nothing changed: a session is freed only after a call that did not.
    void publish(bool waits = true);
    void remove_ended(bool waits = true);
    void forget_ended();

    workers& workers_;
    control_tx& out_;
    rcu::qsbr& rcu_;
    std::map<uint64_t, entry> all_{};  ///< by number
    std::unique_ptr<datapath::capture_tap> tap_{};
    std::vector<std::unique_ptr<datapath::capture_tap>> retired_{};
    bool differs_ = false;  ///< the tap has a session that is off
    uint64_t last_ = 0;
    uint64_t clocks_given_ = 0;  ///< TSC
};

/// The request `capture`: begins, shows or ends one.
/// descriptor  of the client, where the packets go
/// Throws      error
/// Threads     management
[[nodiscard]] nlohmann::json capture_request(controller& c, control_calls& calls,
                                             const request_fields& f, int descriptor,
                                             uint64_t connection);
[[nodiscard]] nlohmann::json show_captures(controller& c, const request_fields& f);

}  // namespace turnpike::control
