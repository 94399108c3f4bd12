// SPDX-License-Identifier: BSD-3-Clause
// Packets in transit with Router Alert: passed to the kernel unmodified.
#pragma once

#include "control/slow_path/tools.hpp"

namespace turnpike::control::slow_path {

class router_alert : public handler {
  public:
    using handler::handler;
    void take(owned_mbuf p) override { tools_.host.give_alert(std::move(p), tools_.now_ms); }
};

}  // namespace turnpike::control::slow_path
