// SPDX-License-Identifier: BSD-3-Clause
// The buckets of a table at one size, and the views of them. A growing table has two generations:
// readers find keys that were not moved yet in the previous one.
#pragma once

#include <cstdint>

#include "base/memory.hpp"
#include "hash/layout.hpp"

namespace turnpike::hash {

/// Threads  the writer's only, except the memory that views point to
class generation {
  public:
    struct size {
        uint32_t regions;
        uint32_t region_bits;
        uint32_t slots;        ///< per bucket
        uint32_t entry_bytes;  ///< size of an entry outside its bucket; 0: inline
        uint64_t buckets() const noexcept { return uint64_t{regions} << region_bits; }
        uint64_t slot_count() const noexcept { return buckets() * slots; }
        uint64_t bytes() const noexcept {
            return buckets() * (layout::line_bytes + uint64_t{slots} * entry_bytes);
        }
    };

    /// Check valid(): false if memory is short. Buckets are uninitialized: clear() them.
    generation(const memory& from, const size& s);
    ~generation();
    generation(const generation&) = delete;
    generation& operator=(const generation&) = delete;

    bool valid() const noexcept { return valid_; }
    const size& extent() const noexcept { return size_; }
    const buckets& all() const noexcept { return all_; }
    /// Empty the buckets of regions [first, first + count).
    void clear(uint32_t first, uint32_t count) noexcept;

    /// `whole`: all regions are here; `growing`: regions of `before` from `moved` on are still
    /// there.
    view whole{}, growing{};
    uint32_t moved = 0;  ///< `growing` points to it: regions moved from the previous generation

  private:
    memory from_;
    size size_;
    buckets all_{};
    bool valid_ = false;
};

}  // namespace turnpike::hash
