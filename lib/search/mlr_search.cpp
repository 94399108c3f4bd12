// SPDX-License-Identifier: BSD-3-Clause
// The selection of loads and durations, which RFC 9971 leaves to the implementation:
//
// 1. One short trial at the maximum load and one at the forwarding rate seen there: a device's forwarding rate under overload
//    is near its throughput.
// 2. Goals by rising loss ratio (small loads first: a bound found at a larger load is then seldom invalidated). Each goal in
//    phases: trials of a quarter of the next phase's duration and of twice its width, down to the initial duration.
// 3. Within a phase: the load near which the phase before found its bounds; then away from the known bound by one width, two
//    widths, four...; between two bounds the logarithmic middle. A load is measured until it is classified. A load
//    above the sender's limit is replaced by this limit, and the goal is finished once the limit is the lower bound.
// 4. Trials of a later goal may give an earlier goal a smaller upper bound: goals are visited until none needs a trial.
#include "search/mlr_search.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "search/classification.hpp"

namespace turnpike::search {
namespace {

constexpr double close_enough = 1e-9;  ///< of the width: rounding

struct bounds {
    std::optional<double> lower{}, upper{};
};

/// Durations and widths of a goal, from the shortest and widest to the goal itself.
std::vector<goal> phases_of(const goal& g) {
    constexpr double duration_factor = 4, width_factor = 2, max_width = 0.5;
    std::vector<goal> phases{g};
    const double initial = g.initial_duration_s > 0 ? g.initial_duration_s : g.final_duration_s;
    while (phases.back().final_duration_s > initial) {
        goal coarser = phases.back();
        coarser.final_duration_s = std::max(initial, coarser.final_duration_s / duration_factor);
        coarser.duration_sum_s = coarser.final_duration_s;
        coarser.width = std::min(max_width, coarser.width * width_factor);
        phases.push_back(coarser);
    }
    std::reverse(phases.begin(), phases.end());
    return phases;
}

class mlr_controller {
  public:
    mlr_controller(const mlr_settings& s, const measurer& measure)
        : settings_(s), measure_(measure), max_fps_(s.limits.max_fps) {}

    mlr_result run() {
        if (explore()) visit_goals();
        for (const goal& g : settings_.goals) out_.goals.push_back(result_of(g));
        return std::move(out_);
    }

  private:
    /// The first two trials.
    bool explore() {
        double duration = settings_.goals.front().final_duration_s;
        for (const goal& g : settings_.goals)
            duration = std::min(
                duration, g.initial_duration_s > 0 ? g.initial_duration_s : g.final_duration_s);
        if (!measure({max_fps_, duration})) return false;
        hint_fps_ = std::max(settings_.limits.min_fps, last_forwarding_rate_fps_);
        if (hint_fps_ < max_fps_ && !measure({hint_fps_, duration})) return false;
        hint_fps_ = std::max(settings_.limits.min_fps, last_forwarding_rate_fps_);
        return true;
    }

    void visit_goals() {
        std::vector<size_t> order(settings_.goals.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
            return settings_.goals[a].loss_ratio < settings_.goals[b].loss_ratio;
        });
        for (bool again = true; again;) {
            again = false;
            for (const size_t i : order)
                for (bounds before; const goal& phase : phases_of(settings_.goals[i])) {
                    const size_t trials = out_.trials.size();
                    if (!narrow(phase, before)) return;
                    again |= out_.trials.size() != trials;
                    before = relevant(phase);
                }
        }
    }

    /// Measure until the phase has its width; false: the search is over.
    bool narrow(const goal& phase, const bounds& before) {
        double step = 1;  // widths
        while (const auto load = select(phase, before, step)) {
            do {
                if (!measure({*load, phase.final_duration_s})) return false;
            } while (*load <= max_fps_ && bound_at(phase, *load) == bound::undecided);
            step *= 2;
        }
        return true;
    }

    /// The next load; nullopt: the phase needs none.
    std::optional<double> select(const goal& phase, const bounds& before, double step) {
        const bounds now = relevant(phase);
        const double width = -std::log1p(-phase.width);  // in logarithms of loads
        if (now.lower && now.upper) {
            if (std::log(*now.upper / *now.lower) <= width * (1 + close_enough))
                return std::nullopt;
            if (*now.lower >= max_fps_) return std::nullopt;
            return std::min(max_fps_, std::sqrt(*now.lower * *now.upper));
        }
        if (now.lower) {
            if (*now.lower >= max_fps_) return std::nullopt;
            const bool known = before.upper && *before.upper > *now.lower;
            return std::min(max_fps_, known ? *before.upper : *now.lower * std::exp(width * step));
        }
        if (now.upper) {
            if (*now.upper <= settings_.limits.min_fps) return std::nullopt;
            const bool known = before.lower && *before.lower < *now.upper;
            return std::clamp(known ? *before.lower : *now.upper * std::exp(-width * step),
                              settings_.limits.min_fps, max_fps_);
        }
        const double expected = hint_fps_ / (1 - phase.loss_ratio);
        return std::clamp(before.lower.value_or(expected), settings_.limits.min_fps, max_fps_);
    }

    /// Perform a trial. A load that the sender does not reach becomes the end of the range; false: the search is over.
    bool measure(const trial_input& input) {
        if (out_.trials.size() >= settings_.max_trials) return false;
        const auto measured = measure_(input);
        if (!measured) {
            out_.stopped = measured.error();
            return false;
        }
        const trial& done = out_.trials.emplace_back(trial{input, *measured});
        out_.duration_s += input.duration_s;
        last_forwarding_rate_fps_ = done.forwarding_rate_fps();
        if (!measured->rate_held) return lower_ceiling(input.load_fps);
        by_load_[input.load_fps].push_back(done);
        return true;
    }

    bool lower_ceiling(double load_fps) {
        constexpr double factor = 0.95;
        sender_limited_ = true;
        max_fps_ = load_fps * factor;
        // A load that was offered stays in the range.
        for (const auto& [load, trials] : by_load_)
            if (load < load_fps) max_fps_ = std::max(max_fps_, load);
        last_forwarding_rate_fps_ = std::min(last_forwarding_rate_fps_, max_fps_);
        return max_fps_ > settings_.limits.min_fps;
    }

    [[nodiscard]] bound bound_at(const goal& by, double load) const {
        const auto found = by_load_.find(load);
        return found == by_load_.end() ? bound::undecided : classify(by, found->second).is;
    }

    /// The smallest upper bound, and the largest lower bound below it.
    [[nodiscard]] bounds relevant(const goal& by) const {
        bounds b;
        for (const auto& [load, trials] : by_load_) {
            const bound is = classify(by, trials).is;
            if (is == bound::lower) b.lower = load;
            if (is == bound::upper) {
                b.upper = load;
                break;
            }
        }
        return b;
    }

    [[nodiscard]] goal_result result_of(const goal& g) const {
        const bounds b = relevant(g);
        goal_result r{.relevant_lower_fps = b.lower, .relevant_upper_fps = b.upper};
        if (b.lower)
            r.conditional_throughput_fps = conditional_throughput(g, by_load_.at(*b.lower));
        if (b.lower && b.upper &&
            std::log(*b.upper / *b.lower) <= -std::log1p(-g.width) * (1 + close_enough)) {
            r.why = irregularity::none;
        } else if (b.lower && *b.lower >= max_fps_) {
            r.why = sender_limited_ ? irregularity::sender_limit : irregularity::max_load_lower;
        } else if (b.upper && *b.upper <= settings_.limits.min_fps) {
            r.why = irregularity::min_load_upper;
        } else if (sender_limited_ && (by_load_.empty() || max_fps_ <= settings_.limits.min_fps)) {
            r.why = irregularity::sender_limit;
        }
        return r;
    }

    const mlr_settings& settings_;
    const measurer& measure_;
    double max_fps_;
    double hint_fps_ = 0, last_forwarding_rate_fps_ = 0;
    bool sender_limited_ = false;
    std::map<double, std::vector<trial>> by_load_{};
    mlr_result out_{};
};

}  // namespace

std::string_view name_of(irregularity i) noexcept {
    constexpr std::string_view names[] = {"regular", "max_load_lower", "sender_limit",
                                          "min_load_upper", "stopped"};
    return names[static_cast<size_t>(i)];
}

result<mlr_result> search_mlr(const mlr_settings& settings, const measurer& measure) {
    if (auto good = check(settings.goals, settings.limits); !good)
        return tl::unexpected<error>(good.error());
    return mlr_controller(settings, measure).run();
}

}  // namespace turnpike::search
