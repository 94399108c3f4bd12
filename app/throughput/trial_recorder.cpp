// SPDX-License-Identifier: BSD-3-Clause
#include "trial_recorder.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace turnpike::throughput {
namespace {

using nlohmann::json;

std::string short_rate(double fps) {
    if (fps >= 1e6) return fmt::format("{:.4g} Mfps", fps / 1e6);
    return fps >= 1e3 ? fmt::format("{:.4g} kfps", fps / 1e3) : fmt::format("{:.4g} fps", fps);
}

std::string load_of(const trial_plan& plan) {
    return plan.burst_frames != 0 ? fmt::format("{} frames", plan.burst_frames)
                                  : short_rate(plan.rate_fps);
}

json counts_of(const stream_counts& c) {
    return {{"sent", c.sent},           {"received", c.received},
            {"lost", c.lost},           {"duplicated", c.duplicated},
            {"reordered", c.reordered}, {"damaged", c.damaged}};
}

}  // namespace

result<trial_report> trial_recorder::perform(const char* procedure, const trial_plan& plan) {
    // A load far above the sender's limit is tried fewer times.
    constexpr unsigned far_attempts = 3;
    const unsigned attempts = plan.reset ? 1 : attempts_;
    for (unsigned attempt = 1;; ++attempt) {
        announce(procedure, plan);
        auto r = bed_.perform(plan);
        if (!r) return r;
        record(procedure, *r);
        duration_s_ += r->sending_s;
        const stream_counts total = r->total();
        const bool far_from = plan.burst_frames == 0 && r->offered_fps < plan.rate_fps * 0.98;
        if (r->unheld.empty() || attempt >= attempts || (far_from && attempt >= far_attempts) ||
            total.sent == 0)
            return r;
    }
}

void trial_recorder::announce(const char* procedure, const trial_plan& plan) const {
    const std::string time =
        plan.burst_frames != 0 ? "" : fmt::format(" for {:.3g} s", plan.total_s());
    show_(fmt::format("{}: {}, trial {}: {}{}{}", size_, procedure, trials_.size() + 1,
                      load_of(plan), time, last_));
}

void trial_recorder::record(const char* procedure, const trial_report& r) {
    const stream_counts total = r.total();
    json t{{"procedure", procedure},
           {"offered_fps", r.offered_fps},
           {"loss_ratio", r.loss_ratio()},
           {"frames", counts_of(total)},
           {"misdirected", r.misdirected},
           {"foreign", r.foreign},
           {"late", r.late},
           {"max_lag_us", r.max_lag_s * 1e6},
           {"counts", r.unheld.empty()},
           {"why", r.unheld.empty() ? json(nullptr) : json(r.unheld)}};
    if (r.plan.burst_frames != 0) {
        t["burst_frames"] = r.plan.burst_frames;
    } else {
        t["load_fps"] = r.plan.rate_fps;
        t["duration_s"] = r.plan.duration_s;
        if (r.plan.then_s > 0) t.update({{"then_fps", r.plan.then_fps}, {"then_s", r.plan.then_s}});
    }
    if (r.streams.size() > 1)
        for (const stream_counts& s : r.streams) t["streams"].push_back(counts_of(s));
    trials_.push_back(std::move(t));
    last_ = fmt::format("; before: {}, {} of {} frames lost{}", load_of(r.plan),
                        total.sent - total.received, total.sent,
                        r.unheld.empty() ? "" : ", which does not count: " + r.unheld);
}

}  // namespace turnpike::throughput
