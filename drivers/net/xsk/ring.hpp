// SPDX-License-Identifier: BSD-3-Clause
// The four rings of an AF_XDP socket, shared with the kernel: fill and TX, where we produce, RX and
// completion, where we consume. Indices run over all 32 bits; an entry's place is its index modulo the
// size, a power of two.
//
//   producer ring:   ... | taken by the kernel | [consumer, head): theirs | head: ours to write | ...
//   consumer ring:   ... | ours again to fill  | [tail, producer): ours to read | the kernel's | ...
//
// A block is written or read entry by entry and handed over with one store.
// Source: Documentation/networking/af_xdp.rst; the barriers are those of net/xdp/xsk_queue.h.
#pragma once

#include <algorithm>
#include <cstdint>

#include "uapi.hpp"

namespace turnpike::xsk {

/// Where the kernel put a ring's parts.
struct ring_memory {
    uint32_t* producer = nullptr;
    uint32_t* consumer = nullptr;
    uint32_t* flags = nullptr;
    void* entries = nullptr;
    uint32_t size = 0;  ///< entries, a power of two
};

/// The kernel asks to be called; else it looks by itself.
inline bool needs_wakeup(const ring_memory& ring) noexcept {
    return (__atomic_load_n(ring.flags, __ATOMIC_RELAXED) & XDP_RING_NEED_WAKEUP) != 0;
}

/// Threads  the queue's only
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

    /// How many of `wanted` entries can be written; the kernel's index is read only where what is known
    /// is not enough.
    [[nodiscard]] uint32_t room(uint32_t wanted) noexcept {
        if (m_.size - (head_ - consumer_) < wanted)
            consumer_ = __atomic_load_n(m_.consumer, __ATOMIC_ACQUIRE);
        return std::min(wanted, m_.size - (head_ - consumer_));
    }
    /// The i-th entry behind those submitted; i < what room() gave.
    [[nodiscard]] Entry& operator[](uint32_t i) noexcept { return entries_[(head_ + i) & mask_]; }
    /// The first n are the kernel's.
    void submit(uint32_t n) noexcept {
        head_ += n;
        __atomic_store_n(m_.producer, head_, __ATOMIC_RELEASE);
    }
    /// Have the CPU fetch the next n, where another core has read what stood there, to be written.
    void prefetch(uint32_t n) const noexcept {
        constexpr uint32_t in_a_line = 64 / sizeof(Entry);
        for (uint32_t i = 0; i < n; i += in_a_line)
            __builtin_prefetch(&entries_[(head_ + i) & mask_], 1);
    }
    /// Submitted, and not yet taken by the kernel.
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
    uint32_t consumer_ = 0;  ///< as last read
};

/// Threads  the queue's only
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

    /// How many of `wanted` entries can be read; the kernel's index is read only where what is known is
    /// not enough.
    [[nodiscard]] uint32_t available(uint32_t wanted) noexcept {
        if (producer_ - tail_ < wanted) producer_ = __atomic_load_n(m_.producer, __ATOMIC_ACQUIRE);
        return std::min(wanted, producer_ - tail_);
    }
    /// The i-th entry not yet released; i < what available() gave.
    [[nodiscard]] const Entry& operator[](uint32_t i) const noexcept {
        return entries_[(tail_ + i) & mask_];
    }
    /// Have the CPU fetch the first n, where it is known that they are there: another core wrote them.
    void prefetch(uint32_t n) const noexcept {
        constexpr uint32_t in_a_line = 64 / sizeof(Entry);
        n = std::min(n, producer_ - tail_);
        for (uint32_t i = 0; i < n; i += in_a_line)
            __builtin_prefetch(&entries_[(tail_ + i) & mask_]);
    }
    /// The first n places are the kernel's again.
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
    uint32_t producer_ = 0;  ///< as last read
};

using fill_ring = producer_ring<uint64_t>;
using tx_ring = producer_ring<xdp_desc>;
using rx_ring = consumer_ring<xdp_desc>;
using completion_ring = consumer_ring<uint64_t>;

}  // namespace turnpike::xsk
