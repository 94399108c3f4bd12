// SPDX-License-Identifier: BSD-3-Clause
// IP-to-MAC bindings from ARP and ND in bridges with neigh_suppress (RFC 9161 section 3.1): workers look up which
// requests need not be flooded into tunnels, and control answers them. A binding lasts as long as its station's FDB
// entry.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "datapath/bridge.hpp"
#include "rcu/qsbr.hpp"

namespace turnpike::control {

/// Threads  control; the table is read by workers.
class neigh_binding_table {
  public:
    /// Maximum of all bridges together; further bindings are not learned, and requests for them are
    /// flooded.
    static constexpr uint32_t most = 65536;

    /// Errors  as hash::table's
    [[nodiscard]] static result<std::unique_ptr<neigh_binding_table>> create(rcu::qsbr& rcu);

    void learn(const datapath::address_key& address, const datapath::bound_address& who) noexcept;
    [[nodiscard]] datapath::bound_address find(const datapath::address_key& address) const noexcept;
    /// Removes the bindings of some domains.
    void drop_domains(const std::function<bool(uint16_t domain)>& which) noexcept;
    /// Periodically removes bindings without an FDB entry.
    void tick(uint64_t now_ms, const datapath::fdb_table& fdb_entries);
    [[nodiscard]] const datapath::address_table& table() const noexcept { return *table_; }

    static ip_address address_of(const datapath::address_key& k) noexcept {
        if ((k.network & 1) == 0) return ip_address::from_v4(static_cast<uint32_t>(k.address[0]));
        return ip_address::from_v6(reinterpret_cast<const uint8_t*>(k.address));
    }
    static uint16_t domain_of(const datapath::address_key& k) noexcept {
        return static_cast<uint16_t>(k.network >> 1);
    }

  private:
    neigh_binding_table() = default;
    std::unique_ptr<datapath::address_table> table_;
    std::vector<datapath::address_key> gone_{};  ///< with room for all
    uint64_t next_look_ms_ = 0;
};

}  // namespace turnpike::control
