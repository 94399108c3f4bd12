// SPDX-License-Identifier: BSD-3-Clause
// The buckets of a table at one size, and the views that show them. A table that grows has two: readers
// find what was not moved yet in the one before.
#pragma once

#include <cstdint>

#include "base/memory.hpp"
#include "exact/layout.hpp"

namespace turnpike::exact {

/// Threads  the writer's only, except for what the views show
class generation {
  public:
    struct size {
        uint32_t regions;
        uint32_t region_bits;
        uint32_t slots;        ///< of a bucket
        uint32_t entry_bytes;  ///< of a slot outside of its bucket; 0: it lies inside
        uint64_t buckets() const noexcept { return uint64_t{regions} << region_bits; }
        uint64_t places() const noexcept { return buckets() * slots; }
        uint64_t bytes() const noexcept {
            return buckets() * (layout::line_bytes + uint64_t{slots} * entry_bytes);
        }
    };

    /// Check valid(): false where memory is short. No bucket is empty yet: clear() them.
    generation(const memory& from, const size& s);
    ~generation();
    generation(const generation&) = delete;
    generation& operator=(const generation&) = delete;

    bool valid() const noexcept { return valid_; }
    const size& extent() const noexcept { return size_; }
    const buckets& all() const noexcept { return all_; }
    /// Empty the buckets of regions [first, first + count).
    void clear(uint32_t first, uint32_t count) noexcept;

    /// Everything is here; and: regions of `before` from moved on are still there.
    view whole{}, growing{};
    uint32_t moved = 0;  ///< what `growing` points to: regions of the generation before

  private:
    memory from_;
    size size_;
    buckets all_{};
    bool valid_ = false;
};

}  // namespace turnpike::exact
