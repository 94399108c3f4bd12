// SPDX-License-Identifier: BSD-3-Clause
// A packet's flow hash: several next hops share traffic by it, so that a flow's packets take one
// path (RFC 2992, RFC 6438 for IPv6's flow label).
//
//   fields             hashed of an unfragmented packet           of a fragment
//   addresses          source, destination                        the same
//   flow               also protocol, ports; IPv6 flow label,     source, destination (and the flow
//                      if not 0, instead of these two             label)
//   inner              `flow` of the inner packet of a tunnel: IP in IP (RFC 2003, 2473, 4213), GRE
//                      (RFC 2784, 2890), VXLAN (RFC 7348) on the given UDP ports; otherwise of the
//                      packet itself
//
// All fragments of a datagram take one path, including the first, although only that one has ports.
//
// An ICMP error is hashed as the flow that answers the packet it quotes: it reaches the host, or the one of several
// hosts with an anycast address, that sent that packet. Linux hashes both directions of a flow alike instead.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "packet/headers.hpp"

namespace turnpike::packet {

enum class flow_fields : uint8_t { addresses, flow, inner };

inline constexpr size_t max_vxlan_ports = 4;

struct flow_hashing {
    flow_fields fields = flow_fields::flow;
    /// Differs per router: consecutive routers with the same hash would leave paths unused.
    uint64_t seed = 0;
    /// UDP ports of VXLAN, for `inner`; unused entries repeat the first.
    std::array<uint16_t, max_vxlan_ports> vxlan_ports{vxlan_port, vxlan_port, vxlan_port,
                                                      vxlan_port};
};

/// l3        the first byte of an IPv4 or IPv6 header that parse() found complete; extension
///           headers are parsed within its first max_header_bytes
/// readable  bytes that may be read from there on; fields after them count as absent
/// Returns   32 bits of equal quality
/// Threads   any. Errors none.
[[nodiscard]] uint32_t flow_hash(const uint8_t* l3, uint32_t readable,
                                 const flow_hashing& how) noexcept;

/// Whether a packet has the usual form: IPv4 without options and not a fragment, TCP or UDP, hashed by `flow`.
/// l3, readable  as of flow_hash(); at least 20 bytes are readable, of whatever content
[[nodiscard]] inline bool has_usual_flow(const uint8_t* l3, uint32_t readable,
                                         const flow_hashing& how) noexcept {
    const auto& ip = header_at<ipv4_header>(l3);
    return how.fields == flow_fields::flow && ip.version_ihl == 0x45 &&
           readable >= sizeof ip + sizeof(uint32_t) &&
           (ip.fragment & (ipv4_more_fragments | ipv4_fragment_offset)) == 0 &&
           (ip.protocol == protocol_tcp || ip.protocol == protocol_udp);
}

namespace flow_hash_detail {
/// XOR of both halves of the product: each bit of the result depends on all bits of both factors.
inline uint64_t blend(uint64_t a, uint64_t b) noexcept {
    __extension__ using wide = unsigned __int128;
    const wide product = wide{a} * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}
// Digits of pi.
inline constexpr uint64_t key1 = 0x243f6a8885a308d3, key2 = 0x13198a2e03707344,
                          key3 = 0xa4093822299f31d0;

/// addresses  source and destination
inline uint32_t hash_ipv4(uint64_t addresses, uint64_t between, uint64_t seed) noexcept {
    const uint64_t hash = blend(addresses ^ seed ^ key1, between ^ key2);
    return static_cast<uint32_t>(blend(hash ^ key3, key2) >> 32);
}
}  // namespace flow_hash_detail

/// flow_hash() of a packet for which has_usual_flow().
[[nodiscard]] inline uint32_t usual_flow_hash(const uint8_t* l3, const flow_hashing& how) noexcept {
    static_assert(offsetof(ipv4_header, destination) == offsetof(ipv4_header, source) + 4);
    const uint64_t protocol = header_at<ipv4_header>(l3).protocol;
    const uint64_t ports = load_be<uint32_t>(l3 + sizeof(ipv4_header));
    return flow_hash_detail::hash_ipv4(load_be<uint64_t>(l3 + offsetof(ipv4_header, source)),
                                       protocol << 32 | ports, how.seed);
}

}  // namespace turnpike::packet
