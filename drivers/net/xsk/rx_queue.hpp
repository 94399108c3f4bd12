// SPDX-License-Identifier: BSD-3-Clause
// Receive: the fill and RX rings of a socket.
//
// The kernel and the RX ring together hold as many buffers as the ring has entries. Received
// buffers are replaced in blocks. In copy mode no system call is needed.
#pragma once

#include <cstdint>
#include <string>

#include "base/cache_line.hpp"
#include "base/result.hpp"
#include "counters/counter.hpp"
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
        bool scatter = false;  ///< frames may use several buffers
        bool busy_polling = false;
        frame_layout frames{};
        std::string name{};  ///< the device's name, for messages
    };
    explicit rx_queue(const settings& s) : s_(s), in_kernel_(s.frames) {}

    uint16_t burst(rte_mbuf** out, uint16_t n) noexcept;

    /// Post buffers to the socket's fill ring and open the gate for the worker.
    ///
    /// pair    the TX queue of the same socket, whose deferred doorbell this queue rings; nullptr:
    ///         none
    /// Errors  ENOMEM: the pool has too few buffers
    [[nodiscard]] result<void> attach(const socket& with, tx_queue* pair);
    /// After it returns, the worker does not touch the rings.
    void shut() noexcept { gate_.shut(); }
    /// Call it after shut(), once the socket is closed: its buffers return to the pool.
    void detach() noexcept;

    [[nodiscard]] const settings& configured() const noexcept { return s_; }

    counters::counter packets{}, bytes{};
    counters::counter no_buffer{};  ///< allocations that failed, the pool was empty
    counters::counter starved{};    ///< polls that found the fill ring empty
    counters::counter invalid{};    ///< descriptors of buffers that the kernel did not own
    counters::counter wakeups{};    ///< wakeups that the kernel requested
    counters::counter system_calls{};

  private:
    template <bool Scatter>
    uint32_t receive(rte_mbuf** out, uint32_t n) noexcept;
    uint32_t join(rte_mbuf* part, bool more, rte_mbuf** out) noexcept;
    void refill() noexcept;
    [[nodiscard]] bool post(uint32_t n) noexcept;
    void wake() noexcept;

    // Members that every poll uses share cache lines.
    alignas(cache_line_bytes) gate gate_{};
    const settings s_;
    rx_ring rx_{};
    fill_ring fill_{};
    frame_set in_kernel_;
    uint32_t missing_ = 0;  ///< buffers to post
    int fd_ = -1;
    tx_queue* pair_ = nullptr;
    rte_mbuf *first_ = nullptr, *last_ = nullptr;  ///< an incomplete frame
};

}  // namespace turnpike::xsk
