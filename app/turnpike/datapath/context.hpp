// SPDX-License-Identifier: BSD-3-Clause
// The stages' context beside the burst: the snapshot of this iteration, and the worker's queues and state.
#pragma once

#include <array>
#include <bit>

#include "counters/meter.hpp"
#include "counters/port_counters.hpp"
#include "datapath/bridge.hpp"
#include "datapath/burst.hpp"
#include "datapath/snapshot.hpp"
#include "datapath/tunnel.hpp"
#include "rxtx/tx_queue.hpp"

struct rte_ring;

namespace turnpike::datapath {

struct stage_row;
struct packet_trace;
struct capture_tap;
class sampler;
class latency_sampler;
extern const stage_row* const all_stages;  ///< [stages] (graph.hpp)

/// Threads  one worker's.
struct context {
    const datapath::snapshot* snapshot = nullptr;
    uint32_t worker = 0;  ///< worker number: index of ACLs' per-worker counters
    uint64_t now = 0;     ///< TSC at the start of this iteration
    bool sampled = false;
    bool sends_own = false;   ///< the burst is of packets that control sends
    bool is_dry_run = false;  ///< of `explain`: uses up none of the limits that workers share
    /// The sampler whose samples of this burst wait for the ends of their paths; null: none (sampler.hpp)
    sampler* awaiting = nullptr;
    latency_sampler* latency = nullptr;  ///< with snapshot.latency; null: no latency is measured
    std::array<rxtx::tx_queue, max_ports> tx{};
    /// Punt rings. Both classes of routing protocols, and ARP and ND, have separate rings, so that other punted traffic
    /// cannot starve them.
    rte_ring *to_control = nullptr, *neighbours_to_control = nullptr,
             *sessions_to_control = nullptr, *routing_to_control = nullptr;
    punt_policer* policing = nullptr;
    std::array<counters::port_counters, max_ports> counters;
    bridge_worker_state* bridge_state = nullptr;  ///< per-worker bridge state
    uint64_t redirected = 0;                      ///< TSC of the last packet punted as redirect
    tunnel_worker_state* tunnel_state = nullptr;  ///< per-worker tunnel state
    /// Bursts for copies and fragments; each walks the graph while the burst that it was made from
    /// waits. A frame flooded into tunnels may be flooded or fragmented once more behind them, so
    /// at most four nest, a mirror's copies of them, and of copies in GRE as many again. The masks of unused bursts
    /// are 0.
    std::array<burst, 9> made{};
    uint32_t bursts_in_use = 0;  ///< number of bursts in use
    /// stage table for these bursts: the one of the burst that they were made from
    const stage_row* table = all_stages;
    packet_trace* traced = nullptr;         ///< packet under trace; null: none (trace.hpp)
    const capture_tap* captured = nullptr;  ///< captures that are on; null: none (capture.hpp)
    uint32_t identifier = 0;                ///< number of outer IPv4 headers with an identification

    /// The identification of an outer IPv4 header: none of this worker's last ones, whatever encapsulates, and none of
    /// other workers (RFC 6864 section 4.3).
    [[nodiscard]] uint16_t next_identifier() noexcept {
        const auto workers = static_cast<uint32_t>(std::bit_ceil(snapshot->queues.size()));
        return static_cast<uint16_t>(identifier++ * workers + worker);
    }
};

}  // namespace turnpike::datapath
