// SPDX-License-Identifier: BSD-3-Clause
// ARP and neighbour discovery that bridges with neigh_suppress hear (RFC 9161): copies, of which what is sound is
// learnt, and what asks for a station behind a tunnel that is spared is answered in that station's name.
#pragma once

#include "control/bridges.hpp"
#include "control/slow_path/tools.hpp"

namespace turnpike::control::slow_path {

class neigh_suppress : public handler {
  public:
    neigh_suppress(tools& t, bridges& b) : handler(t), bridges_(b) {}
    void take(packet_in_hand p) override;

  private:
    void take_arp(const packet_in_hand& p, const packet::parsed& h);
    void take_nd(const packet_in_hand& p, const packet::parsed& h);
    /// Who is to be named to one that asks by a bridge's port; none: nobody, or he hears it himself.
    [[nodiscard]] datapath::bound_address to_be_named(const packet_in_hand& p,
                                                      const datapath::address_key& asked) const;
    void answer(const packet_in_hand& p, std::span<const uint8_t> frame);

    bridges& bridges_;
};

}  // namespace turnpike::control::slow_path
