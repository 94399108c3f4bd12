// SPDX-License-Identifier: BSD-3-Clause
// Packets that lack only their neighbour's MAC address.
#pragma once

#include "control/slow_path/slow_path_context.hpp"

namespace turnpike::control::slow_path {

class unresolved : public handler {
  public:
    using handler::handler;
    void handle(owned_mbuf p) override;
};

}  // namespace turnpike::control::slow_path
