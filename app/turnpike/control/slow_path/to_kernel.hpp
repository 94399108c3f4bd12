// SPDX-License-Identifier: BSD-3-Clause
// Packets that are passed to the kernel unmodified.
#pragma once

#include "control/slow_path/slow_path_context.hpp"

namespace turnpike::control::slow_path {

/// Frames of IS-IS, LLDP, CDP, and frames that host_pass names.
class link_protocol : public handler {
  public:
    using handler::handler;
    void handle(owned_mbuf p) override { context_.deliver_or_consume(std::move(p)); }
};

/// Packets in transit with Router Alert.
class router_alert : public handler {
  public:
    using handler::handler;
    void handle(owned_mbuf p) override {
        context_.host.deliver_alert(std::move(p), context_.now_ms);
    }
};

}  // namespace turnpike::control::slow_path
