// SPDX-License-Identifier: BSD-3-Clause
#include "frames.hpp"

namespace turnpike::test {
namespace {

using enum packet::drop_reason;
using fixtures = std::vector<frame_fixture>;

constexpr uint16_t type4 = 0x0800, type6 = 0x86dd, type_arp = 0x0806, type_vlan = 0x8100;
const byte_vector datagram = udp(counted(20));

byte_vector eth4(const ipv4_fields& f, const byte_vector& payload = datagram) {
    return ethernet(type4, ipv4(f, payload));
}

byte_vector eth6(const ipv6_fields& f, const byte_vector& payload = datagram) {
    return ethernet(type6, ipv6(f, payload));
}

void ethernet_frames(fixtures& out) {
    for (size_t n = 0; n < 14; ++n)
        out.push_back({"runt of " + std::to_string(n), runt, counted(n)});
    out.push_back({"header only, no type we know", ether_type_unknown, ethernet(0x1234, {})});
    out.push_back({"header only, IPv4", ipv4_truncated, ethernet(type4, {})});
    out.push_back({"IEEE 802.3 length", ether_type_unknown, ethernet(46, counted(46))});
    out.push_back({"from a group", ether_source_group,
                   ethernet(type4, ipv4({}, datagram), mac_b, {0x33, 0x33, 0, 0, 0, 1})});
    out.push_back(
        {"to broadcast", none, ethernet(type4, ipv4({}, datagram), byte_vector(6, 0xff))});
    out.push_back({"jumbo, 9000 bytes", none, eth4({}, udp(counted(9000 - 28)))});
    out.push_back({"64 KB", none, eth4({}, udp(counted(65535 - 28)))});
    out.push_back({"64 KB and padding", none, eth6({}, udp(counted(65535 - 8))) + zeros(100)});
}

void vlan_frames(fixtures& out) {
    for (unsigned tags = 1; tags <= 10; ++tags) {
        byte_vector rest = tag(100, type4, ipv4({}, datagram));
        for (unsigned i = 1; i < tags; ++i) rest = tag(static_cast<uint16_t>(i), type_vlan, rest);
        out.push_back({std::to_string(tags) + " tags", tags <= 2 ? none : vlan_depth,
                       ethernet(type_vlan, rest)});
    }
    const byte_vector inside = ipv6({}, datagram);
    out.push_back({"priority tag", none, ethernet(type_vlan, tag(0xe000, type6, inside))});
    out.push_back(
        {"identifier 4095", vlan_id_reserved, ethernet(type_vlan, tag(0x0fff, type6, inside))});
    out.push_back({"service and customer tag", none,
                   ethernet(0x88a8, tag(7, type_vlan, tag(8, type6, inside)))});
    out.push_back({"inner identifier 4095", vlan_id_reserved,
                   ethernet(0x88a8, tag(7, type_vlan, tag(0xffff, type6, inside)))});
    for (size_t n = 0; n < 4; ++n)
        out.push_back(
            {"tag cut to " + std::to_string(n), vlan_truncated, ethernet(type_vlan, zeros(n))});
    out.push_back(
        {"second tag cut", vlan_truncated, ethernet(type_vlan, tag(5, type_vlan, zeros(3)))});
    out.push_back({"tagged ARP", none, ethernet(type_vlan, tag(5, type_arp, arp({})))});
}

void ipv4_frames(fixtures& out) {
    out.push_back({"IPv4 UDP", none, eth4({})});
    out.push_back({"IPv4 TCP", none, eth4({.protocol = 6}, tcp(0x12, counted(5)))});
    out.push_back({"IPv4 SCTP", none, eth4({.protocol = 132}, counted(30))});
    out.push_back({"IPv4 echo", none, eth4({.protocol = 1}, icmp4(8, 0, counted(12)))});
    out.push_back({"IPv4 ESP", none, eth4({.protocol = 50}, counted(30))});
    out.push_back({"IPv4 protocol 0", none, eth4({.protocol = 0})});
    out.push_back({"IPv4 no payload", none, eth4({.protocol = 17}, {})});
    out.push_back({"IPv4 UDP header cut short", none, eth4({.protocol = 17}, counted(7))});
    out.push_back({"IPv4 TCP header cut short", none, eth4({.protocol = 6}, counted(19))});
    out.push_back({"IPv4 options", none, eth4({.options = counted(8)})});
    out.push_back(
        {"IPv4 all options", none, eth4({.protocol = 6, .options = zeros(40)}, tcp(2, {}))});
    for (const uint8_t version : std::initializer_list<uint8_t>{0, 5, 6, 15})
        out.push_back(
            {"version " + std::to_string(version), ipv4_version, eth4({.version = version})});
    for (uint8_t ihl = 0; ihl < 5; ++ihl)
        out.push_back({"IHL " + std::to_string(ihl), ipv4_header_length, eth4({.ihl = ihl})});
    out.push_back({"IHL past the total length", ipv4_total_length, eth4({.ihl = 15})});
    out.push_back(
        {"IHL past the packet", ipv4_truncated, eth4({.ihl = 15, .total_bytes = 60}, zeros(20))});
    for (const uint16_t total : std::initializer_list<uint16_t>{0, 1, 19})
        out.push_back({"total length " + std::to_string(total), ipv4_total_length,
                       eth4({.total_bytes = total})});
    out.push_back({"total length under IHL", ipv4_total_length,
                   eth4({.total_bytes = 20, .options = zeros(4)})});
    out.push_back({"total length past the frame", ipv4_truncated, eth4({.total_bytes = 49})});
    out.push_back({"total length 65535", ipv4_truncated, eth4({.total_bytes = 65535})});
    out.push_back({"bad checksum, seen elsewhere", none, eth4({.checksum = uint16_t{0xbeef}})});
    out.push_back({"TTL 0, seen elsewhere", none, eth4({.ttl = 0})});
    for (size_t n : {1, 18, 1500})
        out.push_back({"padding of " + std::to_string(n), none, eth4({}) + zeros(n)});
    out.push_back({"padding hides the UDP header", none, eth4({}, counted(4)) + zeros(20)});
    out.push_back({"do not fragment", none, eth4({.fragment = 0x4000})});
    out.push_back({"first fragment", none, eth4({.fragment = 0x2000})});
    out.push_back(
        {"tiny first fragment", none, eth4({.fragment = 0x2000, .protocol = 6}, counted(8))});
    out.push_back({"later fragment", none, eth4({.fragment = 0x2005})});
    out.push_back({"last fragment", none, eth4({.fragment = 0x0005})});
    // 8120 * 8 = 64,960; with 20 of header and 555 of data 65,535 (RFC 791 section 3.1).
    out.push_back({"fragment to byte 65535", none, eth4({.fragment = 0x1fb8}, counted(555))});
    out.push_back({"fragment to byte 65536", ipv4_fragment_beyond_end,
                   eth4({.fragment = 0x1fb8}, counted(556))});
    out.push_back(
        {"fragment to byte 65535, more to come", none, eth4({.fragment = 0x3fb8}, counted(555))});
    out.push_back({"fragment with options to byte 65535", none,
                   eth4({.fragment = 0x1fb8, .options = zeros(4)}, counted(551))});
    out.push_back({"fragment with options to byte 65536", ipv4_fragment_beyond_end,
                   eth4({.fragment = 0x1fb8, .options = zeros(4)}, counted(552))});
    out.push_back(
        {"fragment at the last offset", ipv4_fragment_beyond_end, eth4({.fragment = 0x1fff})});
}

void ipv6_frames(fixtures& out) {
    out.push_back({"IPv6 UDP", none, eth6({})});
    out.push_back({"IPv6 TCP", none, eth6({.next_header = 6}, tcp(0x18, counted(3)))});
    out.push_back({"IPv6 echo", none, eth6({.next_header = 58}, icmp6(128, 0, counted(12)))});
    out.push_back(
        {"IPv6 carrying ICMP for IPv4", none, eth6({.next_header = 1}, icmp4(8, 0, counted(8)))});
    for (const uint8_t type : std::initializer_list<uint8_t>{135, 136}) {
        const byte_vector options = byte_vector{1, 1} + mac_a + byte_vector{2, 1} + mac_a;
        out.push_back({"neighbour discovery " + std::to_string(type), none,
                       eth6({.next_header = 58, .hop_limit = 255},
                            icmp6(type, 0, zeros(4) + v6_b + options))});
    }
    out.push_back({"IPv6 nothing", none, eth6({.next_header = 59}, {})});
    out.push_back({"IPv6 payload length 0", none, eth6({.next_header = 17}, {})});
    out.push_back({"IPv6 padding", none, eth6({}) + zeros(1500)});
    for (const uint8_t version : std::initializer_list<uint8_t>{0, 4, 7})
        out.push_back(
            {"version " + std::to_string(version), ipv6_version, eth6({.version = version})});
    out.push_back(
        {"payload length past the frame", ipv6_truncated, eth6({.payload_bytes = uint16_t{29}})});
    out.push_back(
        {"jumbogram", ipv6_jumbogram,
         eth6({.payload_bytes = uint16_t{0}, .next_header = 0}, extension(17, 0, datagram))});
    out.push_back(
        {"ESP ends the chain", none, eth6({.next_header = 60}, extension(50, 0, counted(20)))});
}

void chain_frames(fixtures& out) {
    const byte_vector upper = tcp(2, {});
    out.push_back({"hop-by-hop", none, eth6({.next_header = 0}, extension(6, 1, upper))});
    out.push_back({"hop-by-hop not first", ipv6_hop_by_hop_late,
                   eth6({.next_header = 60}, extension(0, 0, extension(6, 0, upper)))});
    out.push_back({"hop-by-hop twice", ipv6_hop_by_hop_late,
                   eth6({.next_header = 0}, extension(0, 0, extension(6, 0, upper)))});
    out.push_back({"routing type 0", ipv6_routing_type_0,
                   eth6({.next_header = 43}, routing(6, 0, 1, upper))});
    out.push_back(
        {"routing type 0, used up", none, eth6({.next_header = 43}, routing(6, 0, 0, upper))});
    out.push_back({"routing type 4", none, eth6({.next_header = 43}, routing(6, 4, 1, upper))});
    out.push_back(
        {"authentication", none, eth6({.next_header = 51}, byte_vector{6, 4} + zeros(22) + upper)});
    out.push_back({"atomic fragment", none, eth6({.next_header = 44}, fragment(6, 0, upper))});
    out.push_back({"first fragment", none, eth6({.next_header = 44}, fragment(6, 1, upper))});
    out.push_back(
        {"tiny first fragment", none, eth6({.next_header = 44}, fragment(6, 1, counted(8)))});
    out.push_back(
        {"later fragment", none, eth6({.next_header = 44}, fragment(60, 0x11, counted(16)))});
    out.push_back(
        {"fragment past 65535", none, eth6({.next_header = 44}, fragment(6, 0xfff8, upper))});
    out.push_back({"two fragment headers", ipv6_fragment_twice,
                   eth6({.next_header = 44}, fragment(44, 1, fragment(6, 1, upper)))});
    out.push_back(
        {"every kind", none,
         eth6({.next_header = 0},
              extension(
                  60, 0,
                  extension(43, 0, routing(44, 2, 1, fragment(60, 0, extension(6, 0, upper))))))});
    // Hosts take these as the upper layer, and look for none behind them.
    for (const uint8_t upper_layer : std::initializer_list<uint8_t>{135, 139, 140})
        out.push_back(
            {"header " + std::to_string(upper_layer) + " ends the chain", none,
             eth6({.next_header = 60}, extension(upper_layer, 0, extension(6, 0, upper)))});
    byte_vector chain = upper;
    for (int headers = 1; headers <= 45; ++headers) {
        chain = extension(headers == 1 ? 6 : 60, 0, chain);
        const bool fits = 14 + 40 + 8 * headers + 20 <= 256;
        out.push_back({std::to_string(headers) + " chained headers", fits ? none : ipv6_chain_long,
                       eth6({.next_header = 60}, chain)});
    }
    out.push_back(
        {"one long header", ipv6_chain_long, eth6({.next_header = 60}, extension(6, 40, upper))});
    out.push_back(
        {"one long header before ESP", none, eth6({.next_header = 60}, extension(50, 40, upper))});
    // The payload ends at each byte of two extension headers and a TCP header.
    const byte_vector whole = extension(43, 1, routing(6, 4, 1, upper));
    for (size_t n = 1; n < whole.size(); ++n)
        out.push_back({"chain cut to " + std::to_string(n),
                       n < 16 + 24 ? ipv6_chain_truncated : none,
                       eth6({.next_header = 60}, byte_vector(whole.begin(), whole.begin() + n))});
}

void arp_frames(fixtures& out) {
    out.push_back({"ARP request", none, ethernet(type_arp, arp({}), byte_vector(6, 0xff))});
    out.push_back(
        {"ARP reply, padded", none, ethernet(type_arp, arp({.operation = 2}) + zeros(18))});
    out.push_back({"ARP cut", arp_truncated, ethernet(type_arp, counted(27))});
}

}  // namespace

std::vector<frame_fixture> frame_fixtures() {
    fixtures out;
    ethernet_frames(out);
    vlan_frames(out);
    ipv4_frames(out);
    ipv6_frames(out);
    chain_frames(out);
    arp_frames(out);
    return out;
}

}  // namespace turnpike::test
