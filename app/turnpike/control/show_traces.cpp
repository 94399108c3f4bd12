// SPDX-License-Identifier: BSD-3-Clause
// Trace requests and their display; and the synthetic frame of `explain`.
#include <fmt/format.h>
#include <rte_cycles.h>
#include <nlohmann/json.hpp>

#include <optional>

#include "control/show.hpp"
#include "control/traces.hpp"
#include "packet/checksum.hpp"
#include "packet/group_mac.hpp"

namespace turnpike::control {
namespace {

using datapath::packet_trace, datapath::trace_step, datapath::stage;
using nlohmann::json;

constexpr uint64_t max_traced = 1000;

std::string hex(std::span<const uint8_t> bytes) {
    std::string out;
    for (const uint8_t b : bytes) out += fmt::format("{:02x}", b);
    return out;
}

/// Index of a port.
uint16_t port_of(controller& c, const request_fields& f) {
    const std::string name = f.text("port");
    for (const auto& p : c.ports().open())
        if (p->name == name) return p->port_index;
    throw error{ENOENT, "port", "names '" + name.substr(0, 80) + "', which is not a port"};
}
std::string name_of_port(controller& c, uint16_t port_index) {
    for (const auto& p : c.ports().open())
        if (p->port_index == port_index) return p->name;
    return {};  // the port was removed
}

/// The headers of a frame, and its first bytes.
json lead_json(const packet_trace::lead& lead) {
    const auto bytes = lead.span();
    json out = {{"bytes", lead.frame_bytes}, {"lead", hex(bytes)}};
    if (bytes.size() < packet::ethernet_bytes) return out;
    const auto& ethernet = packet::header_at<packet::ethernet_header>(bytes.data());
    out["destination_mac"] = ethernet.destination.text();
    out["source_mac"] = ethernet.source.text();
    out["ethertype"] = fmt::format("0x{:04x}", uint16_t{ethernet.type});
    const auto ip = datapath::ip_ends_of(bytes);
    if (!ip) return out;
    out["source"] = ip->source.text();
    out["destination"] = ip->destination.text();
    out["protocol"] = ip->protocol;
    const bool has_ports =
        ip->protocol == packet::protocol_tcp || ip->protocol == packet::protocol_udp;
    if (!has_ports || ip->rest.size() < sizeof(packet::udp_header)) return out;
    out["source_port"] = load_be<uint16_t>(ip->rest.data());
    out["destination_port"] = load_be<uint16_t>(ip->rest.data() + sizeof(uint16_t));
    return out;
}

/// A step, with current names and next hops.
json step_json(controller& c, const trace_step& s) {
    json out = {{"stage", datapath::stage_table[static_cast<size_t>(s.ran)].name}};
    if (s.pass != 1) out["pass"] = s.pass;
    if (s.copy != 0) out["copy"] = s.copy;
    if (s.packets != 1) out["packets"] = s.packets;
    if (s.ran == stage::iface_input) out["interface"] = c.interfaces().name_of(s.in);
    if (s.ran == stage::bridge) {
        const auto [bridge, vlan] = c.bridges().name_of(s.domain);
        out["bridge"] = bridge;
        if (vlan != 0) out["vlan"] = vlan;
    }
    if (s.ran == stage::lookup) out["hop"] = hop_json(c, s.hop);
    if (s.out) out["by"] = c.interfaces().name_of(s.out->interface);
    if (s.drop != datapath::drop_reason::none) out["reason"] = datapath::name(s.drop);
    if (s.ran == stage::punt) out["why"] = name(s.punt);
    return out;
}

json trace_json(controller& c, const packet_trace& t) {
    json way = json::array();
    for (const trace_step& s : t.way()) way.push_back(step_json(c, s));
    return {{"port", name_of_port(c, t.port)},
            {"queue", t.queue},
            {"came", lead_json(t.came)},
            {"way", std::move(way)},
            {"cut", t.cut},
            {"left", t.left.frame_bytes == 0 ? json(nullptr) : lead_json(t.left)}};
}

// The synthetic frame of `explain`.

using bytes = std::vector<uint8_t>;

bytes from_hex(const std::string& text) {
    const auto digit = [](char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; };
    bytes out;
    if (text.empty() || text.size() % 2 != 0 ||
        text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
        throw error{EINVAL, "frame",
                    "should be a frame's bytes from the destination MAC address on, two "
                    "hexadecimal digits each"};
    for (size_t i = 0; i < text.size(); i += 2)
        out.push_back(static_cast<uint8_t>(digit(text[i]) << 4 | digit(text[i + 1])));
    return out;
}

template <class Header>
Header& grow(bytes& frame) {
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
void add_transport(bytes& frame, uint8_t protocol, const request_fields& f) {
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
void sum_transport(bytes& frame, size_t ip, size_t transport, uint8_t protocol,
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

/// An IP packet in an Ethernet frame of minimum length.
bytes frame_of(const datapath::snapshot& v, uint16_t port, const request_fields& f) {
    constexpr uint64_t least = 60;  // IEEE 802.3 section 3.2.8, without FCS
    const ip_address from = parsed(parse_address(f.text("from")), "from"),
                     to = parsed(parse_address(f.text("to")), "to");
    if (from.v6 != to.v6) throw error{EINVAL, "to", "is of another family than from"};
    const auto vlan = static_cast<uint16_t>(f.number_or("vlan", 0, 1, 4094));
    const uint8_t protocol = protocol_of(f, to.v6);
    const auto ttl = static_cast<uint8_t>(f.number_or("ttl", 64, 0, UINT8_MAX));
    bytes frame;
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

}  // namespace

json start_trace(controller& c, const request_fields& f) {
    f.expect("packets port address dropped");
    datapath::trace_wish wish;
    wish.packets = static_cast<uint32_t>(f.number_or("packets", 10, 0, max_traced));
    if (f.has("port")) wish.port = port_of(c, f);
    if (f.has("address")) wish.address = parsed(parse_address(f.text("address")), "address");
    wish.dropped = f.truth_or("dropped", false);
    c.tracing().begin(wish);
    return {{"packets", wish.packets}};
}

json show_trace(controller& c, const request_fields& f) {
    f.expect("from most");
    constexpr uint64_t page = 32;  // traces of one or two kilobytes each
    const auto all = c.tracing().written();
    const uint64_t from = f.number_or("from", 0, 0, max_traced),
                   most = f.number_or("most", page, 1, page);
    const uint64_t end = std::min<uint64_t>(all.size(), from + most);
    json list = json::array();
    for (uint64_t i = from; i < end; ++i) {
        json one = trace_json(c, *all[i].trace);
        one["lcore"] = all[i].lcore;
        one["age_s"] = static_cast<double>(rte_rdtsc() - all[i].trace->tsc) /
                       static_cast<double>(rte_get_tsc_hz());
        list.push_back(std::move(one));
    }
    return {{"wanted", c.tracing().wanted()},
            {"written", all.size()},
            {"traces", std::move(list)},
            {"next", end < all.size() ? json(end) : json(nullptr)}};
}

json explain_request(controller& c, const request_fields& f) {
    const bool whole = f.has("frame");
    f.expect(whole ? "port frame"
                   : "port from to protocol source_port destination_port ttl vlan bytes source_mac "
                     "destination_mac");
    const uint16_t port = port_of(c, f);
    const bytes frame = whole ? from_hex(f.text("frame")) : frame_of(c.snapshot(), port, f);
    return trace_json(c, parsed(explain(c, port, frame), "frame"));
}

}  // namespace turnpike::control
