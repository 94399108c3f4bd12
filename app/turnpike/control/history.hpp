// SPDX-License-Identifier: BSD-3-Clause
// Who changed what: every change of what runs goes through here, is said in the log, and is kept, so that
// it can be undone: by the operator (rollback), or by itself where nobody confirms it in time.
#pragma once

#include <chrono>
#include <ctime>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "control/controller.hpp"

namespace turnpike::control {

/// A state that ran, or runs.
struct past_state {
    std::shared_ptr<const state::desired> state{};
    std::string by{}, what{};  ///< who made it, and of what: "uid 0 (process 7)", "apply a.yaml"
    std::time_t when = 0;
};

/// The log's line of a change, whether it is one or was refused.
/// from, to  the configurations
void log_change(const result<state::changes>& came, const std::string& by, const std::string& what,
                const std::string& from, const std::string& to);

/// Threads  control.
class history {
  public:
    using clock = std::chrono::steady_clock;
    static constexpr size_t kept = 10;  ///< states before the one that runs

    /// What `c` runs is the first state, made by the start.
    explicit history(controller& c);

    /// Become another state.
    /// undo_after  it is undone by then unless it is confirmed; nothing else changes meanwhile
    /// Errors      those of controller::apply; EBUSY: another change waits to be confirmed
    [[nodiscard]] result<state::changes> apply(
        std::shared_ptr<const state::desired> wanted, const std::string& by,
        const std::string& what, std::optional<std::chrono::seconds> undo_after = std::nullopt,
        const lost_ports& lost = {});
    /// Become the state that ran `back` changes ago; 1: the last one. Undoes what waits to be confirmed,
    /// too.
    /// Errors  EINVAL: so many are not kept; those of controller::apply
    [[nodiscard]] result<state::changes> rollback(size_t back, const std::string& by);
    /// What waits is to stay.
    /// Errors  ENOENT: nothing waits
    [[nodiscard]] result<void> confirm(const std::string& by);
    /// Undo what was not confirmed in time. To be called often.
    void tick() noexcept;

    /// The one that runs first, then the last before it...
    [[nodiscard]] const std::deque<past_state>& states() const noexcept { return states_; }
    /// Errors  EBUSY: a change waits to be confirmed, and what to do
    [[nodiscard]] result<void> settled() const;
    /// Until what waits is undone; none: nothing waits.
    [[nodiscard]] std::optional<std::chrono::seconds> undone_in() const noexcept;
    /// Whether the configuration's file says something else than what runs, as far as is known.
    [[nodiscard]] bool unsaved() const noexcept { return saved_.lock() != states_.front().state; }
    /// What runs is what the file says now.
    void saved() noexcept { saved_ = states_.front().state; }

  private:
    result<state::changes> change_to(std::shared_ptr<const state::desired> wanted,
                                     const std::string& by, const std::string& what,
                                     const lost_ports& lost);

    controller& controller_;
    std::deque<past_state> states_;
    /// Not kept for this: it would have to know all that has changed since.
    std::weak_ptr<const state::desired> saved_;
    std::optional<clock::time_point> undo_at_{};
    /// Time from an undo that fails to the next try; it doubles.
    static constexpr std::chrono::seconds first_again{1}, last_again{64};
    std::chrono::seconds undo_again_ = first_again;
};

}  // namespace turnpike::control
