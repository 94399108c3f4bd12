// SPDX-License-Identifier: BSD-3-Clause
// Transmit: the TX and completion rings of a socket.
//
// A burst is written as a block and published with one store; then the doorbell, a system call,
// wakes the kernel if XDP_RING_NEED_WAKEUP is set. While doorbells follow each other within 50 us,
// one is deferred until 64 descriptors are pending or 50 us have passed; the next burst, or the
// next poll of the RX queue of the same socket, rings it. If no thread polls that RX queue, the
// doorbell is not deferred. Buffers of the socket's pool are sent in place; other buffers are
// copied.
//
// The low bits of an address in the TX ring tell whether its completion frees a buffer: they are 0
// for a buffer (buffers are aligned to 8 bytes) and come back in the completion ring. A descriptor
// that only continues a frame (a buffer longer than a chunk needs several) has `not_the_buffer`
// set. Bit 0 stays clear: Linux 6.18 uses it for a flag.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/cache_line.hpp"
#include "counters/counter.hpp"
#include "frames.hpp"
#include "gate.hpp"
#include "ring.hpp"

namespace turnpike::xsk {

class socket;

/// State shared between the TX queue and the RX queue of the same socket.
struct left_doorbell {
    alignas(cache_line_bytes) std::atomic<bool> waits{
        false};                        ///< descriptors are pending without a doorbell
    std::atomic<bool> down{false};     ///< the doorbell failed: the interface is down
    std::atomic<bool> polled{false};   ///< the RX queue was polled since the last burst
    std::atomic<uint64_t> rung_at{0};  ///< TSC cycles
    std::atomic<uint64_t> calls{0};    ///< doorbells rung outside the TX queue
    std::atomic<uint64_t> failed{0};   ///< calls that failed permanently
    std::atomic<int> failed_with{0};   ///< errno of the first of them
};

/// Threads  burst(), free_sent(): the queue's; polled(): the RX queue's; ring_left(), any_left(): any that
///          has the socket open; counters: any; everything else: control
class tx_queue {
  public:
    struct settings {
        uint16_t queue = 0;
        uint32_t size = 0;  ///< a power of two
        uint32_t free_threshold = 32;
        uint64_t offloads = 0;  ///< RTE_ETH_TX_OFFLOAD_... of this queue, beside the port's
    };
    explicit tx_queue(const settings& s) : s_(s) {}

    uint16_t burst(rte_mbuf** frames, uint16_t n) noexcept;
    /// Free completed packets. Returns how many.
    /// most  0: all
    uint32_t free_sent(uint32_t most = 0) noexcept;

    /// The RX queue of the same socket was polled.
    void polled() noexcept {
        if (!left_.polled.load(std::memory_order_relaxed))
            left_.polled.store(true, std::memory_order_relaxed);
        if (left_.waits.load(std::memory_order_relaxed) && due()) [[unlikely]]
            ring_left();
    }
    [[nodiscard]] bool any_left() const noexcept {
        return left_.waits.load(std::memory_order_relaxed) ||
               left_.down.load(std::memory_order_relaxed);
    }
    /// Ring a deferred doorbell.
    void ring_left() noexcept;

    /// Open the gate for the worker.
    void attach(const socket& with, const frame_layout& frames, uint64_t port_offloads);
    /// After it returns, the worker does not touch the rings.
    void shut() noexcept { gate_.shut(); }
    /// After shut(): have the kernel send pending frames, for some milliseconds at most.
    void drain() noexcept;
    /// Call it after shut(), once the socket is closed: its buffers return to the pool.
    void detach() noexcept;

    [[nodiscard]] const settings& configured() const noexcept { return s_; }
    /// Doorbells that failed for another reason than a transient error or a link that is down.
    [[nodiscard]] uint64_t failed_calls() const noexcept {
        return left_.failed.load(std::memory_order_relaxed);
    }
    /// errno of the first failed call, returned once for the log; 0: none.
    [[nodiscard]] int unsaid_failure() noexcept;
    /// Doorbells rung by any thread.
    [[nodiscard]] uint64_t system_calls() const noexcept {
        return calls_.read() + left_.calls.load(std::memory_order_relaxed);
    }

    counters::counter packets{}, bytes{};
    counters::counter descriptors{};
    counters::counter wakeups{};    ///< bursts at which the kernel requested a wakeup
    counters::counter copied{};     ///< frames in buffers outside the UMEM
    counters::counter no_buffer{};  ///< allocations for copies that failed
    counters::counter refused{};    ///< frames too short, too long, or of too many segments
    counters::counter invalid{};    ///< completions of buffers that the kernel did not own

  private:
    /// Descriptors for a frame in the UMEM; 0: the frame must be copied or refused.
    [[nodiscard]] uint32_t descriptors_of(const rte_mbuf* frame) const noexcept;
    [[nodiscard]] bool is_simple(const rte_mbuf* frame) const noexcept;
    void post_frame(uint32_t needed, rte_mbuf* frame) noexcept;
    [[nodiscard]] bool sendable(const rte_mbuf* frame) const noexcept;
    [[nodiscard]] rte_mbuf* copy(rte_mbuf* frame) noexcept;
    [[nodiscard]] uint32_t write(rte_mbuf** frames, uint32_t n) noexcept;
    /// Free completed packets, at most so many. Returns how many.
    uint32_t clean(uint32_t most = UINT32_MAX) noexcept;
    void free_completed(rte_mbuf** buffers, uint32_t n) noexcept;
    [[nodiscard]] bool due() const noexcept;
    void doorbell() noexcept;
    int call() noexcept;
    void note(int code) noexcept;

    // Members that every burst uses share cache lines.
    alignas(cache_line_bytes) gate gate_{};
    const settings s_;
    tx_ring tx_{};
    completion_ring completion_{};
    frame_layout frames_{};
    frame_set in_kernel_{};
    uint32_t max_parts_ = 1;  ///< maximum descriptors per frame
    uint32_t free_ = 0;       ///< descriptors that can be posted
    uint32_t written_ = 0;    ///< descriptors written to this block
    bool fast_free_ = false;  ///< RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE
    bool chained_ = false;    ///< some mbuf had a next segment
    int fd_ = -1;
    uint32_t unrung_ = 0;       ///< descriptors since our last doorbell
    uint64_t hold_cycles_ = 0;  ///< maximum deferral of a doorbell
    counters::counter calls_{};
    left_doorbell left_{};
    bool alarm_given_ = false;
};

}  // namespace turnpike::xsk
