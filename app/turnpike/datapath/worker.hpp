// SPDX-License-Identifier: BSD-3-Clause
// A worker: one lcore that polls its RX queues and takes each burst through the stages (graph.hpp).
// Enter the datapath here.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "cost/meter.hpp"
#include "datapath/graph.hpp"
#include "datapath/trace.hpp"
#include "rcu/qsbr.hpp"

struct rte_ring;

namespace turnpike::datapath {

/// What a worker is made of, for as long as it lives.
struct worker_parts {
    unsigned lcore = 0;
    uint32_t number =
        0;  ///< among the workers: as a reader of rcu, in view::queues, in lists' counters
    /// Packets to send, from control; mbuf->port is the place of the port.
    rte_ring* from_control = nullptr;
    rte_ring *to_control = nullptr, *neighbours_to_control = nullptr;
    bridge_books* bridging = nullptr;
    tunnel_books* tunnelling = nullptr;
    const std::atomic<const view*>* published = nullptr;
    const std::atomic<uint32_t>* dry = nullptr;  ///< changes when the pool has run dry
    rcu::qsbr* rcu = nullptr;
};

/// Threads  run()/poll() one lcore; the counters are read by anyone.
class worker {
  public:
    explicit worker(const worker_parts& parts);
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    /// start(), poll() until `stop`, finish().
    void run(const std::atomic<bool>& stop) noexcept;
    /// Before the first poll(), on the worker's own lcore.
    void start() noexcept;
    /// One round: every RX queue once, the control ring once, what is due is sent.
    void poll() noexcept;
    /// Send what is waiting and what control still has for us. Ports that we may send by must still run.
    void finish() noexcept;
    /// Take what still lies in the receive rings and drop it as `stopping`: a driver need not give
    /// it back (net_ring does not). After every worker's finish(); ports must still run.
    void empty_receive_rings() noexcept;

    /// Control's, between rounds, where control runs on the worker's own lcore: nothing is held.
    void pause() noexcept {
        if (!running_) return;
        flush();
        parts_.rcu->offline(parts_.number);
        context_.view = nullptr;  // it may go meanwhile
    }
    void resume() noexcept {
        if (running_) parts_.rcu->online(parts_.number);
    }

    /// Any thread: write the way of packets in this from the next burst on; null: no more. The book before is the
    /// caller's again when the worker was quiescent.
    void trace_in(trace_book* book) noexcept { trace_.store(book, std::memory_order_release); }

    [[nodiscard]] const worker_parts& parts() const noexcept { return parts_; }
    [[nodiscard]] const cost::meter& meter() const noexcept { return meter_; }
    /// Control's; null: there is nothing to read.
    void count_instructions(const cost::own_counter* by) noexcept { meter_.count_instructions(by); }
    [[nodiscard]] const cost::port_counters& port(uint16_t place) const noexcept {
        return context_.counters[place];
    }

  private:
    void adopt(const view* now) noexcept;
    void flush() noexcept {
        for_each(ports_, [&](uint32_t p) { context_.tx[p].flush(); });
    }
    void give_back_sent() noexcept;
    void call_drivers() noexcept;
    uint32_t take_burst(const rx_queue& from) noexcept;
    [[gnu::noinline]] void take_traced(trace_book& book, const rx_queue& from) noexcept;
    uint32_t take_from_control() noexcept;
    void nap() noexcept;
    [[gnu::noinline]] void send_by_ports(uint32_t taken) noexcept;
    /// Of one port.
    void send_own(burst& b) noexcept;

    worker_parts parts_;
    context context_;
    const worker_queues* queues_ = nullptr;  ///< ours in context_.view
    burst burst_;  ///< under way; between bursts none of its masks has a bit
    std::atomic<trace_book*> trace_{nullptr};
    cost::meter meter_;
    bool running_ = false;
    uint32_t dry_seen_ = 0;
    packet_mask ports_ = 0;   ///< bit p: we may send by port p
    packet_mask called_ = 0;  ///< those of them whose drivers send their own
    uint64_t last_ = 0;       ///< TSC at the end of the last round
    uint64_t call_at_ = UINT64_MAX;
    uint32_t nap_us_ = 0;  ///< of the last one, since when nothing came; 0: something came
};

}  // namespace turnpike::datapath
