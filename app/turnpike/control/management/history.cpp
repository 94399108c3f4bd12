// SPDX-License-Identifier: BSD-3-Clause
#include "control/management/history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "observe/console.hpp"

namespace turnpike::control {

void log_change(const result<state::changes>& came, const change_cause& cause,
                const std::string& from, const std::string& to) noexcept try {
    const auto& [by, what, comment] = cause;
    const std::string outcome =
        came ? came->text() + " changed"
             : "refused, the running configuration stays: " + came.error().message();
    observe::log_fields fields = {
        {"who", by}, {"what", what}, {"from", from}, {"to", to}, {"result", outcome}};
    if (!comment.empty()) fields.emplace_back("comment", comment);
    observe::log(came ? observe::log_level::notice : observe::log_level::warning,
                 by + ": " + what + (comment.empty() ? "" : " (" + comment + ")") + ": " + outcome,
                 std::move(fields));
} catch (const std::exception&) {  // out of memory: the change is not logged
}

namespace {

/// Without memory they count as different.
bool same(const state::configuration& a, const state::configuration& b) noexcept {
    try {
        const auto differs = state::diff(a, b);
        return differs && differs->empty();
    } catch (const std::exception&) {
        return false;
    }
}

/// Prefixes of the changed routes; nullopt: too many to keep.
std::optional<std::map<std::string, std::vector<ip_prefix>>> set_prefixes(
    const state::changes& of) {
    size_t count = of.routes.set.size();
    for (const auto& [vrf, routes] : of.vrf_routes) count += routes.set.size();
    if (count > past_state::max_prefixes) return std::nullopt;
    std::map<std::string, std::vector<ip_prefix>> out;
    const auto add = [&](const std::string& vrf, const state::route_changes& routes) {
        for (const state::route& r : routes.set) out[vrf].push_back(r.to);
    };
    add({}, of.routes);
    for (const auto& [vrf, routes] : of.vrf_routes) add(vrf, routes);
    return out;
}

}  // namespace

bool past_state::set_route(const std::string& vrf, const ip_prefix& to) const {
    const auto at = routes.find(vrf);
    return at != routes.end() && std::binary_search(at->second.begin(), at->second.end(), to);
}

history::history(controller& c, control_calls& calls)
    : controller_(c),
      calls_(calls),
      next_id_(static_cast<uint64_t>(std::time(nullptr)) << 20),
      saved_(c.running_state()) {
    const auto& start = c.running_state();
    states_.push_back({start, {"the start", start->file}, std::time(nullptr), next_id_++, {}});
}

void history::log_unsaved() const {
    if (!unsaved()) return;
    const auto saved = saved_.lock();
    for (const past_state& s : states_) {
        if (s.state == saved) return;
        const auto& [by, what, comment] = s.cause;
        observe::log(observe::log_level::warning,
                     fmt::format("this change was not saved: {}: {}{}", by, what,
                                 comment.empty() ? "" : " (" + comment + ")"),
                     {{"who", by}, {"what", what}});
    }
}

result<state::changes> history::change_to(std::shared_ptr<const state::configuration> config,
                                          const change_cause& cause, const to_retry& again) {
    const std::shared_ptr<const state::configuration> before = states_.front().state;
    // Allocate first, so that a failure leaves configuration and history consistent. Nothing throws after the change:
    // its confirmation would not be waited for.
    states_.push_front({config, cause, std::time(nullptr), next_id_++, {}});
    auto changed = controller_.apply_beside(calls_, config, again);
    // An unchanged configuration adds no entry, but may match the file now. An object that the
    // kernel already has changes nothing that runs, but belongs to the operator from now on.
    if (!changed || (changed->empty() && same(*before, *config)))
        states_.pop_front();
    else if (states_.size() > kept + 1) {
        states_.pop_back();
        complete_ = false;
    }
    if (changed && states_.front().state == config) note_routes(*changed);
    ++version_;
    log_change(changed, cause, before->file, config->file);
    return changed;
}

/// For `explain`; without memory, the history lacks the change's prefixes.
void history::note_routes(const state::changes& of) noexcept {
    try {
        if (auto prefixes = set_prefixes(of)) {
            states_.front().routes = std::move(*prefixes);
            return;
        }
    } catch (const std::bad_alloc&) {
    }
    complete_ = false;
}

result<state::changes> history::apply(std::shared_ptr<const state::configuration> config,
                                      const change_cause& cause,
                                      std::optional<std::chrono::seconds> undo_after,
                                      const to_retry& again) {
    if (const auto waits = settled(); !waits) {
        const auto refused = tl::unexpected<error>(waits.error());
        log_change(refused, cause, states_.front().state->file, config->file);
        return refused;
    }
    auto changed = change_to(config, cause, again);
    if (changed && undo_after && states_.front().state == config) {
        undo_at_ = clock::now() + *undo_after;
        undo_again_ = first_again;
    }
    return changed;
}

const past_state* history::find(uint64_t id) const noexcept {
    const auto at = std::find_if(states_.begin(), states_.end(),
                                 [&](const past_state& s) { return s.id == id; });
    return at == states_.end() ? nullptr : &*at;
}

result<state::changes> history::rollback(size_t back, const std::string& by,
                                         const std::string& comment) {
    if (back == 0 || back >= states_.size())
        return fail(EINVAL, "back",
                    states_.size() == 1
                        ? "nothing has changed since the start"
                        : fmt::format("is {}; only {} earlier configurations are kept", back,
                                      states_.size() - 1));
    auto changed =
        change_to(states_[back].state, {by, fmt::format("rollback {}", back), comment}, {});
    if (changed) undo_at_.reset();
    return changed;
}

result<void> history::confirm(const std::string& by) {
    if (!undo_at_) return fail(ENOENT, {}, "no change awaits confirmation");
    undo_at_.reset();
    observe::log(observe::log_level::notice, by + ": confirmed: " + states_.front().cause.what,
                 {{"who", by}, {"what", "confirm"}});
    return {};
}

void history::tick() noexcept {
    if (!undo_at_ || clock::now() < *undo_at_) return;
    // Time of a retry. Each attempt may close and reopen ports, without an operator present.
    undo_at_ = clock::now() + undo_again_;
    undo_again_ = std::min(2 * undo_again_, last_again);
    try {
        if (rollback(1, "not confirmed in time: " + states_.front().cause.what)) undo_at_.reset();
    } catch (const std::exception&) {  // out of memory
    }
}

result<void> history::settled() const {
    const auto left = undone_in();
    if (!left) return {};
    return fail(
        EBUSY, "confirm",
        fmt::format("the last change rolls back in {} s unless it is confirmed: confirm it, "
                    "or roll it back, first",
                    left->count()));
}

std::optional<std::chrono::seconds> history::undone_in() const noexcept {
    if (!undo_at_) return std::nullopt;
    return std::max(std::chrono::ceil<std::chrono::seconds>(*undo_at_ - clock::now()),
                    std::chrono::seconds(0));
}

}  // namespace turnpike::control
