// SPDX-License-Identifier: BSD-3-Clause
// Memory block for a table's nodes, addressed by 32-bit byte offsets.
//
// Nodes take 16 bytes, 32, or whole cache lines, so that nodes of up to 64 bytes never straddle two
// lines and longer ones start at a line. Freed blocks wait in a list per size; a line is split for
// a short node. When no unused space is left, larger blocks are split too. Blocks are never joined: a
// table whose arena is full is rebuilt into a new one, which compacts it. A part of the arena is a
// reserve: a removal builds new nodes before it frees the old ones, and finds room for them although
// additions found none. At most 2 GiB: entries of page and byte nodes need a bit for another purpose.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/memory.hpp"

namespace turnpike::fib {

/// Threads  the writer's only; readers read the nodes
class arena {
  public:
    static constexpr uint64_t max_bytes = uint64_t{1} << 31;
    static constexpr uint32_t none = ~0u;
    /// Readable bytes after the last node: kernels load 8 bytes at an entry.
    static constexpr uint32_t guard_bytes = 64;

    arena(const memory& from, uint64_t capacity_bytes);
    ~arena();
    arena(const arena&) = delete;
    arena& operator=(const arena&) = delete;

    bool valid() const noexcept { return base_ != nullptr; }
    uint8_t* base() const noexcept { return base_; }
    /// Size of a node in units of 16 bytes, rounded up to an allocatable size.
    static constexpr uint32_t units(uint32_t bytes) noexcept {
        return bytes <= 16 ? 1 : bytes <= 32 ? 2 : (bytes + line - 1) / line * line_units;
    }
    static constexpr uint64_t bytes_of(uint32_t units) noexcept { return uint64_t{units} * unit; }
    /// The part of the arena that allocate() leaves free from now on.
    enum class leave : uint8_t {
        reserve,       ///< additions: removals and changes can still be made
        half_reserve,  ///< changes of a next hop, which may need larger nodes: removals can
        nothing        ///< removals
    };
    void set_leave(leave what) noexcept {
        kept_ = what == leave::nothing   ? 0
                : what == leave::reserve ? reserve_bytes()
                                         : reserve_bytes() / 2;
    }
    /// Some of the largest nodes, and a share of the others; small arenas have less.
    uint64_t reserve_bytes() const noexcept {
        return std::min(capacity_ / 8, 16 * 1024 + capacity_ / 64);
    }
    /// An offset for a result of units(), or none.
    uint32_t allocate(uint32_t units) noexcept;
    void release(uint32_t offset, uint32_t units) noexcept;

    uint64_t capacity_bytes() const noexcept { return capacity_; }
    uint64_t live_bytes() const noexcept { return live_; }

  private:
    static constexpr uint32_t unit = 16, line = 64, line_units = line / unit;
    static constexpr uint32_t size_classes = 560;  // up to layout::max_tree_bytes
    void add_free(uint32_t offset, uint32_t units) noexcept;
    uint32_t find_block(uint32_t units) noexcept;
    uint32_t pop_free(uint32_t units) noexcept;
    uint32_t split_larger(uint32_t units) noexcept;

    memory from_;
    uint8_t* base_ = nullptr;
    uint64_t capacity_ = 0;
    uint64_t used_ = 64;  // offset 0 is never allocated
    uint64_t live_ = 0;
    uint64_t kept_ = 0;
    std::vector<uint32_t> free_[size_classes];
};

}  // namespace turnpike::fib
