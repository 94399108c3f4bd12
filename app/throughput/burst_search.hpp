// SPDX-License-Identifier: BSD-3-Clause
// The longest burst without loss: lengths are doubled until one loses a frame, then bisected.
// Source: RFC 9004 section 6.2.
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.hpp"

namespace turnpike::throughput {

struct burst_trial {
    double loss_ratio = 0;
    double sending_s = 0;  ///< from the first frame to the last, on the wire
    bool counts = true;    ///< else the tester did not send the burst, or lost frames itself
};

struct longest_burst {
    uint32_t frames = 0;
    double sending_s = 0;  ///< of a burst of this length
    /// The next length lost frames, or is above the maximum. Otherwise a trial of it did not count, and the device's longest
    /// burst may be longer.
    bool counts = true;
};

/// The duration of a burst on the wire, from the first frame to the last. A port accepts frames into its descriptors faster than
/// it sends them: the burst takes at least its time at the line rate (RFC 9004 section 6.4).
///
/// accepted_s     from the port's first accepted frame to its last
/// line_rate_fps  0: unknown
[[nodiscard]] double burst_sending_s(uint64_t frames, double accepted_s,
                                     double line_rate_fps) noexcept;

/// Performs the trial of one length.
using burst_measurer = std::function<result<burst_trial>(uint32_t frames)>;

/// max_frames  at least 1
/// Errors  the measurer's
[[nodiscard]] result<longest_burst> search_longest_burst(uint32_t max_frames,
                                                         const burst_measurer& measure);

}  // namespace turnpike::throughput
