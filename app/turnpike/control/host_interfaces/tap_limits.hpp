// SPDX-License-Identifier: BSD-3-Clause
// Rate limits of the packets that one interface passes to the kernel: one of each punt class, and one of packets in transit
// with Router Alert, all of the rate `control_plane.rate`. Each worker polices a class by that class's rate: the flood of a
// class can be a multiple of this limit here, and takes all tokens of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/token_bucket.hpp"
#include "datapath/punt_class.hpp"

namespace turnpike::control {

/// Nothing is permitted before set().
/// Threads  control.
class tap_limits {
  public:
    /// Full buckets of that rate. per_second  0: nothing is permitted
    void set(uint32_t per_second) noexcept {
        std::fill(of_.begin(), of_.end(), rate_limit(per_second));
        alert_ = rate_limit(per_second);
    }
    [[nodiscard]] bool allow(datapath::punt_class of, uint64_t now_ms) noexcept {
        return of_[static_cast<size_t>(of)].allow(now_ms);
    }
    [[nodiscard]] bool allow_alert(uint64_t now_ms) noexcept { return alert_.allow(now_ms); }

  private:
    std::vector<rate_limit> of_ = std::vector(datapath::punt_classes, rate_limit(0));
    rate_limit alert_{0};
};

}  // namespace turnpike::control
