// SPDX-License-Identifier: BSD-3-Clause
// Neighbour discovery (RFC 4861): answers solicitations for our addresses, passes senders and advertisements
// to the neighbour table; and originates our solicitations and announcements, for ARP too.
#pragma once

#include <utility>

#include "control/slow_path/dad.hpp"
#include "control/slow_path/message_rate.hpp"
#include "control/slow_path/slow_path_context.hpp"

namespace turnpike::control::slow_path {

class nd : public handler {
  public:
    nd(slow_path_context& t, message_rate& rate, dad& own, conflict_callback conflict)
        : handler(t), rate_(rate), own_(own), conflict_(std::move(conflict)) {}
    void handle(owned_mbuf p) override;
    [[nodiscard]] bool answer(const owned_mbuf& p) override;

  private:
    void advertise_to(uint16_t interface, const ipv6_address& target, const ipv6_address& source,
                      const mac_address& asker);
    void answer_solicitation(owned_mbuf p, const mac_address* link);
    void handle_advertisement(owned_mbuf p, const mac_address* link);
    void learn_router_or_host(const owned_mbuf& p, const mac_address& link);

    message_rate& rate_;
    dad& own_;
    conflict_callback conflict_;
};

/// Send a solicitation or ARP request for an address; unicast to `known` if it is not null. False:
/// not possible yet, because all of our addresses on the interface are tentative.
bool solicit(slow_path_context& t, const dad& own, uint16_t interface, const ip_address& a,
             const mac_address* known);
/// Gratuitous ARP and unsolicited advertisements (RFC 5227 section 2.3, RFC 4861 section 7.2.6).
/// IPv6 addresses are sent without the Override flag: they are still tentative (dad.hpp), as RFC 9131 section 6.1.2 has it of optimistic ones.
/// Duplicate addresses are not announced (RFC 4862 section 5.4.5).
void announce(slow_path_context& t, const dad& own_addresses, uint16_t interface);

}  // namespace turnpike::control::slow_path
