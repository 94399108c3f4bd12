// SPDX-License-Identifier: BSD-3-Clause
// The procedures of a run, and its result: turnpike.throughput/1.
// Source: RFC 2544 section 26 (throughput, latency, frame loss rate, back-to-back), RFC 8219 section 7 (percentiles and packet
// delay variation), RFC 9004 (buffer of back-to-back frames), RFC 9971 (MLRsearch).
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "test_bed.hpp"

namespace turnpike::throughput {

/// Gets a line of text after each trial.
using progress = std::function<void(const std::string&)>;

/// Perform all procedures. An error ends the run; the result so far is in `out`, which is valid at all times.
///
/// out      an object with the run's description; gets "sizes"
/// Errors   the test bed's
[[nodiscard]] result<void> perform_procedures(test_bed& bed, const run& settings,
                                              nlohmann::json& out, const progress& show);

/// The maximum rate of each direction: the run's, and at most the slower port's line rate, of encapsulated frames.
///
/// Errors  EINVAL: no port reports its speed, and the run has no maximum
[[nodiscard]] result<double> max_rate_fps(const run& settings, const frame_size& size,
                                          uint32_t slower_link_mbps);

}  // namespace turnpike::throughput
