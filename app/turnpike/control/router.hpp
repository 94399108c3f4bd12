// SPDX-License-Identifier: BSD-3-Clause
// The router's control half: fills the tables from the configuration, and ends what workers punt:
// ARP and neighbour discovery, packets for us, packets that wait for a neighbour, ICMP errors.
//
//   worker --punted--> router --> neighbours (who is there) ---> outlet --> worker
//                             --> echo replies, ICMP errors -----^
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>

#include "base/result.hpp"
#include "config/model.hpp"
#include "control/neighbours.hpp"
#include "control/outlet.hpp"
#include "control/token_bucket.hpp"
#include "datapath/tables.hpp"
#include "packet/icmp.hpp"

namespace turnpike::control {

inline packet::ipv6_address v6_of(const ip_address& a) noexcept {
    packet::ipv6_address out;
    std::copy(a.bytes.begin(), a.bytes.end(), out.bytes);
    return out;
}

/// Threads  control.
class router {
  public:
    router(const config::model& model, datapath::tables& tables, outlet& out)
        : model_(model), tables_(tables), out_(out), icmp_(model.messages.rate) {}

    /// Addresses, groups, routes and neighbours into the tables. Ports' MAC addresses must be
    /// known, tables.rcu must be there; workers must not run yet.
    /// Errors   ENOMEM, ENOSPC: a table does not hold it
    [[nodiscard]] result<void> set_up();

    /// Add a route, or replace it; workers see the old one or the new one.
    /// Errors  ENOSPC, ENOMEM: nothing has changed
    [[nodiscard]] result<void> add_route(const config::route& r);
    /// Errors  ENOENT: there is none, or it is a port's own; ENOMEM: nothing has changed
    [[nodiscard]] result<void> remove_route(const ip_prefix& to);

    /// End a punted packet.
    void take(rte_mbuf* packet, uint64_t now_ms);
    /// Timers.
    void tick(uint64_t now_ms);
    void link_changed(uint16_t port, bool up, uint64_t now_ms);
    /// Drop what is held; workers have stopped.
    void stop();

    [[nodiscard]] uint64_t held() const noexcept { return neighbours_ ? neighbours_->held() : 0; }
    [[nodiscard]] const neighbours* known() const noexcept { return neighbours_.get(); }

  private:
    result<void> add_addresses(uint16_t port);
    void let_go(datapath::next_hop hop);
    void announce(uint16_t port);
    bool on_link(uint16_t port, const ip_address& a) const noexcept;

    void take_arp(rte_mbuf* packet);
    void take_nd(rte_mbuf* packet);
    void answer_solicitation(rte_mbuf* packet, const packet::mac_address* link);
    void take_advertisement(rte_mbuf* packet, const packet::mac_address* link);
    void take_local(rte_mbuf* packet);
    void take_report(rte_mbuf* packet);
    void take_unresolved(rte_mbuf* packet);
    void echo(rte_mbuf* packet);

    void solicit(uint16_t port, const ip_address& a, const packet::mac_address* known);
    void give_up(rte_mbuf* packet, packet::drop_reason why);
    /// The address that an ICMPv6 answer to this packet comes from.
    [[nodiscard]] packet::ipv6_address answer_from(rte_mbuf* packet) const noexcept;
    /// Tell the packet's sender, if that is allowed and the rate permits; the packet stays.
    void report(rte_mbuf* packet, const packet::icmp_error& error);
    /// Send an IP packet of ours behind 14 free bytes to where its destination is routed.
    void route_own(rte_mbuf* packet, const ip_address& to, uint16_t from_port);

    const config::model& model_;
    datapath::tables& tables_;
    outlet& out_;
    token_bucket icmp_;
    std::unique_ptr<neighbours> neighbours_;
    struct gateway {
        uint16_t port = 0;
        ip_address address{};
        uint32_t routes = 0;  ///< that name it
    };
    std::map<uint32_t, gateway> gateways_;  ///< by slot
    uint64_t now_ms_ = 0;
};

/// The ICMP error that tells of a drop, for the packet's own family; type 0 where none does.
[[nodiscard]] packet::icmp_error icmp_error_of(packet::drop_reason why, bool v4,
                                               uint16_t mtu) noexcept;

}  // namespace turnpike::control
