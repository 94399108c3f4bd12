// SPDX-License-Identifier: BSD-3-Clause
// Frames of IS-IS, LLDP, CDP, and frames that host_pass names, which are passed to the kernel unmodified.
#pragma once

#include "control/slow_path/slow_path_context.hpp"

namespace turnpike::control::slow_path {

class link_protocol : public handler {
  public:
    using handler::handler;
    void handle(owned_mbuf p) override { context_.deliver_or_consume(std::move(p)); }
};

}  // namespace turnpike::control::slow_path
