// SPDX-License-Identifier: BSD-3-Clause
// RFC 2544's throughput (section 26.1) by binary search, one loss ratio, with the stop rule of a test set: the difference of
// the two loads around the throughput. Source: RFC 2544 sections 24 and 26.1; the start at a tenth of the line rate, several
// trials per load and the minimum rate change: section 13.4 of "Benchmarking and Analysis of Software Data Planes" (2017).
#pragma once

#include <optional>
#include <vector>

#include "search/goal.hpp"
#include "search/trial.hpp"

namespace turnpike::search {

struct binary_settings {
    load_limits limits{};
    double start_fps = 0;       ///< the first load; 0: a tenth of the maximum
    double loss_ratio = 0;      ///< a load passes if each of its trials loses at most this share
    double duration_s = 60;     ///< of each trial
    unsigned trials = 1;        ///< per load; the first that fails decides
    double resolution_fps = 0;  ///< stop once the two bounds differ by no more
};

struct binary_result {
    std::optional<double> throughput_fps{};  ///< the highest load that passed; none passed: nullopt
    std::optional<double>
        failed_fps{};  ///< the lowest load above that failed; the maximum passed: nullopt
    std::vector<trial> trials{};  ///< in the order of the search
    double duration_s =
        0;  ///< sum of the trials' intended durations, without the measurer's repeats
    bool sender_limited = false;     ///< the sender did not reach the load above the throughput
    std::optional<error> stopped{};  ///< the measurer's error, which ended the search early
};

/// Errors  EINVAL: settings out of range
[[nodiscard]] result<binary_result> search_binary(const binary_settings& settings,
                                                  const measurer& measure);

}  // namespace turnpike::search
