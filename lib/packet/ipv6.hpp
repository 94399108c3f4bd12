// SPDX-License-Identifier: BSD-3-Clause
// IPv6 addresses: their types (RFC 4291), addresses that must not be forwarded, and addresses
// derived from a MAC address or from another address.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/byte_order.hpp"
#include "packet/drop_reason.hpp"
#include "packet/headers.hpp"

namespace turnpike::packet {

inline constexpr ipv6_address ipv6_unspecified{};
inline constexpr ipv6_address ipv6_all_nodes{{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};

/// RFC 4291 section 2.7.
constexpr bool is_multicast(const ipv6_address& a) noexcept { return a.bytes[0] == 0xff; }

/// RFC 4291 section 2.7: link-local scope, well known or transient.
constexpr bool is_link_local_group(const ipv6_address& a) noexcept {
    return is_multicast(a) && (a.bytes[1] & 0x0f) == 2;
}

/// RFC 4291 section 2.5.6: fe80::/10.
constexpr bool is_link_local(const ipv6_address& a) noexcept {
    return a.bytes[0] == 0xfe && (a.bytes[1] & 0xc0) == 0x80;
}

/// Addresses that must not be forwarded: multicast (not routed here), link-local (RFC 4291 section
/// 2.5.6: "Routers must not forward"), and in ::/64 the unspecified address (2.5.2), loopback
/// (2.5.3) and IPv4-mapped addresses (2.5.5.2; RFC 6890: not forwardable).
inline bool is_ipv6_martian(const ipv6_address& a) noexcept {
    if (a.bytes[0] >= 0xfe) return is_multicast(a) || is_link_local(a);
    if (a.bytes[0] != 0 || load_be<uint64_t>(a.bytes) != 0) [[likely]]
        return false;
    const auto low = load_be<uint64_t>(a.bytes + 8);
    return low <= 1 || low >> 32 == 0xffff;
}

/// RFC 4291 section 2.7.1: ff02::1:ff and the address's last three bytes.
constexpr ipv6_address solicited_node(const ipv6_address& a) noexcept {
    return {{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, a.bytes[13], a.bytes[14], a.bytes[15]}};
}

/// RFC 2464 section 7: the MAC address of a multicast group.
constexpr mac_address multicast_mac(const ipv6_address& a) noexcept {
    return {{0x33, 0x33, a.bytes[12], a.bytes[13], a.bytes[14], a.bytes[15]}};
}

/// RFC 2464 sections 4 and 5: the link-local address of an interface, by modified EUI-64.
constexpr ipv6_address link_local(const mac_address& mac) noexcept {
    const uint8_t* m = mac.bytes;
    return {{0xfe, 0x80, 0, 0, 0, 0, 0, 0, static_cast<uint8_t>(m[0] ^ 2), m[1], m[2], 0xff, 0xfe,
             m[3], m[4], m[5]}};
}

}  // namespace turnpike::packet
