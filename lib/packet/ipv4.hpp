// SPDX-License-Identifier: BSD-3-Clause
// IPv4 addresses that must not be forwarded. Addresses are in host order; the functions test an
// address alone, without routes or local addresses: test for local delivery first.
#pragma once

#include <cstdint>

#include "net/mac.hpp"
#include "packet/drop_reason.hpp"

namespace turnpike::packet {

inline constexpr uint32_t ipv4_limited_broadcast = 0xffff'ffff;

constexpr bool is_ipv4_multicast(uint32_t address) noexcept { return address >> 28 == 0xe; }

/// 224.0.0.0/24: link-local multicast, never forwarded (RFC 5771 section 4); routing protocols use
/// it.
constexpr bool is_ipv4_local_group(uint32_t address) noexcept { return address >> 8 == 0xe0'00'00; }

/// RFC 1112 section 6.4: the MAC address of a multicast group.
constexpr mac_address multicast_mac(uint32_t group) noexcept {
    return {{0x01, 0x00, 0x5e, static_cast<uint8_t>(group >> 16 & 0x7f),
             static_cast<uint8_t>(group >> 8), static_cast<uint8_t>(group)}};
}

/// Addresses that no host may have: network 0 and network 127 (RFC 1812 section 4.2.2.11), multicast (RFC 1112 section 4),
/// 240/4, which is reserved and includes the limited broadcast (RFC 1812 section 5.3.7).
constexpr bool is_ipv4_no_host(uint32_t address) noexcept {
    const uint32_t network = address >> 24;
    return network == 0 || network == 127 || network >= 224;
}

/// 169.254/16: hosts on a link, perhaps this router (RFC 3927).
constexpr bool is_ipv4_link_local(uint32_t address) noexcept { return address >> 16 == 0xa9fe; }

/// Addresses that must not be forwarded: of no host, multicast (not routed here), link-local (RFC 3927 section 7: "MUST
/// NOT forward").
constexpr bool is_ipv4_martian(uint32_t address) noexcept {
    return is_ipv4_no_host(address) || is_ipv4_link_local(address);
}

/// RFC 1812 section 5.3.7, martian address filtering: rejects by address alone. A packet with equal
/// source and destination is forged: only the receiver itself could have sent it.
constexpr drop_reason check_ipv4_addresses(uint32_t source, uint32_t destination) noexcept {
    if (is_ipv4_martian(source)) [[unlikely]]
        return drop_reason::ipv4_source;
    if (is_ipv4_martian(destination)) [[unlikely]]
        return drop_reason::ipv4_destination;
    if (source == destination) [[unlikely]]
        return drop_reason::ipv4_source_is_destination;
    return drop_reason::none;
}

}  // namespace turnpike::packet
