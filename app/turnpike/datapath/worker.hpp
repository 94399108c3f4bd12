// SPDX-License-Identifier: BSD-3-Clause
// A worker: one lcore that polls its RX queues and takes each burst all the way to the TX queues.
// Enter the datapath here.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "cost/meter.hpp"
#include "cost/port_counters.hpp"
#include "datapath/tables.hpp"
#include "rxtx/tx_queue.hpp"

struct rte_ring;

namespace turnpike::datapath {

struct rx_queue {
    uint16_t port;  ///< index into tables
    uint16_t queue_id;
};

/// What a worker is made of; control fills it before the worker runs.
struct worker_plan {
    unsigned lcore = 0;
    std::vector<rx_queue> rx{};
    std::array<int32_t, max_ports> tx_queue_id{};  ///< by port; -1: may not send there
    uint64_t drain_cycles = 0;
    /// Packets to send; mbuf->port is the index of the port.
    rte_ring* from_control = nullptr;
    /// Packets for control: ARP and neighbour discovery by a ring of their own, so that nothing
    /// else that is punted can starve them.
    rte_ring *to_control = nullptr, *neighbours_to_control = nullptr;
    uint32_t number = 0;  ///< among the workers: as a reader of tables::rcu, in lists' counters
};

/// Threads  run()/poll() one lcore; the counters are read by anyone.
class worker {
  public:
    worker(const worker_plan& plan, const tables& t);
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    /// start(), poll() until `stop`, finish().
    void run(const std::atomic<bool>& stop) noexcept;
    /// Before the first poll(), on the worker's own lcore.
    void start() noexcept;
    /// One iteration: every RX queue once, the control ring once, what is due is sent.
    void poll() noexcept;
    /// Send what is waiting and what control still has for us. Ports must still run.
    void finish() noexcept;
    /// Take what still lies in the receive rings and drop it as `stopping`: a driver need not give
    /// it back (net_ring does not). After every worker's finish(); ports must still run.
    void empty_receive_rings() noexcept;

    [[nodiscard]] unsigned lcore() const noexcept { return plan_.lcore; }
    [[nodiscard]] const cost::meter& meter() const noexcept { return meter_; }
    [[nodiscard]] const cost::port_counters& port(uint16_t index) const noexcept {
        return counters_[index];
    }

  private:
    uint32_t take_burst(const rx_queue& from) noexcept;
    uint32_t take_from_control() noexcept;
    void route(burst& b, cost::stage_clock& clock) noexcept;
    void cross(burst& b, cost::stage_clock& clock) noexcept;
    void send(burst& b, uint64_t now) noexcept;
    void send_one(burst& b, uint32_t i, uint64_t now) noexcept;
    void punt(burst& b, uint32_t i) noexcept;
    void free_dropped(const burst& b, uint32_t i) noexcept;

    worker_plan plan_;
    const tables& tables_;
    rcu::qsbr* rcu_ = nullptr;  ///< null: tables has none
    cost::meter meter_;
    std::array<cost::port_counters, max_ports> counters_;
    std::array<rxtx::tx_queue, max_ports> tx_;
    uint64_t last_ = 0;  ///< TSC at the end of the last iteration
};

}  // namespace turnpike::datapath
