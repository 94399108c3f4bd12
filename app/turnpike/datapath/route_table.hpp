// SPDX-License-Identifier: BSD-3-Clause
// Destination -> next hop, both families: lib/fib behind one small interface. Routes may change
// while workers look up.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/result.hpp"
#include "config/address.hpp"
#include "datapath/next_hop.hpp"
#include "fib/fib4.hpp"
#include "fib/fib6.hpp"

namespace turnpike::datapath {

/// Threads  add, remove: control. lookup: any that reports quiescence to what is behind `defer_free`.
class route_table {
  public:
    /// Routes of each family that fit. A bound, not a reservation: a full table has 1 M and 0.2 M.
    static constexpr uint32_t max_routes = 1u << 21;

    /// Errors  ENOMEM
    [[nodiscard]] static result<std::unique_ptr<route_table>> create(rcu::defer_free defer_free);

    /// Add a route, or replace its next hop.
    /// Errors  ENOSPC, ENOMEM: the table is as it was
    [[nodiscard]] result<void> add(const ip_prefix& to, next_hop hop);
    /// Errors  ENOENT: there is no such route; ENOMEM: the table is as it was
    [[nodiscard]] result<void> remove(const ip_prefix& to);
    /// The route of exactly this prefix. Control's.
    [[nodiscard]] std::optional<next_hop> get(const ip_prefix& to) const;

    /// destination  [n] host order           hop  [n] out, next_hop::packed
    void lookup4(const uint32_t* destination, uint64_t* hop, uint32_t n) const noexcept {
        v4_->lookup_bulk({destination, n}, {hop, n});
    }
    /// destination  [n] 16 bytes each, network order
    void lookup6(const fib::address6* destination, uint64_t* hop, uint32_t n) const noexcept {
        v6_->lookup_bulk({destination, n}, {hop, n});
    }
    /// The same for one address.
    [[nodiscard]] next_hop lookup(const ip_address& destination) const noexcept;

    [[nodiscard]] uint32_t routes(bool v6) const noexcept {
        return v6 ? v6_->stats().routes : v4_->stats().routes;
    }
    /// The kernel that looks up.
    [[nodiscard]] std::string_view kernel(bool v6) const noexcept {
        return v6 ? v6_->kernel() : v4_->kernel();
    }

  private:
    route_table() = default;

    std::unique_ptr<fib::fib4> v4_;
    std::unique_ptr<fib::fib6> v6_;
};

}  // namespace turnpike::datapath
