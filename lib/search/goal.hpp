// SPDX-License-Identifier: BSD-3-Clause
// Search goals of MLRsearch and the limits of a search's loads.
// Source: RFC 9971, Goal Terms; the presets: its section on compliance, and FD.io CSIT's NDR and PDR.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace turnpike::search {

/// A load is a lower bound of the goal if at most `exceed_ratio` of the trials' time lost more than `loss_ratio`, once
/// trials of at least `final_duration_s` sum up to `duration_sum_s`, or their rest cannot change the answer.
struct goal {
    std::string name{};
    double loss_ratio = 0;          ///< Goal Loss Ratio, 0 <= r < 1
    double exceed_ratio = 0;        ///< Goal Exceed Ratio, 0 <= r < 1
    double final_duration_s = 60;   ///< Goal Final Trial Duration
    double duration_sum_s = 60;     ///< Goal Duration Sum
    double initial_duration_s = 0;  ///< Goal Initial Trial Duration; 0: the final one
    double width = 0.005;           ///< Goal Width: (upper - lower) / upper, 0 < w < 1
};

struct load_limits {
    double min_fps = 0;
    double max_fps = 0;  ///< the line rate, or the sender's own maximum
};

/// Presets, by name: rfc2544 (unconditionally compliant), tst009 (binary search with loss verification), ndr and pdr.
///
/// Errors  EINVAL: no such preset, with the list of the presets
[[nodiscard]] result<goal> preset(std::string_view name);

/// Errors  EINVAL with the goal's name and the attribute
[[nodiscard]] result<void> check(const goal& of);
/// Errors  EINVAL: no goal, two goals of one name, an attribute of a goal, limits that are not 0 < min < max
[[nodiscard]] result<void> check(const std::vector<goal>& goals, const load_limits& limits);

}  // namespace turnpike::search
