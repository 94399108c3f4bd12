// SPDX-License-Identifier: BSD-3-Clause
// The slow path: what workers punt, ended by the handler that is registered for its reason.
//
//   worker --punted--> slow_path --> arp, nd (who is there)      ---> neighbours ---> outlet --> worker
//                                \-> unresolved (who to wait for) -/                   /
//                                \-> local, told (echo replies, ICMP errors) ---------/
#pragma once

#include <array>
#include <memory>

#include "control/slow_path/tools.hpp"

namespace turnpike::control::slow_path {

/// Threads  control.
class slow_path {
  public:
    /// The handler of a reason; one each.
    void on(datapath::punt_reason why, handler& h) noexcept {
        handlers_[static_cast<size_t>(why)] = &h;
    }
    /// End a punted packet; whatever goes wrong, it leaves by a counted door.
    void take(rte_mbuf* m, tools& t) noexcept;

  private:
    std::array<handler*, static_cast<size_t>(datapath::punt_reason::count_)> handlers_{};
};

}  // namespace turnpike::control::slow_path
