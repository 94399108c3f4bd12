// SPDX-License-Identifier: BSD-3-Clause
// Destination -> next hop, both families: the one place that knows which FIB library is behind it
// (today DPDK's rte_fib and rte_fib6, which have no RCU: filled before the workers start).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "config/address.hpp"
#include "datapath/next_hop.hpp"

struct rte_fib;
struct rte_fib6;

namespace turnpike::datapath {

/// Threads  add(): control, before workers run. lookup: any.
class route_table {
  public:
    /// Errors  ENOMEM...: the FIB library's
    [[nodiscard]] static result<std::unique_ptr<route_table>> create(uint32_t max_routes);
    ~route_table();
    route_table(const route_table&) = delete;
    route_table& operator=(const route_table&) = delete;

    [[nodiscard]] result<void> add(const ip_prefix& to, next_hop hop);

    /// destination  [n] host order           hop  [n] out, next_hop::packed
    void lookup4(const uint32_t* destination, uint64_t* hop, uint32_t n) const noexcept;
    /// destination  [n] 16 bytes each, network order
    void lookup6(uint8_t (*destination)[16], uint64_t* hop, uint32_t n) const noexcept;

    /// The same for one address; control's.
    [[nodiscard]] next_hop lookup(const ip_address& destination) const noexcept;
    [[nodiscard]] uint32_t routes(bool v6) const noexcept { return routes_[v6]; }

  private:
    route_table() = default;

    rte_fib* v4_ = nullptr;
    rte_fib6* v6_ = nullptr;
    uint32_t routes_[2] = {};  ///< IPv4, IPv6
};

}  // namespace turnpike::datapath
