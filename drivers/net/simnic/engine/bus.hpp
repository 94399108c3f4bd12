// SPDX-License-Identifier: BSD-3-Clause
// The device's side of PCIe: every access to host memory goes through here, is translated, and is
// counted when it happens. And the registers, which the host writes.
#pragma once

#include <atomic>
#include <cstdint>

#include "cost/counter.hpp"
#include "descriptor.hpp"
#include "engine/eviction.hpp"
#include "engine/memory.hpp"
#include "engine/tally.hpp"

namespace turnpike::simnic {

/// A tail register (a doorbell): one past the last descriptor that the host has posted.
/// Threads  the queue's host thread writes, the engine reads.
struct alignas(64) tail_register {
    std::atomic<uint32_t> value{0};
    cost::counter writes{};

    void mmio_write(uint32_t tail) noexcept {
        value.store(tail, std::memory_order_release);
        if constexpr (counting) writes.add(1);
    }
};

/// Threads  the engine's lock; faults may be read by any.
class bus {
  public:
    /// cold  what is written stays in no cache
    bus(const pcie::link& link, memory::source from, const std::atomic<uint64_t>* generation,
        bool cold)
        : memory_(std::move(from), generation),
          tally_(link),
          eviction_(cold ? &fastest_eviction() : nullptr) {}

    /// Where a frame, or a part of one, lies in the host's memory. nullptr: a fault, counted. Reading or
    /// writing it is an access, to be counted by count_frames().
    uint8_t* frame_at(uint64_t iova, uint32_t bytes) noexcept {
        uint8_t* at = memory_.at(iova, bytes);
        if (at == nullptr) [[unlikely]]
            return fault();
        return at;
    }

    /// The same, and what does not translate is no fault yet.
    const uint8_t* peek_frame(uint64_t iova, uint32_t bytes) noexcept {
        return memory_.at(iova, bytes);
    }

    /// n frames have been read (written); access_of(i) is a tally::access.
    template <tally::direction D, class AccessOf>
    void count_frames(const tally::run& r, uint32_t n, AccessOf access_of) noexcept {
        tally_.frames<D>(r, n, access_of);
    }
    template <tally::direction D>
    void count_frame(uint64_t iova, uint32_t bytes) noexcept {
        tally_.frame<D>(iova, bytes);
    }

    const descriptor* read_descriptors(pcie::purpose p, uint64_t iova, uint32_t bytes) noexcept {
        const uint8_t* at = memory_.at(iova, bytes);
        if (at == nullptr) [[unlikely]]
            return fault();
        tally_.descriptors<tally::device_reads>(p, iova, bytes);
        return reinterpret_cast<const descriptor*>(at);
    }

    descriptor* write_descriptors(pcie::purpose p, uint64_t iova, uint32_t bytes) noexcept {
        uint8_t* at = memory_.at(iova, bytes);
        if (at == nullptr) [[unlikely]]
            return fault();
        tally_.descriptors<tally::device_writes>(p, iova, bytes);
        return reinterpret_cast<descriptor*>(at);
    }

    /// n RX answers of `each` bytes, one behind another, each written by itself.
    descriptor* write_answers_singly(uint64_t iova, uint32_t n, uint32_t each) noexcept {
        uint8_t* at = memory_.at(iova, uint64_t{n} * each);
        if (at == nullptr) [[unlikely]]
            return fault();
        tally_.answers_singly(iova, n, each);
        return reinterpret_cast<descriptor*>(at);
    }

    [[nodiscard]] bool cold() const noexcept { return eviction_ != nullptr; }
    /// These bytes have been written.
    void written(const void* at, uint32_t bytes) noexcept {
        if (!cold()) [[likely]]
            return;
        eviction_->evict(at, bytes);
        unsettled_ = true;
    }
    void written_frame(uint64_t iova, uint32_t bytes) noexcept {
        if (const uint8_t* at = memory_.at(iova, bytes); at != nullptr) written(at, bytes);
    }
    /// The device's work of a poll is done: so is that of its writes.
    void settle_writes() noexcept {
        if (!unsettled_) [[likely]]
            return;
        settle();
        unsettled_ = false;
    }

    void follow_memory() noexcept { memory_.follow(); }
    [[nodiscard]] const tally& count() const noexcept { return tally_; }
    [[nodiscard]] uint64_t faults() const noexcept { return faults_.read(); }

  private:
    std::nullptr_t fault() noexcept {
        faults_.add(1);
        return nullptr;
    }

    memory memory_;
    tally tally_;
    cost::counter faults_{};
    const eviction* const eviction_;
    bool unsettled_ = false;
};

/// Answer a descriptor: word 1, which says "done", is the last that the host can see change.
inline void answer(descriptor& d, uint64_t word_0, uint64_t word_1) noexcept {
    __atomic_store_n(&d.word[0], word_0, __ATOMIC_RELAXED);
    __atomic_store_n(&d.word[1], word_1, __ATOMIC_RELEASE);
}

}  // namespace turnpike::simnic
