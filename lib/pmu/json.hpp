// SPDX-License-Identifier: BSD-3-Clause
// A measurement as JSON: {"of": PMU or why there is none, "shared_with": [...], "counted_share": x,
// "metrics": {name: value, or {PMU: value}, or null}, "why": {name: reason}}.
// Threads: as the measurement. Errors: none.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "pmu/measurement.hpp"

namespace turnpike::pmu {

/// Every metric of it, but those that need something which nobody gave: they are not asked for.
[[nodiscard]] nlohmann::json to_json(const measurement& m, const given_values& given);

/// Whether a metric, or one that it is made of, names this.
[[nodiscard]] bool depends_on(const table& in, const metric& m, std::string_view name);

}  // namespace turnpike::pmu
