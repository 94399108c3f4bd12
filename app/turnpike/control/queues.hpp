// SPDX-License-Identifier: BSD-3-Clause
// Which worker polls which RX queue and sends by which TX queue, and how a queue changes hands: whoever has
// it lets go of it before another takes it, and nothing is lost meanwhile but what a ring has no room for.
//
//   RX   by the port's rx_workers; else by whom it was; else by whoever has the fewest, of the workers of the
//        port's NUMA node where one of them forwards. When workers come and go, those that no rx_workers name
//        are evened out, among the same
//   TX   where the device has a queue for each worker, the one of its number; else those that send share out
//        what there is, and keep what they had
//
//   before --> hand_over --> after      what changes hands is nobody's in between, and a worker that a TX
//                                       queue is still to come to polls nothing
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "control/change.hpp"
#include "datapath/view.hpp"

namespace turnpike::control {

class queue_plan {
  public:
    /// A port of the state that comes. Where the running view has one at its place, it is the same.
    struct port {
        std::string_view name;
        uint16_t place = 0;
        const state::port* wanted = nullptr;
        int node = -1;  ///< NUMA; -1: unknown
    };

    /// running   null at the start
    /// even_out  workers came or went
    queue_plan(const std::vector<change::worker>& workers, const datapath::view* running,
               bool even_out);

    /// All ports at once.
    /// Errors  EINVAL: rx_workers names an lcore that does not forward
    [[nodiscard]] result<void> share_rx(std::span<const port> ports);
    /// Workers, by number, that poll a port of which `reaches` is true. After share_rx().
    [[nodiscard]] std::vector<size_t> senders(
        const std::function<bool(uint16_t place)>& reaches) const;
    /// By one port. senders  that may send there
    /// Errors  EBUSY: it has not so many queues
    [[nodiscard]] result<void> share_tx(const port& p, uint16_t queues,
                                        const std::vector<size_t>& senders);

    [[nodiscard]] const std::vector<datapath::worker_queues>& after() const noexcept {
        return after_;
    }
    /// Empty: nothing changes hands.
    [[nodiscard]] std::vector<datapath::worker_queues> hand_over() const;

  private:
    struct movable {
        size_t worker;
        datapath::rx_queue queue;
        int node;  ///< of its port, where a worker of that node forwards; else -1: any may have it
    };

    [[nodiscard]] bool polled(size_t worker, const datapath::rx_queue& q) const noexcept;
    [[nodiscard]] bool polled_by_another(size_t worker, const datapath::rx_queue& q) const noexcept;
    /// -1: it had none.
    [[nodiscard]] int32_t sent_by(size_t worker, uint16_t place) const noexcept;
    [[nodiscard]] int node_with_workers(int node) const noexcept;
    [[nodiscard]] size_t fewest(int node) const noexcept;
    [[nodiscard]] result<size_t> named(const port& p, uint16_t queue) const;
    void even_out(std::vector<movable>& free, int node);

    const std::vector<change::worker>& workers_;
    const datapath::view* const running_;
    const bool even_out_;
    std::vector<datapath::worker_queues> after_;
};

}  // namespace turnpike::control
