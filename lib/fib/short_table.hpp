// SPDX-License-Identifier: BSD-3-Clause
// A second representation of small tables: address intervals that fit L1 (layout.hpp). A search
// looks up a vector of addresses at once, by permutations. IPv6 has search trees as well, for
// instruction sets without permutations, for tables with more intervals, and for the last 64 bits:
// eight bounds are compared at once, so a lookup visits two or three nodes instead of one per byte.
// After the linearised trees of PlanB (arXiv 2604.14650).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/memory.hpp"
#include "fib/generation.hpp"
#include "fib/next_hops.hpp"
#include "fib/rib.hpp"

namespace turnpike::fib {

/// The readers' form of a short table; immutable.
class interval_trees {
  public:
    interval_trees(const memory& from, void* block) : from_(from), block_(block) {}
    ~interval_trees() { from_.release(from_.context, block_); }
    interval_trees(const interval_trees&) = delete;
    interval_trees& operator=(const interval_trees&) = delete;
    view seen{};

  private:
    memory from_;
    void* block_;
};

/// The routes of a table, as long as there are few.
///
/// Threads  the writer's only. Without memory the routes are dropped, and the table counts as not
/// short.
class short_table {
  public:
    /// n routes make at most 2n + 1 intervals; a tree holds 9^3.
    static constexpr uint32_t max_routes = 364;
    /// IPv4 has no trees: a search holds 2^8.
    static constexpr uint32_t max_routes4 = 127;

    /// most  routes; 0: never short
    short_table(uint32_t most, bool ipv4) noexcept
        : most_(std::min(most, ipv4 ? max_routes4 : max_routes)), ipv4_(ipv4) {}

    /// Load all routes of `all` if there are few and they are not loaded yet.
    ///
    /// replaced  `all` has just been loaded. Otherwise, and for IPv4, whose searches of so many intervals are
    ///           no faster than the nodes, the limit is half of most_: a table near the limit does not switch back
    ///           and forth.
    void know(const rib& all, bool replaced = false) noexcept;
    void forget() noexcept;
    /// Add a route, or change its next hop.
    void put(const address& a, unsigned length, uint32_t handle) noexcept;
    void erase(const address& a, unsigned length) noexcept;

    /// nullptr: not short, or no memory. Leaves refer to `g`.
    std::unique_ptr<interval_trees> build(const memory& from, generation& g,
                                          const next_hops& nexthops,
                                          uint32_t default_handle) const noexcept;

  private:
    struct route {
        address prefix;
        uint32_t length;
        uint32_t handle;
    };
    std::vector<route>::iterator position(const address& a, unsigned length) noexcept;

    uint32_t most_;
    bool ipv4_;
    bool known_ = true;          // true for the empty table
    std::vector<route> routes_;  // by (address, length)
};

}  // namespace turnpike::fib
