// SPDX-License-Identifier: BSD-3-Clause
#include "search/classification.hpp"

#include <algorithm>
#include <vector>

namespace turnpike::search {
namespace {

/// Sums of durations such as 0.1 s are not exact: a difference of a billionth is none.
constexpr double rounding = 1e-9;

bool is_full_length(const goal& by, const trial& t) {
    return t.input.duration_s >= by.final_duration_s * (1 - rounding);
}

}  // namespace

std::string_view name_of(bound b) noexcept {
    constexpr std::string_view names[] = {"undecided", "lower bound", "upper bound"};
    return names[static_cast<size_t>(b)];
}

classification classify(const goal& by, std::span<const trial> trials) noexcept {
    classification c;
    for (const trial& t : trials) {
        const bool high = t.output.loss_ratio > by.loss_ratio, full = is_full_length(by, t);
        double& sum = full ? (high ? c.full_length_high_loss_s : c.full_length_low_loss_s)
                           : (high ? c.short_high_loss_s : c.short_low_loss_s);
        sum += t.effective_duration_s();
    }
    c.balancing_s = c.short_low_loss_s * by.exceed_ratio / (1 - by.exceed_ratio);
    c.excess_s = c.short_high_loss_s - c.balancing_s;
    c.positive_excess_s = std::max(0.0, c.excess_s);
    c.effective_high_loss_s = c.full_length_high_loss_s + c.positive_excess_s;
    c.effective_full_s = c.effective_high_loss_s + c.full_length_low_loss_s;
    c.effective_whole_s = std::max(c.effective_full_s, by.duration_sum_s);
    c.missing_s = c.effective_whole_s - c.effective_full_s;
    c.pessimistic_high_loss_s = c.effective_high_loss_s + c.missing_s;
    c.optimistic_exceed_ratio = c.effective_high_loss_s / c.effective_whole_s;
    c.pessimistic_exceed_ratio = c.pessimistic_high_loss_s / c.effective_whole_s;
    if (c.optimistic_exceed_ratio > by.exceed_ratio + rounding)
        c.is = bound::upper;
    else if (c.pessimistic_exceed_ratio <= by.exceed_ratio + rounding)
        c.is = bound::lower;
    return c;
}

double conditional_throughput(const goal& by, std::span<const trial> trials) {
    std::vector<const trial*> full;
    double full_s = 0;
    for (const trial& t : trials)
        if (is_full_length(by, t)) {
            full.push_back(&t);
            full_s += t.effective_duration_s();
        }
    std::sort(full.begin(), full.end(), [](const trial* a, const trial* b) {
        return a->output.loss_ratio < b->output.loss_ratio;
    });
    const double whole_s = std::max(by.duration_sum_s, full_s), least = whole_s * rounding;
    double remaining = whole_s * (1 - by.exceed_ratio), loss_ratio = 1;
    for (const trial* t : full) {
        if (remaining <= least) break;
        loss_ratio = t->output.loss_ratio;
        remaining -= t->effective_duration_s();
    }
    if (remaining > least) loss_ratio = 1;  // the missing time may have lost every frame
    return trials.front().input.load_fps * (1 - loss_ratio);
}

}  // namespace turnpike::search
