// SPDX-License-Identifier: BSD-3-Clause
// The device's side of PCIe: translates and counts every access to host memory as it happens. Also
// the registers that the host writes.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/cache_line.hpp"
#include "counters/counter.hpp"
#include "descriptor.hpp"
#include "engine/eviction.hpp"
#include "engine/memory.hpp"
#include "engine/tally.hpp"

namespace turnpike::simnic {

/// A tail register (a doorbell): one past the last descriptor that the host has posted.
///
/// Threads  the queue's host thread writes, the engine reads.
struct alignas(cache_line_bytes) tail_register {
    std::atomic<uint32_t> value{0};
    counters::counter writes{};

    void mmio_write(uint32_t tail) noexcept {
        value.store(tail, std::memory_order_release);
        if constexpr (counting) writes.add(1);
    }
};

/// Threads  the engine's lock; faults may be read by any.
class bus {
  public:
    /// cold  evict written lines from the caches
    bus(const pcie::link& link, memory::source from, const std::atomic<uint64_t>* generation,
        bool cold)
        : memory_(std::move(from), generation),
          tally_(link),
          eviction_(cold ? &fastest_eviction() : nullptr) {}

    /// The host address of a frame or a part of one; nullptr: a fault, which is counted. The caller
    /// counts the access itself by count_frames().
    uint8_t* frame_at(uint64_t iova, uint32_t bytes) noexcept {
        uint8_t* at = memory_.at(iova, bytes);
        if (at == nullptr) [[unlikely]]
            return fault();
        return at;
    }

    /// Like frame_at(), but an untranslatable address does not count as a fault.
    const uint8_t* peek_frame(uint64_t iova, uint32_t bytes) noexcept {
        return memory_.at(iova, bytes);
    }

    /// Count n frames that were read (written); access_of(i) is a tally::access.
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

    /// Address of n consecutive RX write-backs of `each` bytes; counts a write for each.
    descriptor* write_answers_singly(uint64_t iova, uint32_t n, uint32_t each) noexcept {
        uint8_t* at = memory_.at(iova, uint64_t{n} * each);
        if (at == nullptr) [[unlikely]]
            return fault();
        tally_.answers_singly(iova, n, each);
        return reinterpret_cast<descriptor*>(at);
    }

    [[nodiscard]] bool cold() const noexcept { return eviction_ != nullptr; }
    /// Call it after writing these bytes.
    void written(const void* at, uint32_t bytes) noexcept {
        if (!cold()) [[likely]]
            return;
        eviction_->evict(at, bytes);
        unsettled_ = true;
    }
    void written_frame(uint64_t iova, uint32_t bytes) noexcept {
        if (const uint8_t* at = memory_.at(iova, bytes); at != nullptr) written(at, bytes);
    }
    /// Complete the evictions of this poll.
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
    counters::counter faults_{};
    const eviction* const eviction_;
    bool unsettled_ = false;
};

/// Write back a descriptor. Word 1 has the done bit, so the host must see it change last.
inline void answer(descriptor& d, uint64_t word_0, uint64_t word_1) noexcept {
    __atomic_store_n(&d.word[0], word_0, __ATOMIC_RELAXED);
    __atomic_store_n(&d.word[1], word_1, __ATOMIC_RELEASE);
}

}  // namespace turnpike::simnic
