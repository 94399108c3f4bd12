// SPDX-License-Identifier: BSD-3-Clause
#include "packet/flow_hash.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "packet/headers.hpp"
#include "packet/parse.hpp"

namespace turnpike::packet {
namespace {

using namespace flow_hash_detail;

constexpr uint8_t protocol_ipv4 = 4, protocol_ipv6 = 41, protocol_gre = 47;
constexpr uint16_t gre_ethernet = 0x6558;  // transparent Ethernet bridging
constexpr uint32_t udp_bytes = 8, vxlan_bytes = 8;

/// A range of packet bytes.
struct bytes {
    const uint8_t* at;
    uint32_t left;

    [[nodiscard]] bytes from(uint32_t offset) const noexcept {
        return offset <= left ? bytes{at + offset, left - offset} : bytes{at, 0};
    }
    [[nodiscard]] uint16_t be16_at(uint32_t offset) const noexcept {
        return load_be<uint16_t>(at + offset);
    }
};

/// The packet above its addresses.
struct upper {
    uint8_t protocol = 0;
    bool fragment = false;
    uint32_t label = 0;  ///< IPv6
    bytes header{};      ///< empty: not readable
};

upper upper_of_ipv4(bytes l3) noexcept {
    const auto& ip = header_at<ipv4_header>(l3.at);
    return {.protocol = ip.protocol,
            .fragment = (ip.fragment & (ipv4_more_fragments | ipv4_fragment_offset)) != 0,
            .header = l3.from(ip.header_bytes())};
}

upper upper_of_ipv6(bytes l3) noexcept {
    const auto& ip = header_at<ipv6_header>(l3.at);
    upper out{.protocol = ip.next_header,
              .label = ip.version_class_flow & 0xf'ffffU,
              .header = l3.from(sizeof(ipv6_header))};
    // Frames from a bridge into a tunnel and inner packets were not parsed by a stage: apply
    // parse()'s bound on extension headers here too. Flows beyond it differ only by their
    // addresses.
    const auto beyond = [&](bytes header) {
        return header.left < sizeof(ipv6_extension) ||
               static_cast<size_t>(header.at - l3.at) + sizeof(ipv6_extension) > max_header_bytes;
    };
    while (is_ipv6_extension(out.protocol)) {
        if (beyond(out.header)) return out.header.left = 0, out;
        const auto& next = header_at<ipv6_extension>(out.header.at);
        uint32_t length = (next.length_units + 1U) * 8;
        if (out.protocol == protocol_fragment) {
            const uint16_t offset_more = header_at<ipv6_fragment>(out.header.at).offset_more;
            out.fragment |= (offset_more & (ipv6_fragment_offset | ipv6_more_fragments)) != 0;
            length = sizeof(ipv6_fragment);
        } else if (out.protocol == protocol_authentication) {
            length = (next.length_units + 2U) * 4;
        }
        out.protocol = next.next_header;
        out.header = out.header.from(length);
    }
    return out;
}

bool is_ipv6(bytes l3) noexcept { return *l3.at >> 4 == 6; }

/// `l3` if it is a readable IP header of that version.
std::optional<bytes> as_ip(bytes l3, bool v6) noexcept {
    if (l3.left < (v6 ? sizeof(ipv6_header) : sizeof(ipv4_header))) return std::nullopt;
    if (is_ipv6(l3) != v6) return std::nullopt;
    if (!v6 && (*l3.at >> 4 != 4 || (*l3.at & 15) < 5)) return std::nullopt;
    return l3;
}

std::optional<bytes> as_type(bytes l3, uint16_t ether_type) noexcept {
    if (ether_type == ether_type_ipv4) return as_ip(l3, false);
    if (ether_type == ether_type_ipv6) return as_ip(l3, true);
    return std::nullopt;
}

std::optional<bytes> in_frame(bytes frame) noexcept {
    if (frame.left < sizeof(ethernet_header)) return std::nullopt;
    uint16_t type = frame.be16_at(offsetof(ethernet_header, type));
    frame = frame.from(sizeof(ethernet_header));
    for (int tags = 0; tags < 2 && is_vlan_type(type); ++tags) {
        if (frame.left < sizeof(vlan_tag)) return std::nullopt;
        type = frame.be16_at(offsetof(vlan_tag, type));
        frame = frame.from(sizeof(vlan_tag));
    }
    return as_type(frame, type);
}

std::optional<bytes> in_gre(bytes gre) noexcept {
    constexpr uint16_t checksum = 0x8000, key = 0x2000, sequence = 0x1000, version = 0x0007;
    if (gre.left < 4) return std::nullopt;
    const uint16_t flags = gre.be16_at(0), type = gre.be16_at(2);
    if ((flags & version) != 0) return std::nullopt;
    uint32_t length = 4;
    for (const uint16_t optional : {checksum, key, sequence})
        if ((flags & optional) != 0) length += 4;
    const bytes payload = gre.from(length);
    return type == gre_ethernet ? in_frame(payload) : as_type(payload, type);
}

/// The inner IP packet of a tunnel.
std::optional<bytes> inner_of(const upper& u, const flow_hashing& how) noexcept {
    if (u.fragment) return std::nullopt;
    switch (u.protocol) {
        case protocol_ipv4:
            return as_ip(u.header, false);
        case protocol_ipv6:
            return as_ip(u.header, true);
        case protocol_gre:
            return in_gre(u.header);
        case protocol_udp:
            if (u.header.left < udp_bytes ||
                std::ranges::find(how.vxlan_ports, u.header.be16_at(2)) == how.vxlan_ports.end())
                return std::nullopt;
            return in_frame(u.header.from(udp_bytes + vxlan_bytes));
        default:
            return std::nullopt;
    }
}

/// As Linux's icmp_is_err() and icmpv6_is_err().
bool is_icmp_error(uint8_t type, bool v6) noexcept {
    if (v6) return type >= 1 && type <= 4;
    return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

/// The packet that an ICMP error quotes.
std::optional<bytes> quoted_by(const upper& u, bool v6) noexcept {
    constexpr uint32_t icmp_bytes = 8;
    if (u.protocol != (v6 ? protocol_icmpv6 : protocol_icmp) || u.fragment ||
        u.header.left < icmp_bytes || !is_icmp_error(*u.header.at, v6))
        return std::nullopt;
    return as_ip(u.header.from(icmp_bytes), v6);
}

bool has_ports(uint8_t protocol) noexcept {
    return protocol == protocol_tcp || protocol == protocol_udp || protocol == protocol_sctp ||
           protocol == protocol_udp_lite;
}

/// Hash input that distinguishes flows between the same two addresses.
/// reversed  of the opposite direction, whose flow label is unknown
uint64_t between_two(const upper& u, flow_fields fields, bool reversed) noexcept {
    if (fields == flow_fields::addresses) return 0;
    if (u.label != 0 && !reversed) return uint64_t{1} << 63 | u.label;
    if (u.fragment) return 0;
    uint32_t ports = 0;
    if (has_ports(u.protocol) && u.header.left >= 4) ports = load_be<uint32_t>(u.header.at);
    if (reversed) ports = std::rotl(ports, 16);
    return uint64_t{u.protocol} << 32 | ports;
}

/// Source and destination address.
uint64_t addresses_of_ipv4(const uint8_t* l3) noexcept {
    static_assert(offsetof(ipv4_header, destination) == offsetof(ipv4_header, source) + 4);
    return load_be<uint64_t>(l3 + offsetof(ipv4_header, source));
}

/// Hash any packet.
__attribute__((noinline)) uint32_t hash_of(const uint8_t* l3, uint32_t readable,
                                           const flow_hashing& how) noexcept {
    bytes ip{l3, readable};
    bool v6 = is_ipv6(ip);
    upper u = v6 ? upper_of_ipv6(ip) : upper_of_ipv4(ip);
    const auto go_on_with = [&](bytes other) {
        ip = other;
        v6 = is_ipv6(ip);
        u = v6 ? upper_of_ipv6(ip) : upper_of_ipv4(ip);
    };
    // An error travels to the source of the packet that it quotes, like the packets that answer it.
    bool reversed = false;
    const auto follow_quoted = [&] {
        const auto quoted = quoted_by(u, v6);
        if (!quoted) return;
        reversed = true;
        go_on_with(*quoted);
    };
    follow_quoted();
    if (how.fields == flow_fields::inner)
        if (const auto inner = inner_of(u, how)) {
            go_on_with(*inner);
            if (!reversed) follow_quoted();
        }
    const uint64_t between = between_two(u, how.fields, reversed);
    if (!v6)
        return hash_ipv4(std::rotl(addresses_of_ipv4(ip.at), reversed ? 32 : 0), between, how.seed);
    uint64_t hash = how.seed;
    const auto mix = [&](uint64_t a, uint64_t b) { hash = blend(a ^ hash ^ key1, b ^ key2); };
    const auto word = [&](size_t offset) { return load_be<uint64_t>(ip.at + offset); };
    size_t first = offsetof(ipv6_header, source), second = offsetof(ipv6_header, destination);
    if (reversed) std::swap(first, second);
    mix(word(first), word(first + 8));
    mix(word(second), word(second + 8));
    mix(between, key3);
    hash = blend(hash ^ key3, key2);
    return static_cast<uint32_t>(hash >> 32);
}

}  // namespace

uint32_t flow_hash(const uint8_t* l3, uint32_t readable, const flow_hashing& how) noexcept {
    return has_usual_flow(l3, readable, how) ? usual_flow_hash(l3, how)
                                             : hash_of(l3, readable, how);
}

}  // namespace turnpike::packet
