// SPDX-License-Identifier: BSD-3-Clause
// The device's view of host memory: I/O addresses to pointers, as an IOMMU would translate them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

namespace turnpike::simnic {

/// A stretch of memory whose I/O addresses follow each other.
struct memory_range {
    uint64_t iova = 0;
    uint64_t bytes = 0;
    uint8_t* base = nullptr;
};

/// Threads  one at a time (the engine's lock); generation may be raised by any.
class memory {
  public:
    using source = std::function<std::vector<memory_range>()>;

    /// from        what there is now; asked again when `generation` changed or something is missing
    /// generation  raised whenever memory comes or goes; may be null
    explicit memory(source from, const std::atomic<uint64_t>* generation = nullptr);

    /// The bytes at `iova`, or nullptr: not wholly within one range.
    [[nodiscard]] uint8_t* at(uint64_t iova, uint64_t bytes) noexcept {
        const memory_range& r = cache_[iova >> page_shift & (cache_.size() - 1)];
        const uint64_t offset = iova - r.iova;
        if (offset < r.bytes && bytes <= r.bytes - offset) [[likely]]
            return r.base + offset;
        return search(iova, bytes);
    }

    /// Forget what has gone. Once a poll.
    void follow() noexcept {
        if (generation_ != nullptr && generation_->load(std::memory_order_acquire) != seen_)
            [[unlikely]]
            refresh();
    }

    /// Ask the source anew.
    void refresh() noexcept;

  private:
    static constexpr unsigned page_shift = 21;

    uint8_t* search(uint64_t iova, uint64_t bytes) noexcept;
    const memory_range* find(uint64_t iova, uint64_t bytes) const noexcept;

    source from_;
    const std::atomic<uint64_t>* generation_;
    uint64_t seen_ = 0;
    uint64_t refreshed_ = 0;
    std::vector<memory_range> ranges_{};  // sorted, neighbours joined
    std::array<memory_range, 256> cache_{};
};

}  // namespace turnpike::simnic
