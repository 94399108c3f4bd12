// SPDX-License-Identifier: BSD-3-Clause
// Header rewrites of forwarding: TTL or hop limit, and Ethernet addresses.
#pragma once

#include "packet/checksum.hpp"
#include "packet/drop_reason.hpp"
#include "packet/headers.hpp"

namespace turnpike::packet {

/// RFC 1812 section 5.3.1: decrement the TTL and update the header checksum (RFC 1624, equation 3).
/// A packet with TTL 0 or 1 is not changed: returns ipv4_ttl.
[[nodiscard]] inline drop_reason decrement_ttl(ipv4_header& header) noexcept {
    if (header.ttl <= 1) [[unlikely]]
        return drop_reason::ipv4_ttl;
    const auto before = static_cast<uint16_t>(header.ttl << 8 | header.protocol);
    --header.ttl;
    header.checksum =
        update_checksum(header.checksum, before, static_cast<uint16_t>(before - 0x100));
    return drop_reason::none;
}

/// RFC 8200 section 3. A packet with hop limit 0 or 1 is not changed: returns ipv6_hop_limit.
[[nodiscard]] inline drop_reason decrement_hop_limit(ipv6_header& header) noexcept {
    if (header.hop_limit <= 1) [[unlikely]]
        return drop_reason::ipv6_hop_limit;
    --header.hop_limit;
    return drop_reason::none;
}

inline void write_ethernet(ethernet_header& header, const mac_address& destination,
                           const mac_address& source, uint16_t type) noexcept {
    header.destination = destination;
    header.source = source;
    header.type = type;
}

}  // namespace turnpike::packet
