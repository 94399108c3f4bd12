// SPDX-License-Identifier: BSD-3-Clause
// IP-to-MAC bindings from ARP and ND in bridges with neigh_suppress (RFC 9161 section 3.1): workers look up which
// requests need not be flooded into tunnels, and control answers them. A binding lasts as long as its station's FDB
// entry. The numbers of bindings of a station and of a domain are limited: a station can announce any addresses. A
// station's limit is a share of the free bindings: one router, proxy or container host can have thousands, while
// many such stations still leave room for others.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
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
    /// Maximum of a domain.
    static constexpr uint32_t max_of_domain = most / 2;
    /// Limit of a MAC address in a domain: this share of the free bindings, at least `least_of_station`.
    static constexpr uint32_t share_of_station = 8, least_of_station = 64;

    /// Errors  as hash::table's
    [[nodiscard]] static result<std::unique_ptr<neigh_binding_table>> create(rcu::qsbr& rcu);

    void learn(const datapath::address_key& address, const datapath::bound_address& who) noexcept;
    [[nodiscard]] datapath::bound_address find(const datapath::address_key& address) const noexcept;
    /// Removes the bindings of some domains.
    void drop_domains(const std::function<bool(uint16_t domain)>& which) noexcept;
    /// Periodically removes bindings without an FDB entry.
    void tick(uint64_t now_ms, const datapath::fdb_table& fdb_entries);
    [[nodiscard]] const datapath::address_table& table() const noexcept { return *table_; }
    /// Bindings that were not learned for lack of room.
    [[nodiscard]] uint64_t refused() const noexcept { return refused_; }

    static ip_address address_of(const datapath::address_key& k) noexcept {
        if ((k.network & 1) == 0) return ip_address::from_v4(static_cast<uint32_t>(k.address[0]));
        return ip_address::from_v6(reinterpret_cast<const uint8_t*>(k.address));
    }
    static uint16_t domain_of(const datapath::address_key& k) noexcept {
        return static_cast<uint16_t>(k.network >> 1);
    }

  private:
    neigh_binding_table() = default;
    static datapath::fdb_key station_of(const datapath::address_key& k,
                                        const datapath::bound_address& who) noexcept {
        return who.mac() | uint64_t{domain_of(k)} << 48;
    }
    [[nodiscard]] bool has_room(const datapath::address_key& address,
                                const datapath::bound_address& who) const noexcept;
    /// A binding begins, or ends.
    void count(const datapath::address_key& address, const datapath::bound_address& who);
    void uncount(const datapath::address_key& address, const datapath::bound_address& who) noexcept;
    void forget(const datapath::address_key& address) noexcept;

    std::unique_ptr<datapath::address_table> table_;
    std::vector<datapath::address_key> gone_{};  ///< with room for all
    /// Numbers of bindings.
    std::unordered_map<datapath::fdb_key, uint32_t> of_station_{};
    std::vector<uint32_t> of_domain_ = std::vector<uint32_t>(datapath::max_domains);
    uint64_t refused_ = 0;
    uint64_t next_look_ms_ = 0;
};

}  // namespace turnpike::control
