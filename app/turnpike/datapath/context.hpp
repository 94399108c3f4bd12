// SPDX-License-Identifier: BSD-3-Clause
// What stages work with beside the burst: the view of this round, and the worker's own doors.
#pragma once

#include <array>
#include <bit>
#include <span>
#include <utility>

#include "cost/meter.hpp"
#include "cost/port_counters.hpp"
#include "datapath/bridge.hpp"
#include "datapath/burst.hpp"
#include "datapath/tunnel.hpp"
#include "datapath/view.hpp"
#include "rxtx/tx_queue.hpp"

struct rte_ring;

namespace turnpike::datapath {

struct stage_row;
struct packet_trace;
extern const stage_row* const all_stages;  ///< [stages] (graph.hpp)

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
    bridge_books* bridging = nullptr;    ///< this worker's
    uint64_t redirected = 0;             ///< TSC when control was last given a packet to redirect
    tunnel_books* tunnelling = nullptr;  ///< likewise
    /// Bursts of what is made on the way, copies and fragments, which walk while the burst that they are of waits.
    /// What is flooded into tunnels may be flooded, or cut, again by the way of these; more in each other there is
    /// not. Of those that are not in use no mask has a bit.
    std::array<burst, 4> made{};
    uint32_t walking = 0;  ///< how many of them do
    const stage_row* table =
        all_stages;  ///< by which they do: that of the packets that they were made of
    packet_trace* traced = nullptr;  ///< the packet whose way is written down (trace.hpp)
};

}  // namespace turnpike::datapath
