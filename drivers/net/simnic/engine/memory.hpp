// SPDX-License-Identifier: BSD-3-Clause
// The device's translation of I/O addresses to host pointers, as by an IOMMU.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

namespace turnpike::simnic {

/// A range of memory that is contiguous in I/O addresses.
struct memory_range {
    uint64_t iova = 0;
    uint64_t bytes = 0;
    uint8_t* base = nullptr;

    bool operator==(const memory_range&) const = default;
};

/// Threads  one at a time (the engine's lock); any thread may increment `generation`.
class memory {
  public:
    using source = std::function<std::vector<memory_range>()>;

    /// from        returns the current ranges; called again if `generation` changed or a lookup
    ///             failed
    /// generation  incremented when memory is added or removed; may be null
    explicit memory(source from, const std::atomic<uint64_t>* generation = nullptr);

    /// The bytes at `iova`; nullptr unless one range contains all of them.
    [[nodiscard]] uint8_t* at(uint64_t iova, uint64_t bytes) noexcept {
        const memory_range& r = cache_[iova >> page_shift & (cache_.size() - 1)];
        const uint64_t offset = iova - r.iova;
        if (offset < r.bytes && bytes <= r.bytes - offset) [[likely]]
            return r.base + offset;
        return search(iova, bytes);
    }

    /// Call it once per poll: drops ranges of removed memory.
    void follow() noexcept {
        if (generation_ != nullptr && generation_->load(std::memory_order_acquire) != seen_)
            [[unlikely]]
            refresh();
    }

    /// Read the ranges from the source again.
    void refresh() noexcept;

  private:
    static constexpr unsigned page_shift = 21;

    uint8_t* search(uint64_t iova, uint64_t bytes) noexcept;
    const memory_range* find(uint64_t iova, uint64_t bytes) const noexcept;

    source from_;
    const std::atomic<uint64_t>* generation_;
    uint64_t seen_ = 0;
    uint64_t refreshed_ = 0;
    std::vector<memory_range> ranges_{};  // sorted, adjacent and overlapping ranges merged
    std::array<memory_range, 256> cache_{};
};

}  // namespace turnpike::simnic
