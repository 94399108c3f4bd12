// SPDX-License-Identifier: BSD-3-Clause
#include "vxlan.hpp"

#include <cstring>

#include "packet/checksum.hpp"
#include "packet/parse.hpp"

namespace turnpike::throughput {
namespace {
using namespace packet;

void write_ipv4(uint8_t* at, const vxlan_tunnel& t, uint32_t l4_bytes) noexcept {
    auto& ip = header_at<ipv4_header>(at);
    ip.version_ihl = 0x45;
    ip.total_bytes = static_cast<uint16_t>(sizeof ip + l4_bytes);
    ip.fragment = ipv4_dont_fragment;
    ip.ttl = 64;
    ip.protocol = protocol_udp;
    ip.source = t.local.v4();
    ip.destination = t.remote.v4();
    ip.checksum = checksum({at, sizeof ip});
}

void write_ipv6(uint8_t* at, const vxlan_tunnel& t, uint32_t l4_bytes) noexcept {
    auto& ip = header_at<ipv6_header>(at);
    ip.version_class_flow = 6u << 28;
    ip.payload_bytes = static_cast<uint16_t>(l4_bytes);
    ip.next_header = protocol_udp;
    ip.hop_limit = 64;
    ip.source = t.local.v6_bytes();
    ip.destination = t.remote.v6_bytes();
}

/// Whether a parsed packet is from `t.remote` to `t.local`.
bool is_between(const vxlan_tunnel& t, const uint8_t* l3, const parsed& p) noexcept {
    if (p.is_ipv4() == t.local.v6) return false;
    if (!t.local.v6) {
        const auto& ip = header_at<ipv4_header>(l3);
        return ip.source == t.remote.v4() && ip.destination == t.local.v4();
    }
    const auto& ip = header_at<ipv6_header>(l3);
    return ip.source == t.remote.v6_bytes() && ip.destination == t.local.v6_bytes();
}
}  // namespace

void write_vxlan(uint8_t* at, const vxlan_tunnel& t, uint32_t inner_bytes, uint32_t flow,
                 const mac_address& source, const mac_address& destination) noexcept {
    constexpr uint32_t ports = 16384;
    const uint32_t outer = vxlan_bytes(t);
    std::memset(at, 0, outer);
    std::memcpy(at, destination.bytes, sizeof destination);
    std::memcpy(at + 6, source.bytes, sizeof source);
    store_be<uint16_t>(at + 12, t.local.v6 ? ether_type_ipv6 : ether_type_ipv4);
    constexpr uint32_t l4_headers = sizeof(udp_header) + sizeof(vxlan_header);
    uint8_t* const udp_at = at + outer - l4_headers;
    (t.local.v6 ? write_ipv6 : write_ipv4)(at + ethernet_bytes, t, l4_headers + inner_bytes);
    auto& udp = header_at<udp_header>(udp_at);
    udp.source_port = static_cast<uint16_t>(49152 + flow % ports);
    udp.destination_port = vxlan_port;
    udp.bytes = static_cast<uint16_t>(l4_headers + inner_bytes);
    auto& vxlan = header_at<vxlan_header>(udp_at + sizeof udp);
    vxlan.flags = vxlan_has_vni;
    vxlan.vni = t.vni << 8;
}

std::span<const uint8_t> inner_frame(const vxlan_tunnel& t,
                                     std::span<const uint8_t> frame) noexcept {
    parsed p;
    const bool whole = parse(frame, static_cast<uint32_t>(frame.size()), p) == parse_status::done &&
                       p.l2_drop == drop_reason::none && p.l3_drop == drop_reason::none &&
                       (p.is_ipv4() || p.l3 == l3_kind::ipv6) && p.upper_protocol == protocol_udp &&
                       p.destination_port == vxlan_port && !p.is(flag_fragment);
    const uint32_t end = p.l2_bytes + p.l3_bytes,
                   inner_at = p.upper_offset +
                              static_cast<uint32_t>(sizeof(udp_header) + sizeof(vxlan_header));
    if (!whole || end < inner_at + ethernet_bytes) return {};
    const auto& vxlan = header_at<vxlan_header>(frame.data() + p.upper_offset + sizeof(udp_header));
    if (!is_between(t, frame.data() + p.l2_bytes, p) || vxlan.vni >> 8 != t.vni ||
        (vxlan.flags & vxlan_has_vni) == 0)
        return {};
    return frame.subspan(inner_at, end - inner_at);
}

}  // namespace turnpike::throughput
