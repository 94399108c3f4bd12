// SPDX-License-Identifier: BSD-3-Clause
// Results as HTML pages that stand alone.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace turnpike::throughput {

/// Throughput by frame size beside the line rate, loss by load, latency percentiles, and the search's course. The first line
/// names the setup and the kind of figures (functional rate or rate).
///
/// result  turnpike.throughput/1
[[nodiscard]] std::string to_page(const nlohmann::json& result);

/// The beginning of a page, up to <main>.
///
/// of     the result that the page shows
/// setup  a run's result, which names the kind of figures; null: none
[[nodiscard]] std::string begin_result_page(const nlohmann::json& of, const nlohmann::json& setup);

/// Throughput of each step by frame size, the speedup by the units, and the table. The same first line.
///
/// scaled  turnpike.throughput-scale/1
[[nodiscard]] std::string to_scale_page(const nlohmann::json& scaled);

}  // namespace turnpike::throughput
