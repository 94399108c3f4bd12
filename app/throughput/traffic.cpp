// SPDX-License-Identifier: BSD-3-Clause
#include "traffic.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/arguments.hpp"
#include "packet/checksum.hpp"
#include "packet/headers.hpp"

namespace turnpike::throughput {
namespace {

using namespace packet;

constexpr uint16_t discard_port = 9, source_port = 0xc020;  // RFC 2544 section C.2.6.4
constexpr uint8_t hop_limit = 64, payload_byte = 0x5a;
constexpr uint64_t first_mac[] = {0x0600'0000'0000,
                                  0x0200'0000'0000};  // locally administered, by side
constexpr uint32_t benchmark_ipv4 =
    0xc612'0000;  // 198.18.0.0, 198.19.0.0: RFC 2544's have room for one pair of ports
constexpr uint32_t further_ipv4 = 0x0a80'0000;  // 10.128.0.0: RFC 1918
constexpr uint32_t ipv4_hosts = 0x1'0000;       // more flows share them

uint32_t tag_bytes(const traffic& t) noexcept { return t.vlan != 0 ? sizeof(vlan_tag) : 0; }
uint32_t ip_bytes(const traffic& t) noexcept {
    return t.ipv6 ? sizeof(ipv6_header) : sizeof(ipv4_header);
}

uint32_t first_ipv4(unsigned port) noexcept {
    return (port < 2 ? benchmark_ipv4 : further_ipv4) + port * ipv4_hosts;
}

void store_flow_mac(uint8_t* at, unsigned port, uint32_t flow) noexcept {
    const uint64_t n = first_mac[port % 2] + (uint64_t{port / 2} << 24) + flow;
    store_be(at, static_cast<uint16_t>(n >> 32));
    store_be(at + 2, static_cast<uint32_t>(n));
}

}  // namespace

double frame_size::mean_bytes() const noexcept {
    return static_cast<double>(std::accumulate(turns.begin(), turns.end(), uint64_t{0})) /
           static_cast<double>(turns.size());
}

uint32_t frame_size::largest() const noexcept {
    return *std::max_element(turns.begin(), turns.end());
}

uint32_t smallest_frame_bytes(const traffic& t) noexcept {
    return ethernet_bytes + tag_bytes(t) + ip_bytes(t) + static_cast<uint32_t>(sizeof(udp_header)) +
           stamp_bytes + fcs_bytes;
}

result<frame_size> parse_frame_size(std::string_view text, const traffic& t) {
    const uint32_t least = smallest_frame_bytes(t);
    if (text == "imix") {
        frame_size mix{.name = "imix",
                       .turns = {64, 570, 64, 64, 570, 64, 1518, 64, 570, 64, 64, 570}};
        for (uint32_t& n : mix.turns) n = std::max(n, least);
        return mix;
    }
    uint32_t bytes = 0;
    if (!read_number(text, least, largest_frame_bytes, bytes))
        return fail(EINVAL, {},
                    "should be imix or bytes with FCS from " + std::to_string(least) +
                        " (headers and stamp) to " + std::to_string(largest_frame_bytes));
    return frame_size{.name = std::string(text), .turns = {bytes}};
}

frame_size size_of(const capture& c) {
    frame_size all{.name = "capture"};
    for (const capture::frame& f : c.frames()) all.turns.push_back(f.bytes + fcs_bytes);
    return all;
}

frame_size size_of(const std::array<std::shared_ptr<const capture>, 2>& both) {
    frame_size first = size_of(*both[0]), second = size_of(*both[1]);
    return second.mean_bytes() > first.mean_bytes() ? second : first;
}

uint32_t ipv4_of(unsigned port, uint32_t flow) noexcept {
    return first_ipv4(port) + flow % ipv4_hosts;
}

ipv6_address ipv6_of(unsigned port, uint32_t flow) noexcept {
    ipv6_address a{
        {0x20, 0x01, 0, 0x02, 0, 0, 0, static_cast<uint8_t>(port + 1)}};  // RFC 5180 section 8
    store_be(a.bytes + 12, flow);
    return a;
}

bool is_flow_address(const traffic& t, unsigned port, const ip_address& a) noexcept {
    if (t.captured[0])
        return t.captured[port]->has_source(a) || t.captured[peer_of(port)]->has_destination(a);
    if (a.v6 != t.ipv6) return false;
    if (t.destinations && port % 2 == 1) return t.destinations->has(a);
    if (!a.v6) return a.v4() - first_ipv4(port) < std::min(t.flows, ipv4_hosts);
    const ipv6_address given = a.v6_bytes();
    const auto flow = load_be<uint32_t>(given.bytes + 12);
    return flow < t.flows && given == ipv6_of(port, flow);
}

stream::stream(const traffic& t, uint8_t id, const frame_size& size, const mac_address& source,
               const mac_address& destination)
    : traffic_(t),
      id_(id),
      size_(size),
      l3_at_(ethernet_bytes + tag_bytes(t)),
      l4_at_(l3_at_ + ip_bytes(t)),
      stamp_at_(l4_at_ + static_cast<uint32_t>(sizeof(udp_header))),
      template_(size.largest(), payload_byte) {
    uint8_t* f = template_.data();
    std::memcpy(f, destination.bytes, sizeof destination);
    std::memcpy(f + 6, source.bytes, sizeof source);
    if (t.vlan != 0) store_be(f + 12, uint32_t{ether_type_vlan} << 16 | t.vlan);
    store_be<uint16_t>(f + l3_at_ - 2, t.ipv6 ? ether_type_ipv6 : ether_type_ipv4);
    std::memset(f + l3_at_, 0, stamp_at_ - l3_at_);
    if (t.ipv6) {
        auto& ip = *reinterpret_cast<ipv6_header*>(f + l3_at_);
        ip.version_class_flow = 6u << 28;
        ip.next_header = protocol_udp;
        ip.hop_limit = hop_limit;
    } else {
        auto& ip = *reinterpret_cast<ipv4_header*>(f + l3_at_);
        ip.version_ihl = 0x45;
        ip.ttl = hop_limit;
        ip.protocol = protocol_udp;
    }
    auto& udp = *reinterpret_cast<udp_header*>(f + l4_at_);
    udp.source_port = source_port;
    udp.destination_port = discard_port;
}

void stream::build(uint8_t* at, uint64_t sequence, uint16_t trial, uint64_t tsc) const noexcept {
    const uint32_t bytes = bytes_of(sequence), flow = flow_of(sequence),
                   ip_flow = traffic_.by_mac ? 0 : flow;
    const unsigned from = id_, to = peer_of(id_);
    std::memcpy(at, template_.data(), bytes);
    if (traffic_.by_mac) {
        store_flow_mac(at, to, flow);
        store_flow_mac(at + 6, from, flow);
    }
    const auto udp_bytes = static_cast<uint16_t>(bytes - l4_at_);
    uint32_t pseudo = protocol_udp + uint32_t{udp_bytes};
    if (traffic_.ipv6) {
        auto& ip = *reinterpret_cast<ipv6_header*>(at + l3_at_);
        ip.payload_bytes = udp_bytes;
        ip.source = ipv6_at(from, ip_flow);
        ip.destination = ipv6_at(to, ip_flow);
        pseudo = sum_bytes({ip.source.bytes, 32}, pseudo);
    } else {
        auto& ip = *reinterpret_cast<ipv4_header*>(at + l3_at_);
        ip.total_bytes = static_cast<uint16_t>(bytes - l3_at_);
        ip.source = ipv4_at(from, ip_flow);
        ip.destination = ipv4_at(to, ip_flow);
        ip.checksum = checksum({at + l3_at_, sizeof ip});
        pseudo = sum_bytes({at + l3_at_ + offsetof(ipv4_header, source), 8}, pseudo);
    }
    write_stamp(at + stamp_at_, {trial, id_, sequence, tsc});
    auto& udp = *reinterpret_cast<udp_header*>(at + l4_at_);
    udp.bytes = udp_bytes;
    const auto sum = static_cast<uint16_t>(~fold(sum_bytes({at + l4_at_, udp_bytes}, pseudo)));
    udp.checksum = sum == 0 ? 0xffff : sum;
}

bool stream::is_intact(std::span<const uint8_t> frame, uint64_t sequence) const noexcept {
    // The tag may be gone: compare from the IP header on.
    const uint32_t bytes = bytes_of(sequence), ip_flow = traffic_.by_mac ? 0 : flow_of(sequence);
    const bool tagged = load_be<uint16_t>(frame.data() + 12) == ether_type_vlan;
    const uint32_t at = ethernet_bytes + (tagged ? 4 : 0), whole = bytes - l3_at_;
    if (frame.size() < at + whole) return false;
    const uint8_t* ip = frame.data() + at;
    if (traffic_.ipv6) {
        const auto& h = *reinterpret_cast<const ipv6_header*>(ip);
        if (h.source != ipv6_at(id_, ip_flow) || h.destination != ipv6_at(peer_of(id_), ip_flow))
            return false;
    } else {
        const auto& h = *reinterpret_cast<const ipv4_header*>(ip);
        if (h.total_bytes != whole || h.source != ipv4_at(id_, ip_flow) ||
            h.destination != ipv4_at(peer_of(id_), ip_flow))
            return false;
    }
    const uint32_t tail = stamp_at_ + stamp_bytes;
    return std::memcmp(ip + tail - l3_at_, template_.data() + tail, bytes - tail) == 0;
}

std::unique_ptr<frame_source> source_of(const traffic& t, uint8_t id, const frame_size& size,
                                        const mac_address& source, const mac_address& destination,
                                        bool routed) {
    if (!t.captured[0]) return std::make_unique<stream>(t, id, size, source, destination);
    return std::make_unique<replay>(
        t.captured[id], id, routed ? std::optional(mac_pair{source, destination}) : std::nullopt);
}

arrival read_frame(const traffic& t, std::span<const uint8_t> frame, stamp& out) noexcept {
    if (t.captured[0]) {
        const arrival is = t.captured[0]->read(frame, out);
        return is == arrival::foreign ? t.captured[1]->read(frame, out) : is;
    }
    const uint32_t l3_bytes = ip_bytes(t),
                   rest = l3_bytes + static_cast<uint32_t>(sizeof(udp_header)) + stamp_bytes;
    uint32_t at = ethernet_bytes;
    if (frame.size() < at + rest) return arrival::foreign;
    if (load_be<uint16_t>(frame.data() + 12) == ether_type_vlan) at += sizeof(vlan_tag);
    if (frame.size() < at + rest) return arrival::foreign;
    const uint8_t* ip = frame.data() + at;
    const uint16_t type = load_be<uint16_t>(ip - 2);
    const bool shape = t.ipv6 ? type == ether_type_ipv6 && ip[6] == protocol_udp
                              : type == ether_type_ipv4 && ip[0] == 0x45 && ip[9] == protocol_udp;
    if (!shape || load_be<uint32_t>(ip + l3_bytes) != (uint32_t{source_port} << 16 | discard_port))
        return arrival::foreign;
    return read_stamp(ip + l3_bytes + sizeof(udp_header), out) && out.stream < max_ports
               ? arrival::ours
               : arrival::damaged;
}

}  // namespace turnpike::throughput
