// SPDX-License-Identifier: BSD-3-Clause
// Packets in transit with Router Alert: passed to the kernel unmodified.
#pragma once

#include "control/slow_path/slow_path_context.hpp"

namespace turnpike::control::slow_path {

class router_alert : public handler {
  public:
    using handler::handler;
    void handle(owned_mbuf p) override {
        context_.host.deliver_alert(std::move(p), context_.now_ms);
    }
};

}  // namespace turnpike::control::slow_path
