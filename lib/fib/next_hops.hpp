// SPDX-License-Identifier: BSD-3-Clause
// The distinct next hops of a table, each with a small dense handle (control side).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace turnpike::fib {

/// Threads  the writer's only
class next_hops {
  public:
    /// The handle of `value`, with one more reference. Throws std::bad_alloc without any change.
    uint32_t acquire(uint64_t value);
    /// Prefetch for acquire().
    void expect(uint64_t value) const noexcept {
        if (!slots_.empty()) __builtin_prefetch(&slots_[home(value)]);
    }
    /// Prefetch for value() and release().
    void expect_handle(uint32_t handle) const noexcept { __builtin_prefetch(&entries_[handle]); }
    /// Drop one reference. Returns true for the last one: call drop() when no reader can hold the
    /// handle.
    bool release(uint32_t handle) noexcept {
        entry& e = entries_[handle];
        if (--e.references != 0) return false;
        ++e.pending;
        return true;
    }
    /// Free a handle for another value, unless it was acquired again meanwhile, or acquired and
    /// released again (then the last drop frees it).
    void drop(uint32_t handle) noexcept;

    uint64_t value(uint32_t handle) const noexcept { return entries_[handle].value; }
    /// Handles are below this.
    uint32_t bound() const noexcept { return static_cast<uint32_t>(entries_.size()); }
    bool in_use(uint32_t handle) const noexcept { return entries_[handle].references != 0; }

  private:
    struct entry {
        uint64_t value;
        uint32_t references;
        uint32_t pending;  // release() returned true, drop() was not called yet
    };
    /// A slot of the hash table, with linear probing: entries follow their home slot without a gap.
    struct slot {
        uint64_t value;
        uint32_t handle;
        bool taken;
    };

    size_t home(uint64_t value) const noexcept {
        return static_cast<size_t>(value * 0x9e37'79b9'7f4a'7c15 >> 32) & (slots_.size() - 1);
    }
    size_t behind(size_t s) const noexcept { return (s + 1) & (slots_.size() - 1); }
    /// The slot of a value, or the free slot for it.
    size_t find(uint64_t value) const noexcept {
        size_t s = home(value);
        while (slots_[s].taken && slots_[s].value != value) s = behind(s);
        return s;
    }
    void grow();

    std::vector<entry> entries_;
    std::vector<uint32_t> free_;
    std::vector<slot> slots_;  // size is a power of two, or 0; half of them free
};

}  // namespace turnpike::fib
