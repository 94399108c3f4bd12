// SPDX-License-Identifier: BSD-3-Clause
// What one worker did with one port's packets: the terms of the balance.
#pragma once

#include <array>

#include "cost/counter.hpp"
#include "packet/drop_reason.hpp"

namespace turnpike::cost {

/// rx         returned by rx_burst                     tx        accepted by tx_burst
/// drops      freed, by reason, at the port where the reason arose
/// originated allocated by turnpike itself             consumed  it was for us
/// Bytes are frame bytes without FCS.
/// Threads  written by one worker (or by control), read by anyone.
struct port_counters {
    counter rx_packets, rx_bytes, tx_packets, tx_bytes, originated, consumed;
    std::array<counter, packet::drop_reasons> drops;

    void drop(packet::drop_reason reason, uint64_t n = 1) noexcept {
        drops[static_cast<size_t>(reason)].add(n);
    }
};

}  // namespace turnpike::cost
