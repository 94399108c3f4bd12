// SPDX-License-Identifier: BSD-3-Clause
// The four rings of an AF_XDP socket, shared with the kernel: fill and TX, where we produce, RX and
// completion, where we consume. Indices are free-running 32-bit counters; an entry's slot is its
// index modulo the size, a power of two.
//
//   producer ring: ... | done | [consumer, head): the kernel's | head: next to write | ... consumer
//   ring: ... | released | [tail, producer): to read | the kernel's | ...
//
// Entries are written or read one by one, and a block is published with one store. Source:
// Documentation/networking/af_xdp.rst; the barriers are those of net/xdp/xsk_queue.h.
#pragma once

#include <algorithm>
#include <cstdint>

#include "uapi.hpp"

namespace turnpike::xsk {

/// The mapped addresses of a ring.
struct ring_memory {
    uint32_t* producer = nullptr;
    uint32_t* consumer = nullptr;
    uint32_t* flags = nullptr;
    void* entries = nullptr;
    uint32_t size = 0;  ///< entries, a power of two
};

/// XDP_RING_NEED_WAKEUP: the kernel needs a system call; otherwise it polls the ring by itself.
inline bool needs_wakeup(const ring_memory& ring) noexcept {
    return (__atomic_load_n(ring.flags, __ATOMIC_RELAXED) & XDP_RING_NEED_WAKEUP) != 0;
}

/// Threads  the queue's thread
template <class Entry>
class producer_ring {
  public:
    producer_ring() = default;
    explicit producer_ring(const ring_memory& m) noexcept
        : m_(m),
          entries_(static_cast<Entry*>(m.entries)),
          mask_(m.size - 1),
          head_(__atomic_load_n(m.producer, __ATOMIC_RELAXED)),
          consumer_(__atomic_load_n(m.consumer, __ATOMIC_ACQUIRE)) {}

    /// How many of `wanted` entries can be written. Reads the kernel's index only if the cached
    /// copy does not suffice.
    [[nodiscard]] uint32_t room(uint32_t wanted) noexcept {
        if (m_.size - (head_ - consumer_) < wanted)
            consumer_ = __atomic_load_n(m_.consumer, __ATOMIC_ACQUIRE);
        return std::min(wanted, m_.size - (head_ - consumer_));
    }
    /// The i-th entry after the submitted ones; i < the result of room().
    [[nodiscard]] Entry& operator[](uint32_t i) noexcept { return entries_[(head_ + i) & mask_]; }
    /// Hand the first n entries to the kernel.
    void submit(uint32_t n) noexcept {
        head_ += n;
        __atomic_store_n(m_.producer, head_, __ATOMIC_RELEASE);
    }
    /// Prefetch the next n entries for writing, if another core has read their cache lines.
    void prefetch(uint32_t n) const noexcept {
        constexpr uint32_t in_a_line = 64 / sizeof(Entry);
        for (uint32_t i = 0; i < n; i += in_a_line)
            __builtin_prefetch(&entries_[(head_ + i) & mask_], 1);
    }
    /// Entries submitted and not yet consumed by the kernel.
    [[nodiscard]] uint32_t pending() noexcept {
        consumer_ = __atomic_load_n(m_.consumer, __ATOMIC_ACQUIRE);
        return head_ - consumer_;
    }
    [[nodiscard]] bool asks_for_wakeup() const noexcept { return needs_wakeup(m_); }
    [[nodiscard]] uint32_t size() const noexcept { return m_.size; }

  private:
    ring_memory m_{};
    Entry* entries_ = nullptr;
    uint32_t mask_ = 0;
    uint32_t head_ = 0;
    uint32_t consumer_ = 0;  ///< cached copy
};

/// Threads  the queue's thread
template <class Entry>
class consumer_ring {
  public:
    consumer_ring() = default;
    explicit consumer_ring(const ring_memory& m) noexcept
        : m_(m),
          entries_(static_cast<const Entry*>(m.entries)),
          mask_(m.size - 1),
          tail_(__atomic_load_n(m.consumer, __ATOMIC_RELAXED)),
          producer_(tail_) {}

    /// How many of `wanted` entries can be read. Reads the kernel's index only if the cached copy
    /// does not suffice.
    [[nodiscard]] uint32_t available(uint32_t wanted) noexcept {
        if (producer_ - tail_ < wanted) producer_ = __atomic_load_n(m_.producer, __ATOMIC_ACQUIRE);
        return std::min(wanted, producer_ - tail_);
    }
    /// The i-th entry not yet released; i < the result of available().
    [[nodiscard]] const Entry& operator[](uint32_t i) const noexcept {
        return entries_[(tail_ + i) & mask_];
    }
    /// Prefetch the first n entries, which another core wrote; call it only if they are available.
    void prefetch(uint32_t n) const noexcept {
        constexpr uint32_t in_a_line = 64 / sizeof(Entry);
        n = std::min(n, producer_ - tail_);
        for (uint32_t i = 0; i < n; i += in_a_line)
            __builtin_prefetch(&entries_[(tail_ + i) & mask_]);
    }
    /// Return the first n entries to the kernel.
    void release(uint32_t n) noexcept {
        tail_ += n;
        __atomic_store_n(m_.consumer, tail_, __ATOMIC_RELEASE);
    }
    [[nodiscard]] uint32_t size() const noexcept { return m_.size; }

  private:
    ring_memory m_{};
    const Entry* entries_ = nullptr;
    uint32_t mask_ = 0;
    uint32_t tail_ = 0;
    uint32_t producer_ = 0;  ///< cached copy
};

using fill_ring = producer_ring<uint64_t>;
using tx_ring = producer_ring<xdp_desc>;
using rx_ring = consumer_ring<xdp_desc>;
using completion_ring = consumer_ring<uint64_t>;

}  // namespace turnpike::xsk
