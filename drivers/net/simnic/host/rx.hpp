// SPDX-License-Identifier: BSD-3-Clause
// The driver's side of a receive queue.
#pragma once

#include <rte_mempool.h>

#include <cstdint>
#include <memory>

#include "clock.hpp"
#include "engine/engine.hpp"
#include "host/kernel/burst.hpp"

struct rte_memzone;

namespace turnpike::simnic {

/// Threads  burst(): the queue's; everything else: control, while the port is stopped.
class rx_queue {
  public:
    struct settings {
        engine* device = nullptr;
        bool works_device = true;  ///< engine=inline
        uint16_t port = 0, queue = 0;
        uint32_t size = 0;
        uint16_t free_threshold = 32;
        bool deferred = false;        ///< started separately, not with the port
        bool scatter = false;         ///< frames may use several buffers
        uint64_t timestamp_flag = 0;  ///< mbuf flag for RX timestamps; 0: off
        int timestamp_at = 0;         ///< offset of the timestamp in an mbuf
        timestamp_clock clock{};
        uint64_t tsc_hz = 0;
        rte_mempool* pool = nullptr;
        const rte_memzone* zone = nullptr;
        const burst_kernels* kernels = nullptr;
    };
    explicit rx_queue(const settings& s);
    ~rx_queue();

    uint16_t burst(rte_mbuf** out, uint16_t n) noexcept;

    /// Post buffers and give the ring to the device. Returns false if the pool has too few buffers.
    ///
    /// longest_bytes  maximum frame length
    bool start(uint32_t longest_bytes) noexcept;
    /// Call it after the device released the ring: buffers return to the pool.
    void stop() noexcept;

    [[nodiscard]] bool running() const noexcept { return running_; }
    [[nodiscard]] bool scattered() const noexcept { return scattered_; }
    /// Data bytes per buffer.
    [[nodiscard]] uint32_t room() const noexcept;
    [[nodiscard]] const settings& configured() const noexcept { return s_; }
    [[nodiscard]] tail_register& tail() noexcept { return tail_; }
    counters::counter no_buffer{};

  private:
    uint32_t receive(rte_mbuf** out, uint32_t n) noexcept;
    uint32_t assemble_scattered(rte_mbuf** out, uint32_t n) noexcept;
    uint32_t receive_next(rte_mbuf** out, uint32_t most) noexcept;
    [[nodiscard]] uint32_t takeable() const noexcept;
    void drop_chain() noexcept;
    bool drop_faulty() noexcept;
    void refill() noexcept;
    bool post(uint32_t n) noexcept;

    const settings s_;
    const rx_policy policy_;
    const uint32_t words_;
    descriptor* const ring_;
    std::unique_ptr<rte_mbuf*[]> posted_;
    burst_kernels::rx_receive_function* const take_;
    burst_kernels::rx_post_function* const post_;
    uint64_t fresh_ = 0;
    bool running_ = false, scattered_ = false;
    rte_mbuf *first_ = nullptr, *last_ = nullptr;  // segments of an incomplete frame
    // the next descriptor that the device will write back
    uint32_t next_ = 0;
    uint32_t refill_at_ = 0;  // the next to post
    uint32_t missing_ = 0;    // descriptors without a buffer: refill_at_ to next_
    uint32_t unrung_ = 0;     // posted since the last doorbell
    tail_register tail_{};
};

}  // namespace turnpike::simnic
