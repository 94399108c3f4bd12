// SPDX-License-Identifier: BSD-3-Clause
#include "lib/packet_bytes.hpp"

#include "base/byte_order.hpp"
#include "packet/checksum.hpp"

namespace turnpike::test {

byte_vector operator+(byte_vector a, const byte_vector& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

byte_vector be(uint16_t v) { return {static_cast<uint8_t>(v >> 8), static_cast<uint8_t>(v)}; }

byte_vector be(uint32_t v) {
    return be(static_cast<uint16_t>(v >> 16)) + be(static_cast<uint16_t>(v));
}

byte_vector counted(size_t n) {
    byte_vector out(n);
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(i + 1);
    return out;
}

byte_vector ethernet(uint16_t type, const byte_vector& rest, const byte_vector& destination,
                     const byte_vector& source) {
    return destination + source + be(type) + rest;
}

byte_vector tag(uint16_t tci, uint16_t type, const byte_vector& rest) {
    return be(tci) + be(type) + rest;
}

byte_vector tagged(const byte_vector& frame, uint16_t tci, uint16_t type) {
    return byte_vector(frame.begin(), frame.begin() + 12) + be(type) + be(tci) +
           byte_vector(frame.begin() + 12, frame.end());
}

byte_vector ipv4(const ipv4_fields& f, const byte_vector& payload) {
    const size_t header_bytes = 20 + f.options.size();
    const auto ihl = f.ihl.value_or(static_cast<uint8_t>(header_bytes / 4));
    byte_vector out{static_cast<uint8_t>(f.version << 4 | ihl), 0};
    out = out + be(f.total_bytes.value_or(static_cast<uint16_t>(header_bytes + payload.size())));
    out = out + be(f.id) + be(f.fragment) + byte_vector{f.ttl, f.protocol} + be(uint16_t{0});
    out = out + be(f.source) + be(f.destination) + f.options;
    store_be(&out[10], f.checksum.value_or(packet::checksum(out)));
    return out + payload;
}

byte_vector ipv6(const ipv6_fields& f, const byte_vector& payload) {
    return byte_vector{static_cast<uint8_t>(f.version << 4), 0, 0, 0} +
           be(f.payload_bytes.value_or(static_cast<uint16_t>(payload.size()))) +
           byte_vector{f.next_header, f.hop_limit} + f.source + f.destination + payload;
}

byte_vector extension(uint8_t next_header, uint8_t units, const byte_vector& rest) {
    return byte_vector{next_header, units} + zeros(6 + size_t{units} * 8) + rest;
}

byte_vector routing(uint8_t next_header, uint8_t type, uint8_t segments_left,
                    const byte_vector& rest) {
    return byte_vector{next_header, 2, type, segments_left} + zeros(20) + rest;
}

byte_vector fragment(uint8_t next_header, uint16_t offset_more, const byte_vector& rest) {
    return byte_vector{next_header, 0} + be(offset_more) + be(uint32_t{0xabcd0001}) + rest;
}

byte_vector udp(const byte_vector& payload) {
    return be(uint16_t{1111}) + be(uint16_t{2222}) + be(static_cast<uint16_t>(8 + payload.size())) +
           be(uint16_t{0}) + payload;
}

byte_vector tcp(uint8_t flags, const byte_vector& payload) {
    return be(uint16_t{3333}) + be(uint16_t{80}) + be(uint32_t{1}) + be(uint32_t{2}) +
           byte_vector{0x50, flags} + be(uint16_t{1000}) + zeros(4) + payload;
}

byte_vector icmp4(uint8_t type, uint8_t code, const byte_vector& rest) {
    byte_vector out = byte_vector{type, code, 0, 0} + rest;
    store_be(&out[2], packet::checksum(out));
    return out;
}

byte_vector icmp6(uint8_t type, uint8_t code, const byte_vector& rest, const byte_vector& source,
                  const byte_vector& destination) {
    byte_vector out = byte_vector{type, code, 0, 0} + rest;
    const byte_vector pseudo =
        source + destination + be(static_cast<uint32_t>(out.size())) + be(uint32_t{58});
    store_be(&out[2], packet::checksum(pseudo + out));
    return out;
}

byte_vector arp(const arp_fields& f) {
    return be(f.hardware_type) + be(f.protocol_type) +
           byte_vector{f.hardware_bytes, f.protocol_bytes} + be(f.operation) + f.sender_mac +
           be(f.sender_ip) + f.target_mac + be(f.target_ip);
}

}  // namespace turnpike::test
