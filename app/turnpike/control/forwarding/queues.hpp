// SPDX-License-Identifier: BSD-3-Clause
// Assignment of RX and TX queues to workers, and the hand-over of a queue: a worker releases it before another
// uses it, and no packet is lost meanwhile unless the RX ring overflows.
//
//   RX   by the port's rx_workers; else to the worker that had it; else to the worker with the fewest queues,
//        among the workers of the port's NUMA node if one forwards. When workers are added or removed, the
//        queues without rx_workers are balanced, under the same rule
//   TX   if the device has a queue per worker, the queue with the worker's number; else the sending workers
//        share the queues, and keep the ones they had
//
//   before --> hand_over --> after      in hand_over, queues that move belong to no worker, and a worker that
//                                       waits for a TX queue polls no RX queue
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "control/transaction.hpp"
#include "datapath/snapshot.hpp"

namespace turnpike::control {

class queue_plan {
  public:
    /// A port of the new configuration. If the running snapshot has a port at its index, it is the
    /// same.
    struct port {
        std::string_view name;
        uint16_t port_index = 0;
        const state::port* config = nullptr;
        int node = -1;  ///< NUMA node; -1: unknown
    };

    /// running   null at the start
    /// even_out  balance, because workers were added or removed
    queue_plan(const std::vector<transaction::worker>& workers, const datapath::snapshot* running,
               bool even_out);

    /// For all ports at once.
    /// Errors  EINVAL: rx_workers names an lcore that does not forward
    [[nodiscard]] result<void> share_rx(std::span<const port> ports);
    /// Numbers of the workers that poll a port for which `reaches` is true. Call after share_rx().
    [[nodiscard]] std::vector<size_t> senders(
        const std::function<bool(uint16_t port_index)>& reaches) const;
    /// For one port. senders  workers that need a TX queue there
    /// Errors  EBUSY: the device has too few queues
    [[nodiscard]] result<void> share_tx(const port& p, uint16_t queues,
                                        const std::vector<size_t>& senders);

    [[nodiscard]] const std::vector<datapath::worker_queues>& after() const noexcept {
        return after_;
    }
    /// Empty: no queue moves.
    [[nodiscard]] std::vector<datapath::worker_queues> hand_over() const;

  private:
    struct movable {
        size_t worker;
        datapath::rx_queue queue;
        int node;  ///< node of its port, if a worker of that node forwards; else -1: any worker
    };

    [[nodiscard]] bool polled(size_t worker, const datapath::rx_queue& q) const noexcept;
    [[nodiscard]] bool polled_by_another(size_t worker, const datapath::rx_queue& q) const noexcept;
    /// -1: no TX queue.
    [[nodiscard]] int32_t sent_by(size_t worker, uint16_t port_index) const noexcept;
    [[nodiscard]] int node_with_workers(int node) const noexcept;
    [[nodiscard]] size_t fewest(int node) const noexcept;
    [[nodiscard]] result<size_t> named(const port& p, uint16_t queue) const;
    void even_out(std::vector<movable>& free, int node);

    const std::vector<transaction::worker>& workers_;
    const datapath::snapshot* const running_;
    const bool even_out_;
    std::vector<datapath::worker_queues> after_;
};

}  // namespace turnpike::control
