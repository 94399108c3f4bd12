// SPDX-License-Identifier: BSD-3-Clause
// A result (turnpike.throughput/1) as one HTML page that stands alone.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace turnpike::throughput {

/// Throughput by frame size beside the line rate, loss by load, latency percentiles, and the search's course. The first line
/// names the setup and the kind of figures (functional rate or rate).
[[nodiscard]] std::string to_page(const nlohmann::json& result);

}  // namespace turnpike::throughput
