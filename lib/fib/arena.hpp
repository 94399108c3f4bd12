// SPDX-License-Identifier: BSD-3-Clause
// One block of memory that a table's nodes live in, addressed by 32-bit byte offsets.
//
// Nodes are whole granules (16 bytes, or 64 where each node shall have its own cache lines); freed
// ones wait in a list per size. Nothing is split or joined: a table whose arena is full is rebuilt
// into a new one, which compacts it. At most 2 GiB: offsets also fit signed 32-bit gather indices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/memory.hpp"

namespace turnpike::fib {

/// Threads  the writer's only; readers read what is inside
class arena {
  public:
    static constexpr uint64_t max_bytes = uint64_t{1} << 31;
    static constexpr uint32_t none = ~0u;
    /// Readable bytes behind the last node: kernels load 8 bytes at an entry.
    static constexpr uint32_t guard_bytes = 64;

    /// granule  bytes, 16 or 64
    arena(const memory& from, uint64_t capacity_bytes, uint32_t granule);
    ~arena();
    arena(const arena&) = delete;
    arena& operator=(const arena&) = delete;

    bool valid() const noexcept { return base_ != nullptr; }
    uint8_t* base() const noexcept { return base_; }
    uint32_t units(uint32_t bytes) const noexcept { return (bytes + granule_ - 1) / granule_; }
    /// An offset for `units` granules, or none.
    uint32_t allocate(uint32_t units) noexcept;
    void release(uint32_t offset, uint32_t units) noexcept;

    uint64_t capacity_bytes() const noexcept { return capacity_; }
    uint64_t live_bytes() const noexcept { return live_; }

  private:
    static constexpr uint32_t size_classes = 128;
    memory from_;
    uint8_t* base_ = nullptr;
    uint64_t capacity_ = 0;
    uint32_t granule_;
    uint64_t used_ = 64;  // offset 0 is nobody's
    uint64_t live_ = 0;
    std::vector<uint32_t> free_[size_classes];
};

}  // namespace turnpike::fib
