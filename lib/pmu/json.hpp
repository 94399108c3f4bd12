// SPDX-License-Identifier: BSD-3-Clause
// A measurement as JSON: {"of": PMU or error, "shared_with": [...], "counted_share": x, "metrics":
// {name: value, or {PMU: value}, or null}, "why": {name: reason}}. Threads: as the measurement.
// Errors: none.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "pmu/measurement.hpp"

namespace turnpike::pmu {

/// All its metrics, except metrics that depend on a value missing in `given`.
[[nodiscard]] nlohmann::json to_json(const measurement& m, const given_values& given);

/// True if a metric, or one that it uses, contains this name.
[[nodiscard]] bool depends_on(const table& in, const metric& m, std::string_view name);

}  // namespace turnpike::pmu
