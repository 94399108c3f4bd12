// SPDX-License-Identifier: BSD-3-Clause
// One built lookup table: root, nodes, next hops, and the view that readers hold. A table whose
// arena or ID width is exhausted is rebuilt into a new generation; the old one is freed when no
// reader can hold it.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "fib/arena.hpp"
#include "fib/encode.hpp"
#include "fib/next_hops.hpp"

namespace turnpike::fib {

/// Encoding of next-hop handles as IDs in the lookup table.
struct id_coding {
    uint8_t bytes = 1;      ///< bytes per ID in IPv4 blocks
    bool direct = false;    ///< IPv6: nodes below a page are pages, too
    bool identity = true;   ///< an ID is its next hop: no side table
    uint32_t nexthops = 0;  ///< size of the side table otherwise

    /// The narrowest encoding for the `next_hops` in use, with room for more.
    static id_coding fitting(const next_hops& all, bool ipv4);
    bool holds(uint32_t handle, uint64_t value) const noexcept;
    uint32_t limit() const noexcept;  ///< IDs are below this
    /// Arena units that root_leaf() needs.
    uint32_t root_leaf_units(bool ipv4) const noexcept;
};

/// Threads  the writer's only, except *published
class generation {
  public:
    struct plan {
        unsigned root_bits;
        bool ipv4;
        bool network_order;
        id_coding coding;
        uint64_t arena_bytes;
    };
    /// Check valid(): false if memory is short.
    generation(const memory& from, const plan& p);
    ~generation();
    generation(const generation&) = delete;
    generation& operator=(const generation&) = delete;

    bool valid() const noexcept { return root_ != nullptr && nodes.valid() && nexthops_valid_; }
    const view* published() const noexcept { return &view_; }
    /// Decide how lookups go by the current nodes; call it only before publication.
    void settle() noexcept;

    /// The slot value of a leaf; stores a new handle's next hop in the side table.
    slot_entry leaf(uint32_t handle, uint64_t value) noexcept;
    /// The root's entry for a leaf: a block or page of equal slots, created once. arena::none: no
    /// room.
    uint32_t root_leaf(slot_entry leaf);

    uint32_t* root() noexcept { return root_; }
    uint64_t root_bytes() const noexcept { return uint64_t{4} << plan_.root_bits; }
    uint64_t nexthops_bytes() const noexcept {
        return plan_.coding.identity ? 0 : (uint64_t{plan_.coding.nexthops} + 1) * 8;
    }
    const id_coding& coding() const noexcept { return plan_.coding; }

    arena nodes;

  private:
    memory from_;
    plan plan_;
    uint32_t* root_ = nullptr;
    uint64_t* nexthops_ = nullptr;
    bool nexthops_valid_ = true;
    view view_{};
    std::unordered_map<slot_entry, uint32_t> uniform_;  // leaf -> the root's entry
};

/// Release store: a reader that sees the entry also sees its target.
inline void publish(uint32_t* at, uint32_t entry) noexcept {
    __atomic_store_n(at, entry, __ATOMIC_RELEASE);
}

}  // namespace turnpike::fib
