// SPDX-License-Identifier: BSD-3-Clause
// Who has which IP address, as bridges with neigh_suppress heard it (RFC 9161 section 3.1): for workers to know which
// questions tunnels are spared, and for control to answer them. What was heard holds as long as the bridge knows the
// station that said it.
#pragma once

#include <cstdint>
#include <memory>

#include "datapath/bridge.hpp"
#include "rcu/qsbr.hpp"

namespace turnpike::control {

/// Threads  control; the table is read by workers.
class heard_addresses {
  public:
    /// Of all bridges together; more are not believed, and who asks for them is heard by all.
    static constexpr uint32_t most = 65536;

    /// Errors  as exact::table's
    [[nodiscard]] static result<std::unique_ptr<heard_addresses>> create(rcu::qsbr& rcu);

    void hear(const datapath::address_key& address, const datapath::bound_address& who) noexcept;
    [[nodiscard]] datapath::bound_address find(const datapath::address_key& address) const noexcept;
    /// Those whose stations are no longer known, from time to time.
    void tick(uint64_t now_ms, const datapath::station_table& stations);
    [[nodiscard]] const datapath::address_table& table() const noexcept { return *table_; }

    static ip_address address_of(const datapath::address_key& k) noexcept {
        if ((k.network & 1) == 0) return ip_address::from_v4(static_cast<uint32_t>(k.address[0]));
        return ip_address::from_v6(reinterpret_cast<const uint8_t*>(k.address));
    }
    static uint16_t domain_of(const datapath::address_key& k) noexcept {
        return static_cast<uint16_t>(k.network >> 1);
    }

  private:
    heard_addresses() = default;
    std::unique_ptr<datapath::address_table> table_;
    uint64_t next_look_ms_ = 0;
};

}  // namespace turnpike::control
