// SPDX-License-Identifier: BSD-3-Clause
// The driver's side of a receive queue.
#pragma once

#include <rte_mempool.h>

#include <cstdint>
#include <memory>

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
        bool deferred = false;        ///< starts by itself, not with the port
        bool scatter = false;         ///< frames may take several buffers
        uint64_t timestamp_flag = 0;  ///< mbufs say when their frame came; 0: they do not
        int timestamp_at = 0;         ///< where, in an mbuf
        rte_mempool* pool = nullptr;
        const rte_memzone* zone = nullptr;
        const burst_kernels* kernels = nullptr;
    };
    explicit rx_queue(const settings& s);
    ~rx_queue();

    uint16_t burst(rte_mbuf** out, uint16_t n) noexcept;

    /// Post buffers and hand the ring to the device. false: the pool has too few buffers.
    /// longest_bytes  of the frames to expect
    bool start(uint32_t longest_bytes) noexcept;
    /// The device has let go of the ring: buffers go back to the pool.
    void stop() noexcept;

    [[nodiscard]] bool running() const noexcept { return running_; }
    [[nodiscard]] bool scattered() const noexcept { return scattered_; }
    /// Bytes of a buffer.
    [[nodiscard]] uint32_t room() const noexcept;
    [[nodiscard]] const settings& configured() const noexcept { return s_; }
    [[nodiscard]] tail_register& tail() noexcept { return tail_; }
    cost::counter no_buffer{};

  private:
    uint32_t take(rte_mbuf** out, uint32_t n) noexcept;
    uint32_t take_scattered(rte_mbuf** out, uint32_t n) noexcept;
    uint32_t take_next(rte_mbuf** out, uint32_t most) noexcept;
    void drop_chain() noexcept;
    bool drop_faulty() noexcept;
    void refill() noexcept;
    bool post(uint32_t n) noexcept;

    const settings s_;
    const rx_policy policy_;
    const uint32_t words_;
    descriptor* const ring_;
    std::unique_ptr<rte_mbuf*[]> posted_;
    burst_kernels::rx_take_function* const take_;
    burst_kernels::rx_post_function* const post_;
    uint64_t fresh_ = 0;
    bool running_ = false, scattered_ = false;
    rte_mbuf *first_ = nullptr, *last_ = nullptr;  // segments of a frame that has not ended
    uint32_t next_ = 0;                            // the next that the device will answer
    uint32_t refill_at_ = 0;                       // the next to post
    uint32_t missing_ = 0;  // descriptors without a buffer: refill_at_ to next_
    uint32_t unrung_ = 0;   // posted since the last doorbell
    tail_register tail_{};
};

}  // namespace turnpike::simnic
