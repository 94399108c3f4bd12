// SPDX-License-Identifier: BSD-3-Clause
// The procedures of a run, and its result: turnpike.throughput/1.
// Source: RFC 2544 section 26 (throughput, latency, frame loss rate, back-to-back, system recovery), RFC 6201 (reset), RFC 8219
// section 7 (percentiles and packet delay variation), RFC 9004 (buffer of back-to-back frames), RFC 9971 (MLRsearch).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "trial_recorder.hpp"

namespace turnpike::throughput {

/// Perform all procedures. An error ends the run; the result so far is in `out`, which is valid at all times.
///
/// direct   two ports without a device between them, for the tester's own latency; null: it is not measured
/// out      an object with the run's description; gets "sizes"
/// Errors   the test bed's
[[nodiscard]] result<void> perform_procedures(test_bed& bed, test_bed* direct, const run& settings,
                                              nlohmann::json& out, const progress& show);

/// The maximum rate of each stream: the run's, and at most the slower port's line rate, of encapsulated frames.
///
/// Errors  EINVAL: no port reports its speed, and the run has no maximum
[[nodiscard]] result<double> max_rate_fps(const run& settings, const frame_size& size,
                                          uint32_t slower_link_mbps);

}  // namespace turnpike::throughput
