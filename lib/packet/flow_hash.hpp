// SPDX-License-Identifier: BSD-3-Clause
// Which flow a packet is of: a number by which several next hops share traffic, so that a flow's packets go
// one way (RFC 2992, RFC 6438 for IPv6's flow label).
//
//   what a flow is     of a packet that is no fragment            of a fragment
//   addresses          source, destination                        the same
//   flow               and protocol, ports; of IPv6 with a flow   source, destination (and the flow label)
//                      label, that in place of these two
//   inner              `flow` of the packet in a tunnel: IP in IP (RFC 2003, 2473, 4213), GRE (RFC 2784,
//                      2890), VXLAN (RFC 7348) of the UDP ports that are named; of another packet, its own
//
// All fragments of a datagram go one way, the first too, although only that one has ports.
#pragma once

#include <array>
#include <cstdint>

#include "packet/headers.hpp"

namespace turnpike::packet {

enum class flow_fields : uint8_t { addresses, flow, inner };

inline constexpr size_t most_vxlan_ports = 4;

struct flow_hashing {
    flow_fields fields = flow_fields::flow;
    /// Of this box: routers one behind the other that divide traffic alike would leave ways unused.
    uint64_t seed = 0;
    /// UDP's, whose packets are VXLAN's to `inner`; unused ones are like the first.
    std::array<uint16_t, most_vxlan_ports> vxlan_ports{vxlan_port, vxlan_port, vxlan_port,
                                                       vxlan_port};
};

/// l3        the first byte of an IPv4 or IPv6 header that parse() found whole; extension headers are walked
///           within its first max_header_bytes
/// readable  bytes from there on that may be read; what would be behind them counts as not there
/// Answers   32 bits, each as good as the others
/// Threads   any. Errors none.
[[nodiscard]] uint32_t flow_hash(const uint8_t* l3, uint32_t readable,
                                 const flow_hashing& how) noexcept;

}  // namespace turnpike::packet
