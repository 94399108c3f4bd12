// SPDX-License-Identifier: BSD-3-Clause
// Configuration history: every change goes through here, is logged, and is kept, so that the operator
// can roll it back, or it rolls back by itself unless it is confirmed in time.
#pragma once

#include <chrono>
#include <ctime>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/controller.hpp"
#include "control/management/control_calls.hpp"

namespace turnpike::control {

/// Origin and command of a change: "uid 0 (process 7)", "apply a.yaml", and the operator's comment.
struct change_cause {
    std::string by{}, what{}, comment{};
};

/// A configuration that ran or runs.
struct past_state {
    std::shared_ptr<const state::configuration> state{};
    change_cause cause{};
    std::time_t when = 0;
    /// No other state has it, also of a process before or after this one; below 2^53, for JSON.
    uint64_t id = 0;
    /// By VRF: the sorted prefixes of the routes that the change added or changed, where they are no more than
    /// max_prefixes.
    std::map<std::string, std::vector<ip_prefix>> routes{};
    static constexpr size_t max_prefixes = 65536;

    [[nodiscard]] bool set_route(const std::string& vrf, const ip_prefix& to) const;
};

/// Write the log line of a change, applied or refused.
/// from, to  the configurations
void log_change(const result<state::changes>& came, const change_cause& cause,
                const std::string& from, const std::string& to) noexcept;

/// Threads  management.
class history {
  public:
    using clock = std::chrono::steady_clock;
    static constexpr size_t kept = 10;  ///< previous configurations

    /// The configuration that `c` runs is the first, from the start.
    /// calls  to the thread of `c`
    history(controller& c, control_calls& calls);

    /// Apply another configuration.
    /// undo_after  rolls back after this time unless confirmed; no other change is possible meanwhile
    /// Errors      those of controller::apply; EBUSY: another change awaits confirmation
    [[nodiscard]] result<state::changes> apply(
        std::shared_ptr<const state::configuration> config, const change_cause& cause,
        std::optional<std::chrono::seconds> undo_after = std::nullopt, const to_retry& again = {});
    /// Apply the configuration of `back` changes ago; 1: the previous one. Also ends a pending
    /// confirmation.
    /// Errors  EINVAL: not so many are kept; those of controller::apply
    [[nodiscard]] result<state::changes> rollback(size_t back, const std::string& by,
                                                  const std::string& comment = {});
    /// Confirm the pending change.
    /// Errors  ENOENT: no change is pending
    [[nodiscard]] result<void> confirm(const std::string& by);
    /// Roll back a change that was not confirmed in time. Call often.
    void tick() noexcept;

    /// The running configuration first, then the previous ones.
    [[nodiscard]] const std::deque<past_state>& states() const noexcept { return states_; }
    /// Null: no state with this id is kept.
    [[nodiscard]] const past_state* find(uint64_t id) const noexcept;
    /// Errors  EBUSY: a change awaits confirmation; the text has the remedy
    [[nodiscard]] result<void> settled() const;
    /// Counts the changes of states().
    [[nodiscard]] uint64_t version() const noexcept { return version_; }
    /// Whether the first state is still there, and each change has its prefixes.
    [[nodiscard]] bool is_complete() const noexcept { return complete_; }
    /// Time until the pending change rolls back; none: no change is pending.
    [[nodiscard]] std::optional<std::chrono::seconds> undone_in() const noexcept;
    /// Whether the running configuration differs from the file, as far as known.
    [[nodiscard]] bool unsaved() const noexcept { return saved_.lock() != states_.front().state; }
    /// Write a log line for each change since the configuration was saved, if it is not saved: turnpike stops.
    void log_unsaved() const;
    /// Record that the running configuration was written to the file.
    void saved() noexcept { saved_ = states_.front().state; }

  private:
    void note_routes(const state::changes& of) noexcept;
    result<state::changes> change_to(std::shared_ptr<const state::configuration> config,
                                     const change_cause& cause, const to_retry& again);

    controller& controller_;
    control_calls& calls_;
    std::deque<past_state> states_;
    uint64_t version_ = 1;
    uint64_t next_id_;
    bool complete_ = true;
    /// Not owned: the history need not keep the saved configuration.
    std::weak_ptr<const state::configuration> saved_;
    std::optional<clock::time_point> undo_at_{};
    /// Retry interval of a failed rollback; it doubles.
    static constexpr std::chrono::seconds first_again{1}, last_again{64};
    std::chrono::seconds undo_again_ = first_again;
};

}  // namespace turnpike::control
