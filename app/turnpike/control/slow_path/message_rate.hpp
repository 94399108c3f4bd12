// SPDX-License-Identifier: BSD-3-Clause
// Rate limit of unsolicited ARP and ND messages per interface: a flood on one link does not affect other
// links (RFC 6583 section 6).
#pragma once

#include <vector>

#include "base/token_bucket.hpp"
#include "datapath/snapshot.hpp"

namespace turnpike::control::slow_path {

/// Threads  control.
class message_rate {
  public:
    message_rate() : of_(datapath::max_interfaces, rate_limit(0)) {}
    /// Set the limit of every interface.
    void set(uint32_t per_second) {
        if (per_second == per_second_) return;
        per_second_ = per_second;
        of_.assign(of_.size(), rate_limit(per_second));
    }
    [[nodiscard]] bool allow(uint16_t interface, uint64_t now_ms) noexcept {
        return of_[interface].allow(now_ms);
    }

  private:
    std::vector<rate_limit> of_;
    uint32_t per_second_ = 0;
};

}  // namespace turnpike::control::slow_path
