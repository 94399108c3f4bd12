// SPDX-License-Identifier: BSD-3-Clause
// A bridge with two ports, and tunnels over a third one; packets as they are in tunnels.
#pragma once

#include "bridge_lab.hpp"
#include "packet/ecn.hpp"
#include "packet/headers.hpp"

namespace turnpike::test {

/// A bridge with a tunnel has an egress from the start: messages of routing interfaces leave before
/// a test counts.
class tunnel_lab : public bridge_lab {
  public:
    explicit tunnel_lab(const std::string& configuration) : bridge_lab(configuration) {
        baseline_ = 0;
    }
};

inline constexpr uint32_t us4 = 0x0a000901, two4 = 0x0a000902, three4 = 0x0a000903;
inline const byte_vector up_mac{2, 0, 0, 0, 0, 0x0d}, two_mac{2, 0, 0, 0, 9, 2},
    three_mac{2, 0, 0, 0, 9, 3};
inline const byte_vector us6{0x20, 1, 0xd, 0xb8, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    two6{0x20, 1, 0xd, 0xb8, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
inline constexpr uint32_t vni = 100;

/// Two ports, an underlay by the third, and its neighbours.
inline std::string underlay(const std::string& more_of_up = "") {
    return ports(2) +
           "  - {name: up, device: d2, mtu: 1600, addresses: [10.0.9.1/24, \"2001:db8:9::1/64\"]" +
           more_of_up +
           "}\nneighbours:\n  static:\n"
           "    - {address: 10.0.9.2, mac: \"02:00:00:00:09:02\"}\n"
           "    - {address: 10.0.9.3, mac: \"02:00:00:00:09:03\"}\n"
           "    - {address: \"2001:db8:9::2\", mac: \"02:00:00:00:09:02\"}\n";
}
inline std::string one_tunnel(const std::string& name, const std::string& remote,
                              const std::string& more = "") {
    const bool v6 = remote.find(':') != std::string::npos;
    return "  - {name: " + name + ", vni: 100, local: \"" + (v6 ? "2001:db8:9::1" : "10.0.9.1") +
           "\", remote: \"" + remote + "\", mtu: 1500" + more + "}\n";
}
inline const std::string two_tunnels = underlay() + "tunnels:\n" + one_tunnel("t2", "10.0.9.2") +
                                       one_tunnel("t3", "10.0.9.3") +
                                       bridge("{port: p0}, {port: p1}, {port: t2}, {port: t3}");

struct outer_fields {
    uint32_t source = two4, destination = us4;
    uint32_t flags = 0x0800'0000, network = vni << 8;
    uint16_t port = 50000, sum = 0;
    uint8_t ttl = 64, tos = 0;
    uint16_t id = 0, fragment = 0x4000;
    byte_vector options{};
    uint16_t to_port = packet::vxlan_port;
};

inline byte_vector vxlan(const byte_vector& inner, const outer_fields& f = {}) {
    const auto bytes = static_cast<uint16_t>(16 + inner.size());
    return be(f.port) + be(f.to_port) + be(bytes) + be(f.sum) + be(f.flags) + be(f.network) + inner;
}
/// To our MAC address, unless given otherwise. ipv4() has no TOS parameter: the byte and the
/// checksum are set here.
inline byte_vector in_ipv4(const byte_vector& udp_packet, const outer_fields& f = {},
                           const byte_vector& to = up_mac, const byte_vector& from = two_mac) {
    byte_vector out = ethernet(type4,
                               ipv4({.id = f.id,
                                     .fragment = f.fragment,
                                     .ttl = f.ttl,
                                     .source = f.source,
                                     .destination = f.destination,
                                     .options = f.options},
                                    udp_packet),
                               to, from);
    packet::set_ecn(out.data() + 14, true, f.tos);
    return out;
}
inline byte_vector in_ipv6(const byte_vector& udp_packet, const byte_vector& to = up_mac,
                           const byte_vector& from = two_mac, const byte_vector& source = two6,
                           const byte_vector& destination = us6) {
    return ethernet(0x86dd, ipv6({.source = source, .destination = destination}, udp_packet), to,
                    from);
}
/// Its checksum as it is to be.
inline byte_vector summed(byte_vector udp_packet, const byte_vector& source,
                          const byte_vector& destination) {
    uint32_t sum = packet::sum_bytes(source);
    sum = packet::sum_bytes(destination, sum);
    sum += 17 + static_cast<uint32_t>(udp_packet.size());
    const auto field = static_cast<uint16_t>(~packet::fold(packet::sum_bytes(udp_packet, sum)));
    udp_packet[6] = static_cast<uint8_t>(field >> 8);
    udp_packet[7] = static_cast<uint8_t>(field);
    return udp_packet;
}
inline uint16_t source_port_of(const byte_vector& f) { return load_be<uint16_t>(&f.at(34)); }

/// A frame encapsulated for an endpoint; its source port is copied from the sent packet.
inline byte_vector sent_to(const byte_vector& inner, uint32_t remote, const byte_vector& mac,
                           const byte_vector& sent, outer_fields f = {}) {
    f.source = us4;
    f.destination = remote;
    f.port = source_port_of(sent);
    EXPECT_GE(f.port, 49152);
    return in_ipv4(vxlan(inner, f), f, mac, up_mac);
}

}  // namespace turnpike::test
