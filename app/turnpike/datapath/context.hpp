// SPDX-License-Identifier: BSD-3-Clause
// What stages work with beside the burst: the view of this round, and the worker's own doors.
#pragma once

#include <array>
#include <bit>
#include <span>
#include <utility>

#include "cost/meter.hpp"
#include "cost/port_counters.hpp"
#include "datapath/burst.hpp"
#include "datapath/view.hpp"
#include "rxtx/tx_queue.hpp"

struct rte_ring;

namespace turnpike::datapath {

/// Threads  one worker's.
struct context {
    const datapath::view* view = nullptr;
    uint32_t worker = 0;  ///< among the workers: whose counters of lists count
    uint64_t now = 0;     ///< TSC when this round began
    bool sampled = false;
    std::array<rxtx::tx_queue, max_ports> tx{};
    /// Packets for control: ARP and neighbour discovery by a ring of their own, so that nothing else
    /// that is punted can starve them.
    rte_ring *to_control = nullptr, *neighbours_to_control = nullptr;
    std::array<cost::port_counters, max_ports> counters;
};

}  // namespace turnpike::datapath
