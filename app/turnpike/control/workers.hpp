// SPDX-License-Identifier: BSD-3-Clause
// The workers: their rings, their lcores, starting and stopping them, while others forward.
//
//   comes   made, launched without queues; gets its queues with the view (queues.hpp)
//   goes    has lost its queues with the view, and sent what it had; then it ends, and gives its pool
//           cache back. What it punted is still in its rings, and is taken as ever
//
// A worker's number is its lcore's from the first time that this forwards: counters, rings and RCU go by it.
// One that went is kept, with what it counted, and is the same one when its lcore comes again.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "control/change.hpp"
#include "datapath/worker.hpp"
#include "observe/port_totals.hpp"

struct rte_mempool;

namespace turnpike::control {

/// Each worker has so many rings to and from control, of so many packets.
inline constexpr uint32_t control_rings = 3, control_ring_packets = 1023;

/// The lcores that forward: those that the configuration names, else all but the main one, else that.
/// Errors  EINVAL with the file: EAL was not given one, or the main one is not alone
[[nodiscard]] result<std::vector<unsigned>> choose_lcores(const std::vector<unsigned>& named,
                                                          const std::string& file);
/// Workers that there can ever be: EAL's lcores but the main one, at least one.
[[nodiscard]] uint32_t most_workers() noexcept;

/// Threads  control.
class workers : public owner {
  public:
    struct free_ring {
        void operator()(rte_ring* r) const noexcept;
    };
    /// One that is there, or was.
    struct seat {
        /// learnt  of bridges; ours
        seat(datapath::worker_parts parts, std::unique_ptr<rte_ring, free_ring> learnt_by_it,
             const tunnel::finder* find, rte_mempool* p)
            : learnt(std::move(learnt_by_it)),
              books(learnt.get()),
              tunnels(find),
              worker(with(parts, *this)),
              pool(p) {}
        std::unique_ptr<rte_ring, free_ring> learnt;
        datapath::bridge_books books;
        datapath::tunnel_books tunnels;
        datapath::worker worker;
        rte_mempool* const pool;
        bool forwards = false;
        bool launched = false;
        std::atomic<bool> stop{false};

      private:
        static datapath::worker_parts& with(datapath::worker_parts& parts, seat& s) {
            parts.bridging = &s.books;
            parts.tunnelling = &s.tunnels;
            return parts;
        }
    };

    /// pool  whose cache an lcore gives back when it forwards no more
    workers(const std::atomic<const datapath::view*>& published, rcu::qsbr& rcu, rte_mempool* pool)
        : published_(published), rcu_(rcu), pool_(pool) {}
    ~workers() override;

    /// Gives c.workers.
    /// Errors  EINVAL: EAL has no such lcore; EBUSY: the main lcore forwards by itself, or is to; ENOMEM
    [[nodiscard]] result<std::unique_ptr<staged>> prepare(change& c) override;

    /// Forward until `done`; `between` is called every fraction of a millisecond, on this lcore, and
    /// holds no worker up. Workers are stopped when it returns, what they had in hand is sent.
    void run(const std::function<bool()>& done, const std::function<void()>& between);

    /// The ring to a worker that may send by a port; null: none may.
    [[nodiscard]] rte_ring* ring_to(uint16_t port) const noexcept;
    /// What was punted, neighbours' messages first; bounded, so that timers get their turn.
    void take_punted(const std::function<void(rte_mbuf*)>& take);
    /// For the end: take back what still lies in the rings to workers, and empty the receive rings.
    void empty(const std::function<void(rte_mbuf*)>& punted,
               const std::function<void(rte_mbuf*)>& unsent);
    /// The pool is dry: workers give back what drivers have sent.
    void pool_is_dry() noexcept { dry_.fetch_add(1, std::memory_order_relaxed); }

    /// By number; those that went, too.
    [[nodiscard]] const std::vector<std::unique_ptr<seat>>& all() const noexcept { return seats_; }
    [[nodiscard]] observe::port_totals counted(uint16_t place) const noexcept;

  private:
    class staged_workers;

    result<void> make_seat(unsigned lcore);
    void drop_seats_from(size_t number) noexcept;
    void launch(seat& s) noexcept;
    static void end(seat& s) noexcept;

    const std::atomic<const datapath::view*>& published_;
    rcu::qsbr& rcu_;
    rte_mempool* const pool_;
    std::vector<std::unique_ptr<seat>> seats_;
    bool running_ = false;  ///< lcores forward by themselves
    std::atomic<uint32_t> dry_{0};
};

}  // namespace turnpike::control
