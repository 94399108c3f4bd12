// SPDX-License-Identifier: BSD-3-Clause
// The array of next hops: allocates an index, and reuses it after a grace period. The lowest free index is
// allocated first, so that the FIB's values stay narrow.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <vector>

#include "base/result.hpp"
#include "datapath/next_hop.hpp"
#include "rcu/qsbr.hpp"

namespace turnpike::control {

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
    /// An index whose next hop drops; nullopt: the table is full.
    [[nodiscard]] std::optional<uint32_t> take() noexcept;
    /// Free an index that no route refers to.
    void give_back(uint32_t index) noexcept;

    [[nodiscard]] uint32_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] uint32_t in_use() const noexcept {
        return capacity_ - static_cast<uint32_t>(free_.size());
    }

  private:
    struct free_table {
        void operator()(datapath::next_hop* t) const noexcept;
    };
    next_hops() = default;
    static void release(void* self, uint64_t index);

    uint32_t capacity_ = 0;
    rcu::qsbr* rcu_ = nullptr;
    std::unique_ptr<datapath::next_hop, free_table> table_;
    /// Capacity is reserved: freeing cannot fail.
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> free_;
};

}  // namespace turnpike::control
