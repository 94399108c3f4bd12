// SPDX-License-Identifier: BSD-3-Clause
// IPv6 tables of few routes, a second time: as intervals of the address, in search trees that lie in the
// nearest cache (layout.hpp). Eight bounds are compared at once, so a lookup is two or three nodes instead of
// a node a byte. After the linearised trees of PlanB (arXiv 2604.14650).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/memory.hpp"
#include "fib/generation.hpp"
#include "fib/next_hops.hpp"
#include "fib/rib.hpp"

namespace turnpike::fib {

/// What readers see of a short table; never changed.
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

/// The routes of a table as long as it is short.
/// Threads  the writer's only. What memory is missing for is forgotten: then the table is not short.
class short_table {
  public:
    /// n routes make at most 2n + 1 intervals; a tree holds 9^3.
    static constexpr uint32_t most_routes = 364;

    /// most  routes; 0: never short
    explicit short_table(uint32_t most) noexcept : most_(most < most_routes ? most : most_routes) {}

    /// All routes of `all`, where they are few and not known yet. Half of what is kept, so that a table
    /// that is about as long does not come and go.
    void know(const rib& all) noexcept;
    void forget() noexcept;
    /// A route is there now, or its next hop is another.
    void put(const address& a, unsigned length, uint32_t handle) noexcept;
    void erase(const address& a, unsigned length) noexcept;

    /// nullptr: not short, or no memory. Leaves are those of `g`.
    std::unique_ptr<interval_trees> build(const memory& from, generation& g, const next_hops& hops,
                                          uint32_t default_handle) const noexcept;

  private:
    struct route {
        address prefix;
        uint32_t length;
        uint32_t handle;
    };
    std::vector<route>::iterator position(const address& a, unsigned length) noexcept;

    uint32_t most_;
    bool known_ = true;          // the empty table is
    std::vector<route> routes_;  // by (address, length)
};

}  // namespace turnpike::fib
