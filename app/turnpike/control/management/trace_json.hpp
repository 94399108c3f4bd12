// SPDX-License-Identifier: BSD-3-Clause
// JSON of a trace, shared by `show trace` and `explain`.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "control/controller.hpp"
#include "datapath/trace.hpp"

namespace turnpike::control {

/// A trace, with current names and next hops: port, queue, came, way (by step), cut, left.
[[nodiscard]] nlohmann::json trace_json(controller& c, const datapath::packet_trace& t);

}  // namespace turnpike::control
