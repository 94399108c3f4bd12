// SPDX-License-Identifier: BSD-3-Clause
// Memory of a generation's nodes and leaves: blocks of whole granules, addressed by 32-bit granule
// numbers. It grows during the build; settle() moves it to memory that readers use, with room for
// changes. A full store does not grow: the table builds another generation.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "acl/layout.hpp"
#include "base/memory.hpp"

namespace turnpike::acl {

/// Threads  the writer's; readers read the blocks
class store {
  public:
    static constexpr uint32_t none = 0;  ///< no granule
    store() : growing_(layout::granule_bytes + layout::guard_bytes) {}
    ~store();
    store(const store&) = delete;
    store& operator=(const store&) = delete;

    /// bytes  the block's size; it is zeroed. Returns none if full
    uint32_t allocate(uint32_t bytes);
    void release(uint32_t granule, uint32_t bytes);
    uint8_t* at(uint32_t granule) noexcept {
        return base() + uint64_t{granule} * layout::granule_bytes;
    }
    /// Remove all blocks; call it before settle().
    void clear();
    /// Move to `from`'s memory, with `spare_bytes` and a reserve. Returns false without memory, and
    /// moves nothing.
    bool settle(const memory& from, uint64_t spare_bytes, uint64_t reserve_bytes);
    /// Permit use of the reserve: removals use it, so that they succeed when additions fail.
    void open_reserve(bool open) noexcept { reserve_open_ = open; }

    uint8_t* base() noexcept { return settled_ != nullptr ? settled_ : growing_.data(); }
    uint64_t used_bytes() const noexcept { return used_; }  ///< from the start of the last block
    uint64_t live_bytes() const noexcept { return live_; }
    uint64_t reserved_bytes() const noexcept { return capacity_; }

  private:
    std::vector<uint8_t> growing_;
    memory from_;
    uint8_t* settled_ = nullptr;
    uint64_t capacity_ = 0, reserve_ = 0;
    bool reserve_open_ = false;
    uint64_t used_ = layout::granule_bytes;
    uint64_t live_ = 0;
    std::multimap<uint32_t, uint32_t> free_;  // by size in granules
};

}  // namespace turnpike::acl
