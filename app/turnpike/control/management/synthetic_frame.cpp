// SPDX-License-Identifier: BSD-3-Clause
#include "control/management/synthetic_frame.hpp"

#include <algorithm>

#include "packet/checksum.hpp"
#include "packet/group_mac.hpp"

namespace turnpike::control {
namespace {

template <class Header>
Header& grow(frame_bytes& frame) {
    frame.resize(frame.size() + sizeof(Header));
    return packet::header_at<Header>(frame.data() + frame.size() - sizeof(Header));
}

/// Destination MAC address: of the interface, or of its bridge's routing interface.
mac_address router_of(const datapath::snapshot& v, uint16_t port, uint16_t vlan) {
    const datapath::port_snapshot& p = v.port[port];
    const uint16_t ifindex = vlan != 0 && p.by_vlan != nullptr ? p.by_vlan[vlan] : p.untagged;
    const datapath::interface& in = v.interfaces[ifindex];
    if (in.kind != datapath::interface_kind::bridged) return ifindex != 0 ? in.mac : p.mac;
    const uint16_t domain = v.bridges->members[ifindex].domain_of(vlan != 0, vlan);
    const uint16_t routing = v.bridges->domains[domain].routing;
    return routing != 0 ? v.interfaces[routing].mac : p.mac;
}

mac_address mac_of(const request_fields& f, std::string_view field, const mac_address& otherwise) {
    return f.has(field) ? parsed(parse_mac(f.text(field)), field) : otherwise;
}

uint8_t protocol_of(const request_fields& f, bool v6) {
    if (!f.has("protocol")) return packet::protocol_udp;
    const std::string name = f.text("protocol");
    if (name == "udp") return packet::protocol_udp;
    if (name == "tcp") return packet::protocol_tcp;
    if (name == "icmp") return v6 ? packet::protocol_icmpv6 : packet::protocol_icmp;
    throw error{EINVAL, "protocol", "should be udp, tcp or icmp"};
}

/// TCP SYN, UDP, or ICMP echo request.
void add_transport(frame_bytes& frame, uint8_t protocol, const request_fields& f) {
    const auto from = static_cast<uint16_t>(f.number_or("source_port", 1024, 0, UINT16_MAX));
    const auto to = static_cast<uint16_t>(f.number_or("destination_port", 1024, 0, UINT16_MAX));
    if (protocol == packet::protocol_tcp) {
        auto& tcp = grow<packet::tcp_header>(frame);
        tcp.source_port = from;
        tcp.destination_port = to;
        tcp.data_offset = sizeof tcp / 4 << 4;
        tcp.flags = 2;
    } else if (protocol == packet::protocol_udp) {
        auto& udp = grow<packet::udp_header>(frame);
        udp.source_port = from;
        udp.destination_port = to;
    } else {
        auto& echo = grow<packet::icmp_header>(frame);
        echo.type = protocol == packet::protocol_icmp ? uint8_t{packet::icmp4_echo}
                                                      : uint8_t{packet::icmp6_echo};
    }
}

/// With the pseudo-header, except for ICMP over IPv4 (RFC 8200 section 8.1, RFC 9293 section 3.1).
void sum_transport(frame_bytes& frame, size_t ip, size_t transport, uint8_t protocol,
                   const ip_address& from, const ip_address& to) {
    const std::span<uint8_t> all(frame.data() + transport, frame.size() - transport);
    uint32_t sum = packet::sum_bytes(all);
    if (protocol != packet::protocol_icmp) {
        const size_t width = from.v6 ? 16 : 4;
        sum = packet::sum_bytes({from.bytes.data(), width}, sum);
        sum = packet::sum_bytes({to.bytes.data(), width}, sum);
        sum += protocol + static_cast<uint32_t>(all.size());
    }
    const size_t field = protocol == packet::protocol_tcp ? offsetof(packet::tcp_header, checksum)
                         : protocol == packet::protocol_udp
                             ? offsetof(packet::udp_header, checksum)
                             : offsetof(packet::icmp_header, checksum);
    const auto value = static_cast<uint16_t>(~packet::fold(sum));
    store_be(&all[field], value == 0 ? uint16_t{0xffff} : value);
    if (!from.v6)
        packet::header_at<packet::ipv4_header>(&frame[ip]).checksum =
            packet::checksum({&frame[ip], sizeof(packet::ipv4_header)});
}

}  // namespace

frame_bytes from_hex(const std::string& text) {
    const auto digit = [](char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; };
    frame_bytes out;
    if (text.empty() || text.size() % 2 != 0 ||
        text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
        throw error{EINVAL, "frame",
                    "should be a frame's bytes from the destination MAC address on, two "
                    "hexadecimal digits each"};
    for (size_t i = 0; i < text.size(); i += 2)
        out.push_back(static_cast<uint8_t>(digit(text[i]) << 4 | digit(text[i + 1])));
    return out;
}

frame_bytes frame_of(const datapath::snapshot& v, uint16_t port, uint16_t vlan,
                     const request_fields& f) {
    constexpr uint64_t least = 60;  // IEEE 802.3 section 3.2.8, without FCS
    const ip_address from = parsed(parse_address(f.text("from")), "from"),
                     to = parsed(parse_address(f.text("to")), "to");
    if (from.v6 != to.v6) throw error{EINVAL, "to", "is of another family than from"};
    const uint8_t protocol = protocol_of(f, to.v6);
    const auto ttl = static_cast<uint8_t>(f.number_or("ttl", 64, 0, UINT8_MAX));
    frame_bytes frame;
    auto& ethernet = grow<packet::ethernet_header>(frame);
    ethernet.destination =
        mac_of(f, "destination_mac",
               to.is_multicast() ? packet::multicast_mac(to) : router_of(v, port, vlan));
    ethernet.source = mac_of(f, "source_mac", {{2, 0, 0, 0, 0, 1}});
    const uint16_t type = to.v6 ? packet::ether_type_ipv6 : packet::ether_type_ipv4;
    ethernet.type = vlan != 0 ? uint16_t{packet::ether_type_vlan} : type;
    if (vlan != 0) {
        auto& tag = grow<packet::vlan_tag>(frame);
        tag.tci = vlan;
        tag.type = type;
    }
    const size_t ip = frame.size();
    frame.resize(ip + (to.v6 ? sizeof(packet::ipv6_header) : sizeof(packet::ipv4_header)));
    const size_t transport = frame.size();
    add_transport(frame, protocol, f);
    const uint64_t wanted =
        f.number_or("bytes", std::max<uint64_t>(least, frame.size()), frame.size(), UINT16_MAX);
    frame.resize(wanted);
    const auto l3_bytes = static_cast<uint16_t>(frame.size() - ip);
    if (protocol == packet::protocol_udp)
        packet::header_at<packet::udp_header>(&frame[transport]).bytes =
            static_cast<uint16_t>(frame.size() - transport);
    if (to.v6) {
        auto& h = packet::header_at<packet::ipv6_header>(&frame[ip]);
        h.version_class_flow = 0x6000'0000;
        h.payload_bytes = static_cast<uint16_t>(l3_bytes - sizeof h);
        h.next_header = protocol;
        h.hop_limit = ttl;
        h.source = from.v6_bytes();
        h.destination = to.v6_bytes();
    } else {
        auto& h = packet::header_at<packet::ipv4_header>(&frame[ip]);
        h.version_ihl = 0x45;
        h.total_bytes = l3_bytes;
        h.ttl = ttl;
        h.protocol = protocol;
        h.source = from.v4();
        h.destination = to.v4();
    }
    sum_transport(frame, ip, transport, protocol, from, to);
    return frame;
}

}  // namespace turnpike::control
