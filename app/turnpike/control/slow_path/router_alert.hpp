// SPDX-License-Identifier: BSD-3-Clause
// Packets to somebody else that ask routers to look at them: the kernel's, as they came.
#pragma once

#include "control/slow_path/tools.hpp"

namespace turnpike::control::slow_path {

class router_alert : public handler {
  public:
    using handler::handler;
    void take(packet_in_hand p) override { tools_.host.give_alert(std::move(p), tools_.now_ms); }
};

}  // namespace turnpike::control::slow_path
