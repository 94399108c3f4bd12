// SPDX-License-Identifier: BSD-3-Clause
// The driver's side of a transmit queue.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/engine.hpp"
#include "host/kernel/burst.hpp"

struct rte_memzone;
struct rte_mbuf;

namespace turnpike::simnic {

/// Threads  burst(): the queue's; everything else: control, while the port is stopped.
class tx_queue {
  public:
    struct settings {
        engine* device = nullptr;
        bool works_device = true;  ///< engine=inline
        uint16_t queue = 0;
        uint32_t size = 0;
        uint16_t rs_threshold = 32, free_threshold = 32;
        uint64_t offloads = 0;  ///< RTE_ETH_TX_OFFLOAD_... of this queue, beside the port's
        bool deferred = false;  ///< started separately, not with the port
        const rte_memzone* zone = nullptr;
        const burst_kernels* kernels = nullptr;
    };
    explicit tx_queue(const settings& s);
    ~tx_queue();

    uint16_t burst(rte_mbuf** frames, uint16_t n) noexcept;

    /// An application may have configured the port again, with other offloads, without setting up its queues.
    void start(uint64_t port_offloads) noexcept;
    /// Call it after the device released the ring: buffers return to their pools.
    void stop() noexcept;

    /// Returns how many leading frames the device can send; rte_errno tells why it cannot send the
    /// next (ENOTSUP: segmentation; EINVAL: too long).
    static uint16_t prepare(rte_mbuf* const* frames, uint16_t n) noexcept;

    counters::counter refused_segmentation{}, refused_length{};  ///< frames dropped for that

    [[nodiscard]] bool running() const noexcept { return running_; }
    [[nodiscard]] const settings& configured() const noexcept { return s_; }
    [[nodiscard]] tail_register& tail() noexcept { return tail_; }

  private:
    uint32_t post(rte_mbuf** frames, uint32_t n) noexcept;
    /// Frames in one segment each, for one kernel.
    uint32_t fill_alike(rte_mbuf** frames, uint32_t n,
                        burst_kernels::tx_post_function& send) noexcept;
    uint32_t fill_each(rte_mbuf** frames, uint32_t n) noexcept;
    bool refused(rte_mbuf* frame) noexcept;
    void request_reports(uint32_t to) noexcept;
    void clean() noexcept;
    void free_block(uint32_t from) noexcept;

    const settings s_;
    const tx_policy policy_;
    descriptor* const ring_;
    std::unique_ptr<rte_mbuf*[]> posted_;
    uint64_t command_ = 0;
    bool running_ = false;
    bool fast_free_ = false;  // RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE
    bool full_ = false;       // supports multi-segment frames and checksum insertion
    uint32_t next_ = 0;
    uint32_t free_ = 0;
    // multi-segment frames were sent since the start: each mbuf must be unchained
    bool chained_ = false;
    uint32_t report_at_ = 0;  // the next descriptor that gets RS
    uint32_t done_at_ = 0;    // the next one whose write-back frees a block
    tail_register tail_{};
};

}  // namespace turnpike::simnic
