// SPDX-License-Identifier: BSD-3-Clause
#include "recovery.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reset_action.hpp"

namespace turnpike::throughput {
namespace {

using nlohmann::json;

constexpr double clean_share =
    0.1;  ///< of a trial, at its end without loss: the device has recovered

/// The mean and the limits of a figure over the trials that count.
void summarize(json& out, const char* figure) {
    double sum = 0, least = 0, most = 0;
    unsigned n = 0;
    for (const json& row : out.at("results")) {
        if (!row.at("counts").get<bool>() || !row.at("recovered").get<bool>()) continue;
        const double ms = row.at(figure).get<double>();
        least = n == 0 ? ms : std::min(least, ms);
        most = std::max(most, ms);
        sum += ms;
        ++n;
    }
    out["mean_ms"] = n == 0 ? json(nullptr) : json(sum / n);
    out["min_ms"] = n == 0 ? json(nullptr) : json(least);
    out["max_ms"] = n == 0 ? json(nullptr) : json(most);
}

}  // namespace

result<void> measure_system_recovery(trial_recorder& trials, const recovery_plan& plan,
                                     double throughput_fps, double max_fps, json& out) {
    constexpr double overload = 1.1, then = 0.5;
    const double rate = plan.rate_fps > 0 ? plan.rate_fps : throughput_fps;
    const trial_plan trial{.rate_fps = std::min(rate * overload, max_fps),
                           .duration_s = plan.overload_s,
                           .then_fps = rate * then,
                           .then_s = plan.then_s};
    out = {{"overload_fps", trial.rate_fps},
           {"then_fps", trial.then_fps},
           {"overload_s", plan.overload_s},
           {"results", json::array()},
           {"complete", false}};
    summarize(out, "recovery_ms");
    if (rate <= 0) return {};
    for (unsigned n = 0; n < plan.repeats; ++n) {
        const auto r = trials.perform("system recovery", trial);
        if (!r) return tl::unexpected<error>(r.error());
        const double end = trial.total_s() - clean_share * plan.then_s;
        out["results"].push_back(
            {{"recovery_ms", 1e3 * std::max(0.0, r->losses.last_s - plan.overload_s)},
             {"overloaded", r->losses.last_s >= 0},
             {"recovered", r->losses.last_s < end},
             {"counts", r->unheld.empty()}});
        summarize(out, "recovery_ms");
    }
    out["complete"] = true;
    return {};
}

result<void> measure_reset(trial_recorder& trials, const reset_plan& plan, double throughput_fps,
                           json& out) {
    constexpr double command_patience_s = 10;
    const trial_plan trial{.rate_fps = plan.rate_fps > 0 ? plan.rate_fps : throughput_fps,
                           .duration_s = plan.trial_s,
                           .reset = true};
    out = {{"rate_fps", trial.rate_fps},
           {"command", plan.command.empty() ? json(nullptr) : json(plan.command)},
           {"results", json::array()},
           {"complete", false}};
    summarize(out, "reset_ms");
    if (trial.rate_fps <= 0) return {};
    for (unsigned n = 0; n < plan.repeats; ++n) {
        if (auto ready = trials.prepare(); !ready) return ready;
        reset_action action(plan.command, plan.after_s);
        const auto r = trials.perform("reset", trial);
        if (!r) return tl::unexpected<error>(r.error());
        if (auto ended = action.finish(command_patience_s); !ended) return ended;
        out["results"].push_back(
            {{"reset_ms", 1e3 * r->losses.lost_s},
             {"longest_gap_ms", 1e3 * r->losses.longest_gap_s},
             {"recovered", r->losses.last_s < (1 - clean_share) * plan.trial_s},
             {"counts", r->unheld.empty()}});
        summarize(out, "reset_ms");
    }
    out["complete"] = true;
    return {};
}

}  // namespace turnpike::throughput
