// SPDX-License-Identifier: BSD-3-Clause
// Rules, and the keys that they match.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>

#include "acl/layout.hpp"
#include "base/byte_order.hpp"
#include "base/result.hpp"

namespace turnpike::acl {

enum class family : uint8_t { ipv4, ipv6 };
constexpr unsigned words_of(family f) { return f == family::ipv4 ? ipv4_words : ipv6_words; }

/// A key in memory: big-endian, no padding. For ICMP the source port holds the type and the
/// destination port the code. Fields that no rule of the table uses need not be filled.
struct key4 {
    std::array<uint8_t, 4> source, destination;
    be16 source_port, destination_port;
    uint8_t protocol, dscp;
    be16 tcp_flags;  ///< bytes 12-13 of the TCP header: data offset and flags
    be16 vlan;
    uint16_t unused;
};
struct key6 {
    std::array<uint8_t, 16> source, destination;
    be16 source_port, destination_port;
    uint8_t protocol, dscp;
    be16 tcp_flags;
    be16 vlan;
    uint16_t unused;
};
static_assert(sizeof(key4) == 4 * ipv4_words && sizeof(key6) == 4 * ipv6_words);

/// An address and a bit mask; IPv4 in the first four bytes.
struct address_match {
    std::array<uint8_t, 16> value{}, mask{};
    bool operator==(const address_match&) const = default;
};
/// length  0 to 32 or 128
address_match prefix(std::span<const uint8_t> address, unsigned length);

struct port_range {
    uint16_t first = 0, last = 65535;
    bool operator==(const port_range&) const = default;
};

template <class T>
struct masked {
    T value = 0, mask = 0;
    bool operator==(const masked&) const = default;
};

/// A packet matches if every field does; an unset field matches everything.
struct rule {
    address_match source, destination;
    port_range source_port, destination_port;
    masked<uint8_t> protocol, dscp;
    masked<uint16_t> tcp_flags, vlan;
    std::optional<uint8_t> icmp_type, icmp_code;  ///< with protocol 1 or 58 and without ports
    uint32_t priority = 1;    ///< the highest wins; among equals any. 1 to max_priority
    uint32_t categories = 1;  ///< bit c: the rule is in category c
    uint32_t user_data = 1;   ///< the result; not 0
    bool operator==(const rule&) const = default;
};
constexpr uint32_t max_priority = (1u << 31) - 1;

/// A rule in ternary words, as trees and leaves need it. Words: ipv4_words or ipv6_words.
template <unsigned Words>
struct packed_rule {
    static constexpr unsigned ports_word = Words - ports_from_end;
    std::array<uint32_t, Words> value, mask;  ///< ports: the bits that all ports of the range share
    uint32_t ports_low,
        ports_more;  ///< source << 16 | destination: lowest, and size of the range less 1
    uint32_t priority, categories, user_data;
    bool operator==(const packed_rule&) const = default;
};

/// Threads any. Errors EINVAL: describes the mistake
template <unsigned Words>
[[nodiscard]] result<packed_rule<Words>> pack(const rule& r);

/// The common leading bits of two ports.
constexpr uint16_t shared_bits(uint16_t first, uint16_t last) {
    const auto differ = static_cast<uint16_t>(first ^ last);
    return static_cast<uint16_t>(~(0xffffu >> std::countl_zero(differ)));
}

template <unsigned Words>
void set_ports(packed_rule<Words>& p, port_range source, port_range destination) noexcept {
    constexpr unsigned w = packed_rule<Words>::ports_word;
    p.ports_low = uint32_t{source.first} << 16 | destination.first;
    p.ports_more = static_cast<uint32_t>(source.last - source.first) << 16 |
                   static_cast<uint32_t>(destination.last - destination.first);
    p.mask[w] = uint32_t{shared_bits(source.first, source.last)} << 16 |
                shared_bits(destination.first, destination.last);
    p.value[w] = p.ports_low & p.mask[w];
    constexpr unsigned classes = Words - vlan_from_end;
    const uint32_t lowest = port_classes(p.ports_low);
    const uint32_t known = ~(lowest ^ port_classes(p.ports_low + p.ports_more)) & ~vlan_bits;
    p.mask[classes] = (p.mask[classes] & vlan_bits) | (known & (source_class | destination_class));
    p.value[classes] = (p.value[classes] & vlan_bits) | (lowest & p.mask[classes]);
}

/// Convert a key to the kernels' format, with port classes.
template <size_t Words>
std::array<uint32_t, Words> with_classes(std::array<uint32_t, Words> key) noexcept {
    uint32_t& last = key[Words - vlan_from_end];
    last = (last & vlan_bits) | port_classes(key[Words - ports_from_end]);
    return key;
}

/// True if a key (words in host order, with_classes) matches.
template <unsigned Words>
bool matches(const packed_rule<Words>& r, const std::array<uint32_t, Words>& key) noexcept {
    for (unsigned w = 0; w < Words; ++w)
        if (((key[w] ^ r.value[w]) & r.mask[w]) != 0) return false;
    const uint32_t ports = key[packed_rule<Words>::ports_word];
    return static_cast<uint16_t>((ports >> 16) - (r.ports_low >> 16)) <= r.ports_more >> 16 &&
           static_cast<uint16_t>(ports - r.ports_low) <= (r.ports_more & 0xffff);
}

}  // namespace turnpike::acl
