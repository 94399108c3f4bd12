// SPDX-License-Identifier: BSD-3-Clause
// ARP and ND suppression (RFC 9161): validates the copies from bridges with neigh_suppress, learns bindings, and answers
// requests for a station behind a tunnel with neigh_suppress on that station's behalf.
#pragma once

#include "control/forwarding/bridges.hpp"
#include "control/slow_path/slow_path_context.hpp"

namespace turnpike::control::slow_path {

class neigh_suppress : public handler {
  public:
    neigh_suppress(slow_path_context& t, bridges& b) : handler(t), bridges_(b) {}
    void handle(owned_mbuf p) override;
    bool answer(const owned_mbuf& p) override;

  private:
    void learn_from_arp(const owned_mbuf& p, const packet::parsed& h);
    void learn_from_nd(const owned_mbuf& p, const packet::parsed& h);
    bool answer_arp(const owned_mbuf& p, const packet::parsed& h);
    bool answer_nd(const owned_mbuf& p, const packet::parsed& h);
    /// The binding to answer with; none: no binding, or the requester receives the request's own
    /// answer.
    [[nodiscard]] datapath::bound_address to_be_named(const owned_mbuf& p,
                                                      const datapath::address_key& asked) const;
    void send_reply(const owned_mbuf& p, std::span<const uint8_t> frame);

    bridges& bridges_;
};

}  // namespace turnpike::control::slow_path
