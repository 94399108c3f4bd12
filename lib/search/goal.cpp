// SPDX-License-Identifier: BSD-3-Clause
#include "search/goal.hpp"

#include <cmath>

namespace turnpike::search {
namespace {

const goal presets[] = {
    {.name = "rfc2544"},
    {.name = "tst009", .exceed_ratio = 0.5, .duration_sum_s = 120},
    {.name = "ndr",
     .exceed_ratio = 0.5,
     .final_duration_s = 1,
     .duration_sum_s = 21,
     .initial_duration_s = 1},
    {.name = "pdr",
     .loss_ratio = 0.005,
     .exceed_ratio = 0.5,
     .final_duration_s = 1,
     .duration_sum_s = 21,
     .initial_duration_s = 1},
};

bool is_ratio(double value) { return value >= 0 && value < 1; }
bool is_time(double value) { return value > 0 && std::isfinite(value); }

}  // namespace

result<goal> preset(std::string_view name) {
    std::string names;
    for (const goal& g : presets) {
        if (g.name == name) return g;
        names += (names.empty() ? "" : ", ") + g.name;
    }
    return fail(EINVAL, std::string(name), "is no preset of a goal: the presets are " + names);
}

result<void> check(const goal& of) {
    const std::string object = "goal " + of.name;
    if (!is_ratio(of.loss_ratio))
        return fail(EINVAL, object, "the loss ratio is at least 0 and below 1");
    if (!is_ratio(of.exceed_ratio))
        return fail(EINVAL, object, "the exceed ratio is at least 0 and below 1");
    if (!is_time(of.final_duration_s) || !is_time(of.duration_sum_s))
        return fail(EINVAL, object, "durations are above 0");
    if (of.initial_duration_s != 0 &&
        !(is_time(of.initial_duration_s) && of.initial_duration_s <= of.final_duration_s))
        return fail(EINVAL, object,
                    "the initial trial duration is above 0 and at most the final one");
    if (!(of.width > 0 && of.width < 1))
        return fail(EINVAL, object, "the width is above 0 and below 1");
    return {};
}

result<void> check(const std::vector<goal>& goals, const load_limits& limits) {
    if (goals.empty()) return fail(EINVAL, "goals", "a search needs at least one goal");
    for (size_t i = 0; i < goals.size(); ++i) {
        if (auto good = check(goals[i]); !good) return good;
        for (size_t j = 0; j < i; ++j)
            if (goals[j].name == goals[i].name)
                return fail(EINVAL, "goal " + goals[i].name, "two goals have this name");
    }
    if (!(limits.min_fps > 0 && limits.min_fps < limits.max_fps && std::isfinite(limits.max_fps)))
        return fail(EINVAL, "load limits", "the minimum is above 0 and below the maximum");
    return {};
}

}  // namespace turnpike::search
