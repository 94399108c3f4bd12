// SPDX-License-Identifier: BSD-3-Clause
// Which of our addresses a message of ours leaves from. None that somebody else has (own_groups.hpp).
#pragma once

#include <optional>

#include "control/slow_path/own_groups.hpp"

namespace turnpike::control::slow_path {

/// Who asks for a neighbour: the address on the target's own network if there is one (RFC 6724 in
/// small), else link-local. None that is still tentative (RFC 4429 section 3.2), and where there is no
/// other nobody asks yet.
[[nodiscard]] std::optional<ipv6_address> v6_asker(const tools& t, const own_groups& own,
                                                   uint16_t interface, const ip_address& target);
/// The same of ARP. Where the interface has none, another one of its VRF (v4_answerer), as Linux's (inet_select_addr()):
/// 0 is a probe (RFC 5227 section 1.1), for which a host that is probing that address gives it up (section 2.1.1).
/// 0 where the VRF has none.
[[nodiscard]] uint32_t v4_asker(const tools& t, uint16_t interface, const ip_address& target);

/// Who answers a packet, or tells of it. RFC 4443 section 2.2: the unicast address of ours that it was
/// sent to, else one of the interface that it came in by, else any other that its sender can answer to:
/// never a link-local one to a sender that is not on the link.
[[nodiscard]] std::optional<ipv6_address> v6_answerer(const tools& t, const own_groups& own,
                                                      const packet_in_hand& p);
/// RFC 1812 section 4.3.2.4: of the interface that the error goes out by, which is the one that the
/// packet came in by; where that has none, any other.
[[nodiscard]] std::optional<uint32_t> v4_answerer(const tools& t, uint16_t interface);

}  // namespace turnpike::control::slow_path
