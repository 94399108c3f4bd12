// SPDX-License-Identifier: BSD-3-Clause
// Neighbour discovery (RFC 4861): solicitations for us are answered, senders and advertisements are
// told to the neighbours; and what we say and ask ourselves, for ARP too.
#pragma once

#include "control/slow_path/message_rate.hpp"
#include "control/slow_path/own_groups.hpp"
#include "control/slow_path/tools.hpp"

namespace turnpike::control::slow_path {

class nd : public handler {
  public:
    nd(tools& t, message_rate& rate, own_groups& own) : handler(t), rate_(rate), own_(own) {}
    void take(packet_in_hand p) override;

  private:
    void answer_solicitation(packet_in_hand p, const mac_address* link);
    void take_advertisement(packet_in_hand p, const mac_address* link);

    message_rate& rate_;
    own_groups& own_;
};

/// Ask who has an address on an interface; `known` alone where it is not null. False: not yet, because
/// all of our own addresses there are tentative.
bool solicit(tools& t, const own_groups& own, uint16_t interface, const ip_address& a,
             const mac_address* known);
/// RFC 5227 section 2.3 and RFC 4861 section 7.2.6: others may have stale knowledge of us. IPv6
/// addresses override nobody yet: they are tentative (own_groups.hpp).
void announce(tools& t, uint16_t interface);

}  // namespace turnpike::control::slow_path
