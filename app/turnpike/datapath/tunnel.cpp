// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/tunnel.hpp"

namespace turnpike::datapath {

tunnel_worker_state::tunnel_worker_state(const tunnel::finder* find)
    : from4(find), from6(find), counters_(std::make_unique<tunnel_counters[]>(max_interfaces)) {}

}  // namespace turnpike::datapath
