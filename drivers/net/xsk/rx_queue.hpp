// SPDX-License-Identifier: BSD-3-Clause
// Receiving: the fill and RX rings of a socket.
//
// As many buffers as the ring has entries are with the kernel or wait in the RX ring. Those received are
// made up for in blocks. In copy mode nothing calls the kernel.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "cost/counter.hpp"
#include "frames.hpp"
#include "gate.hpp"
#include "ring.hpp"

namespace turnpike::xsk {

class socket;
class tx_queue;

/// Threads  burst(): the queue's; counters: any; everything else: control
class rx_queue {
  public:
    struct settings {
        uint16_t port = 0, queue = 0;
        uint32_t size = 0;  ///< a power of two
        uint32_t free_threshold = 32;
        bool scatter = false;  ///< frames may take several buffers
        bool busy_polling = false;
        frame_layout frames{};
        std::string name{};  ///< of the device, for messages
    };
    explicit rx_queue(const settings& s) : s_(s), in_kernel_(s.frames) {}

    uint16_t burst(rte_mbuf** out, uint16_t n) noexcept;

    /// Give the socket its buffers and let the worker in.
    /// pair    the TX queue of the same socket, whose doorbell may have been left; nullptr: none
    /// Errors  ENOMEM: the pool has too few buffers
    [[nodiscard]] result<void> attach(const socket& with, tx_queue* pair);
    /// The worker is out when it returns.
    void shut() noexcept { gate_.shut(); }
    /// shut(), and the socket is gone: what it had goes back to the pool.
    void detach() noexcept;

    [[nodiscard]] const settings& configured() const noexcept { return s_; }

    cost::counter packets{}, bytes{};
    cost::counter no_buffer{};  ///< that the pool did not have
    cost::counter starved{};    ///< polls that found the kernel without buffers
    cost::counter invalid{};    ///< descriptors of buffers that the kernel was not given
    cost::counter wakeups{};    ///< the kernel asked to be called
    cost::counter system_calls{};

  private:
    template <bool Scatter>
    uint32_t take(rte_mbuf** out, uint32_t n) noexcept;
    uint32_t join(rte_mbuf* part, bool more, rte_mbuf** out) noexcept;
    void refill() noexcept;
    [[nodiscard]] bool post(uint32_t n) noexcept;
    void wake() noexcept;

    // What every poll touches lies together.
    alignas(64) gate gate_{};
    const settings s_;
    rx_ring rx_{};
    fill_ring fill_{};
    frame_set in_kernel_;
    uint32_t missing_ = 0;  ///< buffers to post
    int fd_ = -1;
    tx_queue* pair_ = nullptr;
    rte_mbuf *first_ = nullptr, *last_ = nullptr;  ///< a frame that has not ended
};

}  // namespace turnpike::xsk
