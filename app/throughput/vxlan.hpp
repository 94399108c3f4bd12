// SPDX-License-Identifier: BSD-3-Clause
// The frames of a port in a VXLAN tunnel to the device: the port is a VTEP (RFC 7348), the frames inside are the traffic's.
//
//   | Ethernet 14 | IPv4 20 or IPv6 40 | UDP 8 | VXLAN 8 | the traffic's frame |
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "net/ip.hpp"
#include "net/mac.hpp"
#include "packet/headers.hpp"

namespace turnpike::throughput {

struct vxlan_tunnel {
    uint32_t vni = 0;
    ip_address local{}, remote{};            ///< of the port and of the device, of one family
    std::optional<mac_address> inner_mac{};  ///< of the device in the VNI; else the other port's
};

/// Bytes of the outer headers: 50 or 70.
[[nodiscard]] inline uint32_t vxlan_bytes(const vxlan_tunnel& t) noexcept {
    const size_t l3 = t.local.v6 ? sizeof(packet::ipv6_header) : sizeof(packet::ipv4_header);
    return static_cast<uint32_t>(packet::ethernet_bytes + l3 + sizeof(packet::udp_header) +
                                 sizeof(packet::vxlan_header));
}

/// Write the outer headers before a frame. The UDP checksum is zero (RFC 7348 section 5, RFC 6935).
///
/// at    vxlan_bytes(t) bytes
/// flow  gives the UDP source port, from 49152 (RFC 7348 section 5)
void write_vxlan(uint8_t* at, const vxlan_tunnel& t, uint32_t inner_bytes, uint32_t flow,
                 const mac_address& source, const mac_address& destination) noexcept;

/// The frame inside a frame of this tunnel, which came from the device; empty: another frame.
[[nodiscard]] std::span<const uint8_t> inner_frame(const vxlan_tunnel& t,
                                                   std::span<const uint8_t> frame) noexcept;

}  // namespace turnpike::throughput
