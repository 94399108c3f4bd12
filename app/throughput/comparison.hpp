// SPDX-License-Identifier: BSD-3-Clause
// Two results (turnpike.throughput/1) side by side: the change of each figure, and whether it is more than the noise of the
// trials that it comes from.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace turnpike::throughput {

/// {schema: turnpike.throughput-comparison/1, differs: [...], missing: [...], rows: [{size, figure, unit, a, b, change, noise, verdict, why}]}
///   differs  the conditions of the two runs that are not the same: such results compare more than the device
///   change   b / a - 1; null if a is 0
///   noise    the relative change that the trials of both explain, null: one trial, unknown
///              throughput     half-widths of the search's intervals (the figure and the load that failed)
///              loss           three standard deviations of a binomial share; losses come in groups, so it is the least noise
///              back-to-back   three standard errors of the mean
///   verdict  "same" (within the noise), "more", "less", "unknown"
///   why      the reason of an unknown verdict: a figure that does not count or is limited by max_frames, another load, noise unknown
/// Throws  nlohmann::json::exception: a member is missing or of another type
[[nodiscard]] nlohmann::json compare(const nlohmann::json& a, const nlohmann::json& b);

[[nodiscard]] std::string comparison_text(const nlohmann::json& comparison);

}  // namespace turnpike::throughput
