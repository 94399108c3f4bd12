// SPDX-License-Identifier: BSD-3-Clause
// MLRsearch (RFC 9971): the conditional throughput of several goals in one search. The output is in the RFC's words.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "search/goal.hpp"
#include "search/trial.hpp"

namespace turnpike::search {

/// The reason that a goal's result is irregular.
enum class irregularity : uint8_t {
    none,            ///< regular
    max_load_lower,  ///< the maximum load is a lower bound: the device is faster than the limit of the search
    sender_limit,  ///< the sender reached no load above the lower bound and below the upper one, if there is one
    min_load_upper,  ///< the minimum load is an upper bound
    stopped,  ///< the measurer ended the search, or max_trials did, before the goal's width was reached
};
[[nodiscard]] std::string_view name_of(irregularity i) noexcept;

struct goal_result {
    irregularity why = irregularity::stopped;
    std::optional<double>
        relevant_lower_fps{};  ///< Relevant Lower Bound (effective where there is no upper one)
    std::optional<double> relevant_upper_fps{};          ///< Relevant Upper Bound
    std::optional<double> conditional_throughput_fps{};  ///< at the lower bound

    [[nodiscard]] bool regular() const noexcept { return why == irregularity::none; }
};

struct mlr_settings {
    load_limits limits{};
    std::vector<goal> goals{};
    uint32_t max_trials = 10'000;
};

struct mlr_result {
    std::vector<goal_result> goals{};  ///< one for each goal, in the order of the settings
    std::vector<trial>
        trials{};  ///< in the order of the search, those without the intended load included
    double duration_s =
        0;  ///< sum of the trials' intended durations, without the measurer's repeats
    std::optional<error> stopped{};  ///< the measurer's error
};

/// Errors  EINVAL: goals or limits (goal.hpp's check())
[[nodiscard]] result<mlr_result> search_mlr(const mlr_settings& settings, const measurer& measure);

}  // namespace turnpike::search
