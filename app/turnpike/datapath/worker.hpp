// SPDX-License-Identifier: BSD-3-Clause
// The worker: one lcore that polls its RX queues and runs each burst through the stages (graph.hpp).
// Entry point of the datapath.
#pragma once

#include <atomic>
#include <cstdint>

#include "counters/meter.hpp"
#include "datapath/capture.hpp"
#include "datapath/graph.hpp"
#include "datapath/trace.hpp"
#include "rcu/qsbr.hpp"

struct rte_ring;

namespace turnpike::datapath {

/// The parts of a worker, constant for its lifetime.
struct worker_parts {
    unsigned lcore = 0;
    /// Worker number: reader index of rcu, index into snapshot::queues and into ACLs' counters.
    uint32_t number = 0;
    /// Packets to send, from control; mbuf->port is the index of the port.
    rte_ring* from_control = nullptr;
    rte_ring *to_control = nullptr, *neighbours_to_control = nullptr,
             *sessions_to_control = nullptr, *routing_to_control = nullptr;
    punt_policer* policing = nullptr;
    bridge_worker_state* bridge_state = nullptr;
    tunnel_worker_state* tunnel_state = nullptr;
    const std::atomic<const snapshot*>* published = nullptr;
    const std::atomic<uint32_t>* pool_exhausted =
        nullptr;  ///< incremented when the mbuf pool is exhausted
    rcu::qsbr* rcu = nullptr;
};

/// Threads  run() and poll() on one lcore; counters are read by any thread.
class worker {
  public:
    explicit worker(const worker_parts& parts);
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    /// start(), poll() until `stop`, finish().
    void run(const std::atomic<bool>& stop) noexcept;
    /// Call before the first poll(), on the worker's lcore.
    void start() noexcept;
    /// One iteration: polls every RX queue and the control ring once, and drains TX queues that are
    /// due.
    void poll() noexcept;
    /// Send all waiting packets and empty the ring from control. The TX ports must still be
    /// started.
    void finish() noexcept;
    /// Drop the packets left in the RX rings as `stopping`: some drivers do not free them
    /// (net_ring). Call after every worker's finish(); ports must still be started.
    void empty_receive_rings() noexcept;

    /// For control on the worker's own lcore, between iterations: release every reference to the
    /// snapshot. The time until resume() counts as control's.
    void pause() noexcept;
    void resume() noexcept;

    /// Any thread: trace packets into this buffer from the next burst on; null: stop. The previous
    /// buffer belongs to the caller again after a grace period.
    void trace_in(trace_buffer* buffer) noexcept {
        trace_.store(buffer, std::memory_order_release);
        show_observed();
    }
    /// Control: copy packets for these captures from the next burst on; null: none. The previous tap belongs to the
    /// caller again after a grace period.
    void capture_for(const capture_tap* tap) noexcept {
        tap_.store(tap, std::memory_order_release);
        show_observed();
    }

    [[nodiscard]] const worker_parts& parts() const noexcept { return parts_; }
    [[nodiscard]] const counters::meter& meter() const noexcept { return meter_; }
    /// Called by control; null: no instruction counter.
    void count_instructions(const counters::own_counter* by) noexcept {
        meter_.count_instructions(by);
    }
    [[nodiscard]] const counters::port_counters& port(uint16_t port_index) const noexcept {
        return context_.counters[port_index];
    }

  private:
    /// Answers the number of control's packets that it sends first.
    uint32_t adopt(const snapshot* now) noexcept;
    void flush() noexcept {
        for_each(ports_, [&](uint32_t p) { context_.tx[p].flush(); });
    }
    void reclaim_sent() noexcept;
    void flush_drivers() noexcept;
    uint32_t receive_burst(const rx_queue& from) noexcept;
    void show_observed() noexcept {
        observed_.store(trace_.load(std::memory_order_relaxed) != nullptr ||
                            tap_.load(std::memory_order_relaxed) != nullptr,
                        std::memory_order_release);
    }
    /// Run the burst through a table that records. Answers whether it did.
    [[gnu::noinline]] bool process_observed(const rx_queue& from) noexcept;
    static void report_refused(void* self, const counters::port_counters& port,
                               rte_mbuf* const* packets, uint16_t n) noexcept;
    [[gnu::noinline]] void commit_samples() noexcept;
    [[gnu::noinline]] void process_traced(trace_buffer& buffer, const rx_queue& from) noexcept;
    uint32_t receive_injected() noexcept;
    /// Empty the ring from control.
    uint32_t receive_all_injected() noexcept;
    void nap() noexcept;
    [[nodiscard]] uint64_t go_online() noexcept;
    [[gnu::noinline]] void send_by_ports(uint32_t taken) noexcept;
    /// Send packets of one port that control originated or released.
    void send_own(burst& b) noexcept;
    [[gnu::noinline]] void send_captured(burst& b, stage_mask first) noexcept;

    worker_parts parts_;
    context context_;
    const worker_queues* queues_ = nullptr;  ///< own queues in context_.snapshot
    burst burst_;                            ///< current burst; between bursts its masks are 0
    std::atomic<trace_buffer*> trace_{nullptr};
    std::atomic<const capture_tap*> tap_{nullptr};
    std::atomic<bool> observed_{false};  ///< one of the two is there: all that a burst looks at
    counters::meter meter_;
    bool running_ = false;
    uint32_t exhausted_seen_ = 0;
    packet_mask ports_ = 0;   ///< bit p: has a TX queue on port p
    packet_mask called_ = 0;  ///< subset of ports_ whose drivers must be called periodically
    uint64_t last_ = 0;       ///< TSC at the end of the last iteration, or of the pause behind it
    uint64_t paused_ = 0;     ///< TSC at the beginning of the last pause
    uint64_t call_at_ = UINT64_MAX;
    uint32_t nap_us_ = 0;  ///< length of the last sleep; 0: the last iteration had packets
};

}  // namespace turnpike::datapath
