// SPDX-License-Identifier: BSD-3-Clause
// Sending: the TX and completion rings of a socket.
//
// A burst is written as a block and handed over with one store; then the kernel is called, if it asks for
// that: the doorbell. While one doorbell follows another within 50 us, it waits for 64 descriptors or for
// the 50 us to pass; then the next burst or the next poll of the RX queue of the same socket rings it. Where
// nobody polls that RX queue, it is rung at once. Buffers of the socket's pool are sent as they lie; others
// are copied.
//
// An address in the TX ring says whose buffer it is by its low bits, which are 0 for a buffer (they are
// aligned to 8) and come back in the completion ring: a descriptor that only adds to a frame (a buffer longer
// than a chunk takes several) has `not_the_buffer` set. Bit 0 is not ours: Linux 6.18 keeps a flag there.
#pragma once

#include <atomic>
#include <cstdint>

#include "cost/counter.hpp"
#include "frames.hpp"
#include "gate.hpp"
#include "ring.hpp"

namespace turnpike::xsk {

class socket;

/// What the RX queue of the same socket knows of it, and it of that one.
struct left_doorbell {
    alignas(64) std::atomic<bool> waits{false};  ///< descriptors that the kernel was not called for
    std::atomic<bool> down{false};               ///< ... and could not be: the interface is down
    std::atomic<bool> polled{false};             ///< the RX queue, since the last burst
    std::atomic<uint64_t> rung_at{0};            ///< TSC cycles
    std::atomic<uint64_t> calls{0};              ///< that others than the TX queue made
    std::atomic<uint64_t> failed{0};             ///< calls that the kernel refused for good
    std::atomic<int> failed_with{0};             ///< errno of the first of them
};

/// Threads  burst(), free_sent(): the queue's; polled(): the RX queue's; ring_left(), any_left(): any that
///          keeps the socket; counters: any; everything else: control
class tx_queue {
  public:
    struct settings {
        uint16_t queue = 0;
        uint32_t size = 0;  ///< a power of two
        uint32_t free_threshold = 32;
        bool fast_free = false;  ///< RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE
    };
    explicit tx_queue(const settings& s) : s_(s) {}

    uint16_t burst(rte_mbuf** frames, uint16_t n) noexcept;
    /// Free what is sent. Returns how many buffers.
    uint32_t free_sent() noexcept;

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
    /// Have the kernel send what a doorbell was left for.
    void ring_left() noexcept;

    /// Let the worker in.
    void attach(const socket& with, const frame_layout& frames);
    /// The worker is out when it returns.
    void shut() noexcept { gate_.shut(); }
    /// shut(): have the kernel send what it was given, for some milliseconds at most.
    void drain() noexcept;
    /// shut(), and the socket is gone: what it had goes back to the pool.
    void detach() noexcept;

    [[nodiscard]] const settings& configured() const noexcept { return s_; }
    /// Calls that came to something else than what passes or the link explains.
    [[nodiscard]] uint64_t failed_calls() const noexcept {
        return left_.failed.load(std::memory_order_relaxed);
    }
    /// Why the first of them failed (errno), to be said once; 0: there is nothing to say.
    [[nodiscard]] int unsaid_failure() noexcept;
    /// Doorbells rung, by whom ever.
    [[nodiscard]] uint64_t system_calls() const noexcept {
        return calls_.read() + left_.calls.load(std::memory_order_relaxed);
    }

    cost::counter packets{}, bytes{};
    cost::counter descriptors{};
    cost::counter wakeups{};    ///< bursts at which the kernel asked to be called
    cost::counter copied{};     ///< frames whose buffers were not the UMEM's
    cost::counter no_buffer{};  ///< to copy into
    cost::counter refused{};    ///< frames too short, too long, or in too many parts
    cost::counter invalid{};    ///< completions of buffers that the kernel was not given

  private:
    /// Descriptors of a frame that lies in the UMEM; 0: it has to be copied, or refused.
    [[nodiscard]] uint32_t descriptors_of(const rte_mbuf* frame) const noexcept;
    [[nodiscard]] bool is_simple(const rte_mbuf* frame) const noexcept;
    void post_frame(uint32_t needed, rte_mbuf* frame) noexcept;
    [[nodiscard]] bool sendable(const rte_mbuf* frame) const noexcept;
    [[nodiscard]] rte_mbuf* copy(rte_mbuf* frame) noexcept;
    [[nodiscard]] uint32_t write(rte_mbuf** frames, uint32_t n) noexcept;
    uint32_t clean() noexcept;
    void free_completed(rte_mbuf** buffers, uint32_t n) noexcept;
    [[nodiscard]] bool due() const noexcept;
    void doorbell() noexcept;
    int call() noexcept;
    void note(int code) noexcept;

    // What every burst touches lies together.
    alignas(64) gate gate_{};
    const settings s_;
    tx_ring tx_{};
    completion_ring completion_{};
    frame_layout frames_{};
    frame_set in_kernel_{};
    uint32_t most_parts_ = 1;  ///< descriptors of a frame
    uint32_t free_ = 0;        ///< descriptors that can be posted
    uint32_t written_ = 0;     ///< of this block
    bool chained_ = false;     ///< some buffer had a next one
    int fd_ = -1;
    uint32_t unrung_ = 0;       ///< descriptors since the last doorbell of ours
    uint64_t hold_cycles_ = 0;  ///< how long a doorbell may wait
    cost::counter calls_{};
    left_doorbell left_{};
    bool said_ = false;
};

}  // namespace turnpike::xsk
