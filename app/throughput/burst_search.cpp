// SPDX-License-Identifier: BSD-3-Clause
#include "burst_search.hpp"

#include <algorithm>

namespace turnpike::throughput {

double burst_sending_s(uint64_t frames, double accepted_s, double line_rate_fps) noexcept {
    if (frames < 2 || line_rate_fps <= 0) return accepted_s;
    return std::max(accepted_s, static_cast<double>(frames - 1) / line_rate_fps);
}

result<longest_burst> search_longest_burst(uint32_t max_frames, const burst_measurer& measure) {
    constexpr uint32_t first_frames = 16;
    longest_burst longest;
    uint32_t above = max_frames + 1;  // the least length that failed
    for (uint32_t length = std::min(first_frames, max_frames); above - longest.frames > 1;) {
        const auto trial = measure(length);
        if (!trial) return tl::unexpected<error>(trial.error());
        if (trial->counts && trial->loss_ratio == 0) {
            longest.frames = length;
            longest.sending_s = trial->sending_s;
        } else {
            above = length;
            longest.counts = trial->counts;
        }
        length = above <= max_frames ? longest.frames + (above - longest.frames) / 2
                                     : std::min(max_frames, 2 * length);
    }
    return longest;
}

}  // namespace turnpike::throughput
