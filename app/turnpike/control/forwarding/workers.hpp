// SPDX-License-Identifier: BSD-3-Clause
// The workers: their rings and lcores; workers start and stop while others forward.
//
//   added    created and launched without queues; gets its queues with the snapshot (queues.hpp)
//   removed  loses its queues with the snapshot and sends its waiting packets; then it ends, and its mempool
//            cache is flushed. Punted packets in its rings are still handled
//
// A worker's number is assigned when its lcore first forwards, and indexes counters, rings and RCU
// readers. A removed worker keeps its number and counters, and gets them back when its lcore
// forwards again.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "control/transaction.hpp"
#include "datapath/worker.hpp"
#include "observe/port_totals.hpp"

struct rte_mempool;

namespace turnpike::control {

/// Packets in a worker's rings to and from control.
inline constexpr uint32_t inject_ring_packets = 1023, punt_ring_packets = 2047,
                          neighbour_ring_packets = 2047, routing_ring_packets = 511,
                          control_ring_packets = inject_ring_packets + punt_ring_packets +
                                                 neighbour_ring_packets + 2 * routing_ring_packets;

/// The lcores that forward: the configured ones, else all but the main lcore, else the main lcore.
/// where   of the configured ones
/// Errors  EINVAL with the place: EAL lacks one of them, or the main lcore would share the work
[[nodiscard]] result<std::vector<unsigned>> choose_lcores(const std::vector<unsigned>& named,
                                                          const std::string& where);
/// Maximum number of workers: EAL's lcores without the main one, at least one.
[[nodiscard]] uint32_t max_workers() noexcept;
/// RCU reader ID of the control thread, behind the workers'.
[[nodiscard]] inline uint32_t control_reader() noexcept { return max_workers(); }

/// Threads  control.
class workers : public config_handler {
  public:
    struct free_ring {
        void operator()(rte_ring* r) const noexcept;
    };
    /// A worker, running or removed.
    struct worker_slot {
        /// learnt  ring of learnt stations, owned here
        worker_slot(datapath::worker_parts parts, std::unique_ptr<rte_ring, free_ring> learnt_by_it,
                    const tunnel::finder* find, rte_mempool* p)
            : learnt(std::move(learnt_by_it)),
              worker_state(learnt.get()),
              tunnels(find),
              worker(with(parts, *this)),
              pool(p) {}
        std::unique_ptr<rte_ring, free_ring> learnt;
        datapath::bridge_worker_state worker_state;
        datapath::tunnel_worker_state tunnels;
        datapath::punt_policer policer;
        datapath::worker worker;
        rte_mempool* const pool;
        bool forwards = false;
        bool launched = false;
        std::atomic<bool> stop{false};

      private:
        static datapath::worker_parts& with(datapath::worker_parts& parts, worker_slot& s) {
            parts.bridge_state = &s.worker_state;
            parts.tunnel_state = &s.tunnels;
            parts.policing = &s.policer;
            return parts;
        }
    };

    /// pool  mempool whose cache is flushed when an lcore stops forwarding
    workers(const std::atomic<const datapath::snapshot*>& published, rcu::qsbr& rcu,
            rte_mempool* pool)
        : published_(published), rcu_(rcu), pool_(pool) {}
    ~workers() override;

    /// Fills c.workers.
    /// Errors  EINVAL: EAL has no such lcore; EBUSY: the main lcore forwards, or is to forward; ENOMEM
    [[nodiscard]] result<std::unique_ptr<prepared_change>> prepare(transaction& c) override;

    /// Forward until `done`; `between` runs on this lcore, every fraction of a millisecond, and
    /// blocks no worker. When it returns, workers are stopped and their waiting packets are sent.
    void run(const std::function<bool()>& done, const std::function<void()>& between);

    /// The ring to a worker with a TX queue on the port, or on most ports of the bridge whose routing interface it is; null:
    /// none.
    [[nodiscard]] rte_ring* ring_to(const datapath::egress& by) const noexcept;
    /// Take punted packets of all workers, of routing protocols first, then ARP and ND; bounded, so that timers run in time.
    void receive_punted(const std::function<void(rte_mbuf*)>& handle);
    /// For shutdown: handle the packets from the rings to workers, and empty the RX rings.
    void empty(const std::function<void(rte_mbuf*)>& punted,
               const std::function<void(rte_mbuf*)>& unsent);
    /// The mempool is exhausted: workers free sent mbufs that drivers hold.
    void note_pool_exhausted() noexcept { pool_exhausted_.fetch_add(1, std::memory_order_relaxed); }

    /// By number, with removed workers.
    [[nodiscard]] const std::vector<std::unique_ptr<worker_slot>>& all() const noexcept {
        return slots_;
    }
    [[nodiscard]] observe::port_totals counted(uint16_t port_index) const noexcept;

  private:
    class prepared_workers;

    result<void> make_slot(unsigned lcore);
    void drop_slots_from(size_t number) noexcept;
    void launch(worker_slot& s) noexcept;
    static void end(worker_slot& s) noexcept;

    const std::atomic<const datapath::snapshot*>& published_;
    rcu::qsbr& rcu_;
    rte_mempool* const pool_;
    std::vector<std::unique_ptr<worker_slot>> slots_;
    bool running_ = false;  ///< lcores other than the main one forward
    std::atomic<uint32_t> pool_exhausted_{0};
};

}  // namespace turnpike::control
