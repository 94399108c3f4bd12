// SPDX-License-Identifier: BSD-3-Clause
// Frames for tests, header by header: ethernet(0x0800, ipv4({.ttl = 1}, udp(counted(20)))).
// Inner parts come first as arguments; outer lengths and checksums are computed from them. An
// explicit field stays as given.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

namespace turnpike::test {

using byte_vector = std::vector<uint8_t>;

byte_vector operator+(byte_vector a, const byte_vector& b);

byte_vector be(uint16_t v);
byte_vector be(uint32_t v);
inline byte_vector zeros(size_t n) { return byte_vector(n); }

/// n bytes, each with its offset as value.
byte_vector counted(size_t n);

inline const byte_vector mac_a{0x02, 0, 0, 0, 0, 0x0a};
inline const byte_vector mac_b{0x02, 0, 0, 0, 0, 0x0b};

byte_vector ethernet(uint16_t type, const byte_vector& rest, const byte_vector& destination = mac_b,
                     const byte_vector& source = mac_a);

/// A VLAN tag, inside ethernet(0x8100 or 0x88a8, ...) and followed by the payload of EtherType
/// `type`.
byte_vector tag(uint16_t tci, uint16_t type, const byte_vector& rest);

/// The frame with one more tag in front of its EtherType.
byte_vector tagged(const byte_vector& frame, uint16_t tci, uint16_t type = 0x8100);

struct ipv4_fields {
    uint8_t version = 4;
    std::optional<uint8_t> ihl{};
    std::optional<uint16_t> total_bytes{};
    uint16_t id = 0x1234;
    uint16_t fragment = 0;
    uint8_t ttl = 64;
    uint8_t protocol = 17;
    std::optional<uint16_t> checksum{};
    uint32_t source = 0x0a000101;
    uint32_t destination = 0x0a000202;
    byte_vector options{};
};

byte_vector ipv4(const ipv4_fields& f, const byte_vector& payload);

inline const byte_vector v6_a{0x20, 1, 0x0d, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
inline const byte_vector v6_b{0x20, 1, 0x0d, 0xb8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};

struct ipv6_fields {
    uint8_t version = 6;
    std::optional<uint16_t> payload_bytes{};
    uint8_t next_header = 17;
    uint8_t hop_limit = 64;
    byte_vector source = v6_a;
    byte_vector destination = v6_b;
};

byte_vector ipv6(const ipv6_fields& f, const byte_vector& payload);

/// An IPv6 extension header of 8 * (units + 1) bytes: hop-by-hop, destination options, mobility...
byte_vector extension(uint8_t next_header, uint8_t units, const byte_vector& rest);

/// A hop-by-hop header with Router Alert for MLD (RFC 2711), and padding; ICMPv6 follows.
inline const byte_vector mld_router_alert{58, 0, 5, 2, 0, 0, 1, 0};

byte_vector routing(uint8_t next_header, uint8_t type, uint8_t segments_left,
                    const byte_vector& rest);

/// offset_more: the offset in bytes, with M in bit 0.
byte_vector fragment(uint8_t next_header, uint16_t offset_more, const byte_vector& rest);

byte_vector udp(const byte_vector& payload);

byte_vector tcp(uint8_t flags, const byte_vector& payload);

/// rest: everything behind the checksum.
byte_vector icmp4(uint8_t type, uint8_t code, const byte_vector& rest);

/// The checksum includes the pseudo-header of these addresses (RFC 8200 section 8.1).
byte_vector icmp6(uint8_t type, uint8_t code, const byte_vector& rest,
                  const byte_vector& source = v6_a, const byte_vector& destination = v6_b);

struct arp_fields {
    uint16_t hardware_type = 1;
    uint16_t protocol_type = 0x0800;
    uint8_t hardware_bytes = 6;
    uint8_t protocol_bytes = 4;
    uint16_t operation = 1;
    byte_vector sender_mac = mac_a;
    uint32_t sender_ip = 0x0a000101;
    byte_vector target_mac = zeros(6);
    uint32_t target_ip = 0x0a0001fe;
};

byte_vector arp(const arp_fields& f);

}  // namespace turnpike::test
