// SPDX-License-Identifier: BSD-3-Clause
// The distinct next hops of a table, each under a small dense handle (control side).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace turnpike::fib {

/// Threads  the writer's only
class next_hops {
  public:
    /// The handle of `value`, with one more reference. Throws std::bad_alloc; then nothing changed.
    uint32_t acquire(uint64_t value);
    /// One reference less; true: it was the last, so drop() it once no reader can hold the handle.
    bool release(uint32_t handle) noexcept {
        entry& e = entries_[handle];
        if (--e.references != 0) return false;
        ++e.pending;
        return true;
    }
    /// Give a handle back for another value, unless somebody acquired it again meanwhile, or
    /// acquired and released it again (then the last drop does it).
    void drop(uint32_t handle) noexcept;

    uint64_t value(uint32_t handle) const noexcept { return entries_[handle].value; }
    /// Handles are below this.
    uint32_t bound() const noexcept { return static_cast<uint32_t>(entries_.size()); }
    bool in_use(uint32_t handle) const noexcept { return entries_[handle].references != 0; }

  private:
    struct entry {
        uint64_t value;
        uint32_t references;
        uint32_t pending;  // release() said true, drop() has not come yet
    };
    std::vector<entry> entries_;
    std::vector<uint32_t> free_;
    std::unordered_map<uint64_t, uint32_t> handles_;
};

}  // namespace turnpike::fib
