// SPDX-License-Identifier: BSD-3-Clause
// Frames for tests, header by header: ethernet(0x0800, ipv4({.ttl = 1}, udp(counted(20)))).
// Inner parts come first as arguments, so that outer lengths and checksums follow from them; a
// field set by hand stays as it was set.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "base/byte_order.hpp"
#include "packet/checksum.hpp"

namespace turnpike::test {

using byte_vector = std::vector<uint8_t>;

inline byte_vector operator+(byte_vector a, const byte_vector& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

inline byte_vector be(uint16_t v) {
    return {static_cast<uint8_t>(v >> 8), static_cast<uint8_t>(v)};
}
inline byte_vector be(uint32_t v) {
    return be(static_cast<uint16_t>(v >> 16)) + be(static_cast<uint16_t>(v));
}
inline byte_vector zeros(size_t n) { return byte_vector(n); }

/// n bytes that tell where they stand.
inline byte_vector counted(size_t n) {
    byte_vector out(n);
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(i + 1);
    return out;
}

inline const byte_vector mac_a{0x02, 0, 0, 0, 0, 0x0a};
inline const byte_vector mac_b{0x02, 0, 0, 0, 0, 0x0b};

inline byte_vector ethernet(uint16_t type, const byte_vector& rest,
                            const byte_vector& destination = mac_b,
                            const byte_vector& source = mac_a) {
    return destination + source + be(type) + rest;
}

/// Goes between ethernet(0x8100 or 0x88a8, ...) and what has `type`.
inline byte_vector tag(uint16_t tci, uint16_t type, const byte_vector& rest) {
    return be(tci) + be(type) + rest;
}

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

inline byte_vector ipv4(const ipv4_fields& f, const byte_vector& payload) {
    const size_t header_bytes = 20 + f.options.size();
    const auto ihl = f.ihl.value_or(static_cast<uint8_t>(header_bytes / 4));
    byte_vector out{static_cast<uint8_t>(f.version << 4 | ihl), 0};
    out = out + be(f.total_bytes.value_or(static_cast<uint16_t>(header_bytes + payload.size())));
    out = out + be(f.id) + be(f.fragment) + byte_vector{f.ttl, f.protocol} + be(uint16_t{0});
    out = out + be(f.source) + be(f.destination) + f.options;
    store_be(&out[10], f.checksum.value_or(packet::checksum(out)));
    return out + payload;
}

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

inline byte_vector ipv6(const ipv6_fields& f, const byte_vector& payload) {
    return byte_vector{static_cast<uint8_t>(f.version << 4), 0, 0, 0} +
           be(f.payload_bytes.value_or(static_cast<uint16_t>(payload.size()))) +
           byte_vector{f.next_header, f.hop_limit} + f.source + f.destination + payload;
}

/// An IPv6 extension header of 8 * (units + 1) bytes: hop-by-hop, destination options, mobility...
inline byte_vector extension(uint8_t next_header, uint8_t units, const byte_vector& rest) {
    return byte_vector{next_header, units} + zeros(6 + size_t{units} * 8) + rest;
}

inline byte_vector routing(uint8_t next_header, uint8_t type, uint8_t segments_left,
                           const byte_vector& rest) {
    return byte_vector{next_header, 2, type, segments_left} + zeros(20) + rest;
}

/// offset_more: the offset in bytes, bit 0 more.
inline byte_vector fragment(uint8_t next_header, uint16_t offset_more, const byte_vector& rest) {
    return byte_vector{next_header, 0} + be(offset_more) + be(uint32_t{0xabcd0001}) + rest;
}

inline byte_vector udp(const byte_vector& payload) {
    return be(uint16_t{1111}) + be(uint16_t{2222}) + be(static_cast<uint16_t>(8 + payload.size())) +
           be(uint16_t{0}) + payload;
}

inline byte_vector tcp(uint8_t flags, const byte_vector& payload) {
    return be(uint16_t{3333}) + be(uint16_t{80}) + be(uint32_t{1}) + be(uint32_t{2}) +
           byte_vector{0x50, flags} + be(uint16_t{1000}) + zeros(4) + payload;
}

/// rest: everything after the checksum.
inline byte_vector icmp4(uint8_t type, uint8_t code, const byte_vector& rest) {
    byte_vector out = byte_vector{type, code, 0, 0} + rest;
    store_be(&out[2], packet::checksum(out));
    return out;
}

/// Its checksum counts the pseudo-header of these addresses (RFC 8200 section 8.1).
inline byte_vector icmp6(uint8_t type, uint8_t code, const byte_vector& rest,
                         const byte_vector& source = v6_a, const byte_vector& destination = v6_b) {
    byte_vector out = byte_vector{type, code, 0, 0} + rest;
    const byte_vector pseudo =
        source + destination + be(static_cast<uint32_t>(out.size())) + be(uint32_t{58});
    store_be(&out[2], packet::checksum(pseudo + out));
    return out;
}

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

inline byte_vector arp(const arp_fields& f) {
    return be(f.hardware_type) + be(f.protocol_type) +
           byte_vector{f.hardware_bytes, f.protocol_bytes} + be(f.operation) + f.sender_mac +
           be(f.sender_ip) + f.target_mac + be(f.target_ip);
}

}  // namespace turnpike::test
