// SPDX-License-Identifier: BSD-3-Clause
// Source address selection for originated messages. Never a duplicate address (dad.hpp).
#pragma once

#include <optional>

#include "control/slow_path/dad.hpp"

namespace turnpike::control::slow_path {

/// Source of a neighbour solicitation: our address in the target's network if there is one (a
/// subset of RFC 6724), else link-local. Never a tentative address (RFC 4429 section 3.2); if there
/// is no other, no solicitation is sent yet.
[[nodiscard]] std::optional<ipv6_address> v6_asker(const slow_path_context& t, const dad& own,
                                                   uint16_t interface, const ip_address& target);
/// Source of an ARP request. If the interface has no address, another one of its VRF (v4_answerer),
/// as in Linux (inet_select_addr()): 0 would be a probe (RFC 5227 section 1.1), and a host that is
/// probing the same address would give it up (section 2.1.1). 0 if the VRF has none.
[[nodiscard]] uint32_t v4_asker(const slow_path_context& t, uint16_t interface,
                                const ip_address& target);

/// Source of a reply or ICMP error. RFC 4443 section 2.2: our unicast address that the packet was
/// sent to, else one of the interface that the answer leaves by, else of its ingress interface, else any other that the
/// peer can reach; without any the link-local address of the interface that it leaves by, as in Linux.
[[nodiscard]] std::optional<ipv6_address> v6_answerer(const slow_path_context& t, const dad& own,
                                                      const owned_mbuf& p);
/// An address of the interface; if it has none, any other of its VRF.
[[nodiscard]] std::optional<uint32_t> v4_answerer(const slow_path_context& t, uint16_t interface);
/// Source of an ICMP error about a packet. RFC 1812 section 4.3.2.4: an address of the interface that the error leaves by;
/// if that has none, of the packet's ingress interface, or any other. Without any 192.0.0.8 (RFC 7600 section 4.8), as in
/// Linux: routers between links without addresses report, too.
[[nodiscard]] uint32_t v4_error_source(const slow_path_context& t, uint16_t in,
                                       const ip_address& to);

}  // namespace turnpike::control::slow_path
