// SPDX-License-Identifier: BSD-3-Clause
// The control side's copy of the routes: a trie with the lookup table's strides, so that the nodes
// affected by a change are found directly. Lookups do not read it.
//
//   root: routes up to root_bits long, in order; a child per root slot that has longer ones
//   node: the routes that end inside its stride, in order; a child per slot that has longer ones
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace turnpike::fib {

/// An address, left-aligned in 128 bits (IPv4: the upper 32 of `high`).
struct address {
    uint64_t high = 0;
    uint64_t low = 0;
    bool operator==(const address&) const = default;

    /// Bits [from, from + count) counted from the left; count <= 32.
    uint32_t bits(unsigned from, unsigned count) const noexcept;
    /// The first `length` bits, the others zero.
    address masked(unsigned length) const noexcept;
    /// A copy with `count` bits written at `from`, which must be zero.
    address with(unsigned from, unsigned count, uint32_t bits) const noexcept;
};

/// A route in a node, ordered by (address, length). key = address bits << 8 | length.
struct node_route {
    uint32_t key;
    uint32_t handle;
    uint32_t first_slot() const noexcept { return key >> 8; }
    uint32_t length() const noexcept { return key & 0xff; }
};

struct rib_node {
    static constexpr uint32_t unbuilt = ~0u;
    struct child {
        uint32_t slot;
        std::unique_ptr<rib_node> node;
    };
    std::vector<node_route> routes;
    std::vector<child> children;
    uint32_t background = 0;   ///< handle of the route that covers the whole node
    uint32_t entry = unbuilt;  ///< offset of its node in the lookup table
    uint32_t units = 0;        ///< size of that node, in arena units
    uint32_t only_leaf = 0;    ///< all slots of that node lead to this leaf; 0: to several
    /// That node is a tree of so many levels, and no node below it is built; 0: it is not.
    uint8_t tree_levels = 0;
    bool changed = false;  ///< changed since it was built

    std::vector<node_route>::iterator find(uint32_t key);
    std::vector<child>::iterator child_at(uint32_t slot);
    bool empty() const noexcept { return routes.empty() && children.empty(); }
};

/// Strides below the root are `first_stride` once, then 8 until `address_bits`.
struct shape {
    unsigned address_bits;
    unsigned root_bits;
    unsigned first_stride;

    unsigned stride(unsigned level) const noexcept {  // level 1 is directly below the root
        return level == 1 ? first_stride : 8;
    }
    /// Number of address bits above `level`.
    unsigned start(unsigned level) const noexcept {
        return level == 1 ? root_bits : root_bits + first_stride + 8 * (level - 2);
    }
    /// The level whose node holds routes of this length; 0 is the root.
    unsigned level_of(unsigned length) const noexcept {
        if (length <= root_bits) return 0;
        return length <= root_bits + first_stride ? 1
                                                  : 2 + (length - root_bits - first_stride - 1) / 8;
    }
};

/// Threads  the writer's only. Errors: std::bad_alloc, before any change; removing and restoring a
///          route never fail.
class rib {
  public:
    /// IPv6: 16 bits, then 14 bytes.
    static constexpr unsigned max_levels = 14;

    explicit rib(shape s) : shape_(s), children_(size_t{1} << s.root_bits) {}

    /// The nodes from the root's child down to a route's node; `made`: number of new ones.
    struct path {
        std::array<rib_node*, max_levels> nodes;
        unsigned count = 0;
        unsigned made = 0;
    };

    /// A removed route, and the nodes that became empty, deepest first.
    struct removed {
        uint32_t handle = 0;
        path kept;  ///< the remaining nodes
        std::map<uint32_t, uint32_t>::node_type root_route;
        std::array<std::unique_ptr<rib_node>, max_levels> pruned;
        unsigned pruned_count = 0;
    };

    /// Returns null if the route does not exist. existing: the existing nodes on its path.
    uint32_t* find(const address& a, unsigned length, path& existing) noexcept;
    uint32_t* find(const address& a, unsigned length) noexcept {
        path existing;
        return find(a, length, existing);
    }
    /// Add a new route; `existing` from find().
    path insert(const address& a, unsigned length, uint32_t handle, const path& existing);
    /// Append a route that sorts after all others (bulk load).
    void append(const address& a, unsigned length, uint32_t handle);
    /// The existing nodes on a route's path.
    path nodes_to(const address& a, unsigned length) noexcept;
    /// Remove an existing route; `existing` from find().
    removed erase(const address& a, unsigned length, const path& existing) noexcept;
    /// Restore it, with no other change in between. The vectors still have their capacity.
    void restore(const address& a, unsigned length, removed& r) noexcept;

    /// Prefetch for find(): call step 0 first, then 1 and 2, each some time after the previous one.
    /// Returns the root's child from step 1 on; after step 2 its routes are cached.
    const rib_node* expect(const address& a, unsigned step) const noexcept;

    /// Visit the routes that cover root slots [first, first + count), which are a prefix or a
    /// single slot: run(first slot, last slot, handle), in order.
    using root_run = std::function<void(uint32_t, uint32_t, uint32_t)>;
    void walk_root(uint32_t first, uint32_t count, uint32_t fallback, const root_run& run) const;
    rib_node* root_child(uint32_t slot) const noexcept { return children_[slot].get(); }

    using visitor = std::function<void(const address&, unsigned length, uint32_t handle)>;
    void for_each(const visitor& visit) const;

    /// Arena units of the nodes per level; [0] is the root's, which has none.
    std::array<uint64_t, max_levels + 1> units_by_level() const noexcept;

    uint32_t size() const noexcept { return size_; }
    const shape& geometry() const noexcept { return shape_; }

  private:
    uint32_t key(const address& a, unsigned length, unsigned level) const noexcept;
    static void add_units(const rib_node& node, unsigned level,
                          std::array<uint64_t, max_levels + 1>& units) noexcept;
    void visit_node(const rib_node& node, address at, unsigned level, const visitor& visit) const;

    shape shape_;
    std::map<uint32_t, uint32_t> root_routes_;  // key as in node_route -> handle
    std::vector<std::unique_ptr<rib_node>> children_;
    std::array<uint32_t, 33> root_lengths_{};  // number of routes per length in root_routes_
    uint32_t size_ = 0;
};

}  // namespace turnpike::fib
