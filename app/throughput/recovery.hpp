// SPDX-License-Identifier: BSD-3-Clause
// System recovery from overload (RFC 2544 section 26.5) and reset of the device (RFC 6201).
//
//   recovery:  110 % of the throughput |A 50 %    . . .  last lost frame B |        time = B - A
//   reset:     one rate throughout     |reset     all frames lost          |        time = lost frames x interval
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "trial_recorder.hpp"

namespace turnpike::throughput {

/// throughput_fps  of the search; the plan's own rate takes precedence
/// max_fps         the overload is at most this
/// out             a value for the result, valid at all times
/// Errors  the test bed's
[[nodiscard]] result<void> measure_system_recovery(trial_recorder& trials,
                                                   const recovery_plan& plan, double throughput_fps,
                                                   double max_fps, nlohmann::json& out);
/// Errors  the test bed's; EIO, ETIMEDOUT: the command
[[nodiscard]] result<void> measure_reset(trial_recorder& trials, const reset_plan& plan,
                                         double throughput_fps, nlohmann::json& out);

}  // namespace turnpike::throughput
