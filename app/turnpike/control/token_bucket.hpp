// SPDX-License-Identifier: BSD-3-Clause
// Token bucket: a rate per second, with bursts of up to a tenth of a second's tokens.
#pragma once

#include <algorithm>
#include <cstdint>

namespace turnpike::control {

/// Threads  one
class token_bucket {
  public:
    /// per_second  0: no tokens
    explicit token_bucket(uint32_t per_second)
        : per_second_(per_second),
          depth_(per_second == 0 ? 0 : std::max(1.0, per_second / 10.0)),
          tokens_(depth_) {}

    /// Whether one more is permitted at `now_ms`.
    bool take(uint64_t now_ms) noexcept {
        tokens_ = std::min(depth_,
                           tokens_ + static_cast<double>(now_ms - last_ms_) * per_second_ / 1000.0);
        last_ms_ = now_ms;
        if (tokens_ < 1) return false;
        tokens_ -= 1;
        return true;
    }

  private:
    double per_second_, depth_, tokens_;
    uint64_t last_ms_ = 0;
};

}  // namespace turnpike::control
