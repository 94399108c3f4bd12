// SPDX-License-Identifier: BSD-3-Clause
// The array of next hops: allocates an index, and reuses it after a grace period. The lowest free index is
// allocated first, so that the FIB's values stay narrow.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "datapath/next_hop.hpp"
#include "rcu/qsbr.hpp"

namespace turnpike::control {

class next_hops;

/// Owns the index of a next hop. When it ends, no route refers to the index any more, and after a grace period the
/// index is free.
class nexthop_handle {
  public:
    nexthop_handle() = default;
    nexthop_handle(next_hops& of, uint32_t index) noexcept : of_(&of), index_(index) {}
    nexthop_handle(nexthop_handle&& o) noexcept
        : of_(std::exchange(o.of_, nullptr)), index_(o.index_) {}
    nexthop_handle& operator=(nexthop_handle&& o) noexcept {
        std::swap(of_, o.of_);
        std::swap(index_, o.index_);
        return *this;
    }
    ~nexthop_handle();

    explicit operator bool() const noexcept { return of_ != nullptr; }
    [[nodiscard]] uint32_t index() const noexcept { return index_; }

  private:
    next_hops* of_ = nullptr;
    uint32_t index_ = 0;
};

/// Threads  control.
class next_hops {
  public:
    /// Errors  ENOMEM
    [[nodiscard]] static result<std::unique_ptr<next_hops>> create(uint32_t capacity,
                                                                   rcu::qsbr& rcu);

    [[nodiscard]] datapath::next_hop* table() const noexcept { return table_.get(); }
    [[nodiscard]] datapath::next_hop& operator[](uint32_t index) const noexcept {
        return table_.get()[index];
    }
    /// A next hop that drops; empty: the table is full.
    [[nodiscard]] nexthop_handle allocate() noexcept;
    /// A route that could not be removed leads to this index: until the object ends, the index is not allocated again.
    /// Without its owner it drops. Errors  std::bad_alloc
    [[nodiscard]] std::shared_ptr<const void> pin(uint32_t index);
    /// The owner of what an index describes ends: a pinned one drops from now on, before that is freed.
    void drop_if_pinned(uint32_t index) noexcept;

    [[nodiscard]] uint32_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] uint32_t in_use() const noexcept {
        return capacity_ - static_cast<uint32_t>(free_.size());
    }

  private:
    friend class nexthop_handle;
    struct free_table {
        void operator()(datapath::next_hop* t) const noexcept;
    };
    next_hops() = default;
    static void release(void* self, uint64_t index);
    static void free_index(void* self, uint64_t index);
    void unpin(uint32_t index) noexcept;

    struct pinned {
        uint32_t pins = 0;
        bool released = false;  ///< by its owner
    };

    uint32_t capacity_ = 0;
    rcu::qsbr* rcu_ = nullptr;
    std::unique_ptr<datapath::next_hop, free_table> table_;
    /// Capacity is reserved: freeing cannot fail.
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> free_;
    std::map<uint32_t, pinned> pinned_{};
};

}  // namespace turnpike::control
