// SPDX-License-Identifier: BSD-3-Clause
// Common part of fib4 and fib6: routes in, lookup table out, one writer and many concurrent
// readers.
//
// A change is applied to the RIB, the affected nodes are built anew beside the old ones, and one
// release store of an entry publishes them to readers; then the old ones are freed through the
// defer_free hook. If a change cannot be built (memory), the RIB is restored, and readers see no
// change.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory.hpp"
#include "base/result.hpp"
#include "fib/generation.hpp"
#include "fib/rib.hpp"
#include "fib/short_table.hpp"
#include "isa/isa.hpp"
#include "rcu/defer.hpp"

namespace turnpike::fib {

/// Parameters of a table.
struct config {
    std::string name = "fib";        ///< for messages
    uint32_t max_routes = 1u << 20;  ///< add() beyond it fails with ENOSPC
    uint8_t next_hop_bytes = 4;      ///< 1 (IPv4 only), 2, 4, 8: next hops are below 2^(8 * bytes)
    uint64_t default_next_hop = 0;   ///< result if no route matches
    bool network_order = false;      ///< fib4: lookups pass addresses in network byte order
    uint16_t max_simd_bitwidth = isa::any_simd_bitwidth;
    std::string kernel = {};  ///< a kernel's name; empty: automatic
    /// Automatic: the kernel that is the fastest with the table's routes (isa/fastest.hpp), measured
    /// whenever the form of the table changes; false: the first one that is permitted.
    bool measure_kernels = false;
    memory allocator = {};            ///< for memory that lookups read
    rcu::defer_free defer_free = {};  ///< required if lookups run during changes
    uint64_t max_bytes =
        arena::max_bytes;  ///< for nodes; a change that needs more fails with ENOMEM
    /// Up to this many routes (IPv4: 127 at most), also keep the table as intervals, which are faster
    /// to search.
    uint32_t short_routes = short_table::max_routes;
    /// IPv6: up to this size, nodes are tables of 256 entries: larger than run-length compressed ones,
    /// and faster.
    uint64_t direct_bytes = 4 << 20;
};

struct statistics {
    uint32_t routes;
    uint32_t next_hops;  ///< distinct
    uint64_t root_bytes;
    uint64_t node_bytes;      ///< reserved for nodes
    uint64_t live_bytes;      ///< part of node_bytes in use or waiting for quiescence
    uint64_t next_hop_bytes;  ///< the side table
    uint64_t rebuilds;        ///< full rebuilds: loads, growth, wider IDs
    uint64_t bytes() const noexcept { return root_bytes + node_bytes + next_hop_bytes; }
};

/// One route for load().
struct entry {
    address prefix;
    uint8_t length;
    uint64_t next_hop;
};

/// One route for exchange().
struct route_change {
    address prefix;
    uint8_t length;
    std::optional<uint64_t> next_hop;  ///< nullopt: remove the route
};

/// Bytes of the root [0] and of the nodes of each level below it; the rest of live_bytes is nodes
/// shared by root slots without longer routes.
using level_bytes = std::array<uint64_t, rib::max_levels + 1>;

/// Properties of a table on which its fastest kernel depends.
struct table_form {
    uint64_t rebuilds = 0;       ///< sizes: a table that grows is rebuilt
    uint32_t search_levels = 0;  ///< of a short table
    bool trees = false;
    bool operator==(const table_form&) const = default;
};

class table {
  public:
    table(const config& c, shape s, bool ipv4);
    /// No reader may be left. Deferred items stay valid until the hook releases them.
    ~table();
    table(const table&) = delete;
    table& operator=(const table&) = delete;

    /// Build the empty table. ENOMEM, EINVAL.
    [[nodiscard]] result<void> start();
    /// Add a route, or replace its next hop. EINVAL, ENOSPC, ENOMEM: the table is unchanged.
    [[nodiscard]] result<void> add(const address& a, unsigned length, uint64_t next_hop);
    /// ENOENT: no such route. ENOMEM: the table is unchanged.
    [[nodiscard]] result<void> remove(const address& a, unsigned length);
    /// Apply many changes as one transaction: readers see each change or none. In this order, so
    /// that for equal prefixes the last one wins; fastest if adjacent prefixes follow each other.
    /// Removal of a missing route is no error. Replaces each change by its inverse, to be applied
    /// in reverse order. EINVAL, ENOSPC, ENOMEM: the table and the changes are unchanged.
    ///
    /// undoes  the changes are such inverses: additions may use the arena's reserve, too
    [[nodiscard]] result<void> exchange(std::span<route_change> changes, bool undoes = false);
    /// Replace everything; for equal prefixes the last one wins. Sorts `routes` unless sorted.
    [[nodiscard]] result<void> load(std::vector<entry> routes);

    [[nodiscard]] std::optional<uint64_t> get(const address& a, unsigned length);
    void for_each(const std::function<void(const address&, unsigned, uint64_t)>& visit) const;
    [[nodiscard]] statistics stats() const noexcept;
    [[nodiscard]] level_bytes bytes_by_level() const noexcept;

    /// Memory may have become free: the next change that needs a larger arena asks for it.
    void retry_growth() noexcept { refusals_to_come_ = 0; }

    const view* readers_view() const noexcept { return view_.load(std::memory_order_acquire); }
    table_form form() const noexcept;
    uint32_t size() const noexcept { return rib_->size(); }

  private:
    struct node_before {  // a node's state before its rebuild
        rib_node* node;
        uint32_t entry, units, background, only_leaf;
        uint8_t tree_levels;
        explicit node_before(rib_node& n)
            : node(&n),
              entry(n.entry),
              units(n.units),
              background(n.background),
              only_leaf(n.only_leaf),
              tree_levels(n.tree_levels) {}
    };
    struct slot_store {  // one entry for adjacent slots
        uint32_t* at;
        uint32_t count;
        uint32_t entry;
    };
    struct pending_update {
        std::vector<node_before> log;
        std::vector<slot_store> stores;
        void clear() noexcept {
            log.clear();
            stores.clear();
        }
    };

    node_kind kind(unsigned level, const id_coding& coding) const noexcept {
        if (ipv4_) return level > 1 ? node_kind::host_node : node_kind::block;
        return level > 1 && !coding.direct ? node_kind::byte_node : node_kind::page;
    }
    enum class rebuild_reason : uint8_t { load, growth };

    template <class Run, class Child>
    void walk(const rib_node& node, unsigned level, uint32_t background, Run run,
              Child child) const;
    bool build(rib_node& node, unsigned level, uint32_t background, bool all, generation& g,
               pending_update& c);
    bool may_be_tree(unsigned level) const noexcept;
    struct low_interval {
        uint64_t from;  ///< the last 64 bits of an address
        uint32_t handle;
    };
    bool collect(const rib_node& node, unsigned level, uint32_t background, uint64_t from,
                 std::vector<low_interval>& to) const;
    bool build_tree(rib_node& node, std::span<const low_interval> intervals, generation& g,
                    pending_update& c);
    void unbuild_below(rib_node& node, pending_update& c);
    bool store_node(rib_node& node, const uint8_t* bytes, uint32_t size, generation& g,
                    pending_update& c);
    uint64_t measure(const rib_node& node, unsigned level, uint32_t background,
                     const id_coding& coding) const;
    uint32_t entry_of(const rib_node& child, unsigned level) const noexcept;
    static unsigned first_to_build(const rib::path& p, unsigned level) noexcept;
    bool build_root(uint32_t first, uint32_t count, bool all, generation& g, pending_update& c);
    bool build_path(const address& a, const rib::path& p, pending_update& c);
    bool build_known(const address& a, rib_node& node, const rib_node* parent_node, unsigned level,
                     pending_update& c);
    void erase(const address& a, unsigned length) noexcept;
    class exchange_under_way;
    bool apply(const address& a, unsigned length, const rib::path& p,
               const rib::removed* gone = nullptr) noexcept;
    void commit(pending_update& c) noexcept;
    void roll_back(pending_update& c, generation& g) noexcept;
    /// Publish the current view: the intervals too if the table is short, else only the nodes.
    void show() noexcept;
    bool rebuild(rebuild_reason why) noexcept;
    bool grow() noexcept;
    bool build_whole(rebuild_reason why);
    uint64_t node_bytes_needed(const id_coding& coding) const;
    void release_handle(uint32_t handle) noexcept;
    /// Free an object when no reader can hold it, after everything deferred before.
    template <class T>
    void retire(std::unique_ptr<T>& old) noexcept {
        if (old != nullptr)
            config_.defer_free(
                {[](void* owner, uint64_t) { delete static_cast<T*>(owner); }, old.release(), 0});
    }
    void free_block(uint32_t offset, uint32_t units) noexcept;
    [[nodiscard]] result<void> check(const address& a, unsigned length) const;
    [[nodiscard]] result<void> check_next_hop(uint64_t next_hop) const;
    [[nodiscard]] tl::unexpected<error> out_of_memory() const noexcept;

    config config_;
    shape shape_;
    bool ipv4_;
    std::unique_ptr<rib> rib_;
    std::unique_ptr<next_hops> nexthops_;
    uint32_t default_handle_ = 0;
    std::unique_ptr<generation> generation_;
    short_table short_;
    std::unique_ptr<interval_trees> trees_;  // the readers' form of short_
    // empty between updates; kept for its vectors' capacity
    pending_update change_;
    std::atomic<const view*> view_{nullptr};
    uint64_t rebuilds_ = 0;
    arena::leave leave_ = arena::leave::reserve;  // of the change under way
    // After a growth without memory:
    uint32_t refusals_to_come_ = 0;  // changes that are refused before memory is asked for again
    uint32_t refusals_ = 0;          // that number, last time
    uint32_t refused_at_ = 0;        // routes
};

}  // namespace turnpike::fib
