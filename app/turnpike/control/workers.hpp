// SPDX-License-Identifier: BSD-3-Clause
// The workers: their rings, their lcores, starting and stopping them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "datapath/worker.hpp"
#include "observe/port_totals.hpp"

namespace turnpike::control {

/// Each worker has so many rings to and from control, of so many packets.
inline constexpr uint32_t control_rings = 3, control_ring_packets = 1023;

/// The lcores that forward: those that the configuration names, else all but the main one, else that.
/// Errors  EINVAL with the file: EAL was not given one, or the main one is not alone
[[nodiscard]] result<std::vector<unsigned>> choose_lcores(const std::vector<unsigned>& named,
                                                          const std::string& file);

/// Threads  control.
class workers {
  public:
    /// Errors  ENOMEM
    [[nodiscard]] static result<std::unique_ptr<workers>> create(
        const std::vector<unsigned>& lcores, const std::atomic<const datapath::view*>& published,
        rcu::qsbr& rcu);
    ~workers();
    workers(const workers&) = delete;
    workers& operator=(const workers&) = delete;

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

    [[nodiscard]] const std::vector<std::unique_ptr<datapath::worker>>& all() const noexcept {
        return workers_;
    }
    [[nodiscard]] observe::port_totals counted(uint16_t place) const noexcept;

  private:
    explicit workers(const std::atomic<const datapath::view*>& published) : published_(published) {}
    result<rte_ring*> make_ring(const char* what, size_t worker);

    const std::atomic<const datapath::view*>& published_;
    std::vector<std::unique_ptr<datapath::worker>> workers_;
    std::vector<rte_ring*> rings_;  ///< all of them, to be freed
    std::atomic<bool> stop_{false};
    std::atomic<uint32_t> dry_{0};
};

}  // namespace turnpike::control
