// SPDX-License-Identifier: BSD-3-Clause
// A packet's flow hash: several next hops share traffic by it, so that a flow's packets take one
// path (RFC 2992, RFC 6438 for IPv6's flow label).
//
//   fields             hashed of an unfragmented packet           of a fragment
//   addresses          source, destination                        the same
//   flow               also protocol, ports; IPv6 flow label,     source, destination (and the flow
//                      if not 0, instead of these two             label)
//   inner              `flow` of the inner packet of a tunnel: IP in IP (RFC 2003, 2473, 4213), GRE
//                      (RFC 2784, 2890), VXLAN (RFC 7348) on the given UDP ports; otherwise of the
//                      packet itself
//
// All fragments of a datagram take one path, including the first, although only that one has ports.
//
// An ICMP error is hashed as the flow that answers the packet it quotes: it reaches the host, or the one of several
// hosts with an anycast address, that sent that packet. Linux hashes both directions of a flow alike instead.
#pragma once

#include <array>
#include <cstdint>

#include "packet/headers.hpp"

namespace turnpike::packet {

enum class flow_fields : uint8_t { addresses, flow, inner };

inline constexpr size_t max_vxlan_ports = 4;

struct flow_hashing {
    flow_fields fields = flow_fields::flow;
    /// Differs per router: consecutive routers with the same hash would leave paths unused.
    uint64_t seed = 0;
    /// UDP ports of VXLAN, for `inner`; unused entries repeat the first.
    std::array<uint16_t, max_vxlan_ports> vxlan_ports{vxlan_port, vxlan_port, vxlan_port,
                                                      vxlan_port};
};

/// l3        the first byte of an IPv4 or IPv6 header that parse() found complete; extension
///           headers are parsed within its first max_header_bytes
/// readable  bytes that may be read from there on; fields after them count as absent
/// Returns   32 bits of equal quality
/// Threads   any. Errors none.
[[nodiscard]] uint32_t flow_hash(const uint8_t* l3, uint32_t readable,
                                 const flow_hashing& how) noexcept;

}  // namespace turnpike::packet
