// SPDX-License-Identifier: BSD-3-Clause
#include "vxlan.hpp"

#include <cstring>

#include "packet/checksum.hpp"
#include "packet/parse.hpp"

namespace turnpike::throughput {
namespace {
using namespace packet;
}

void write_vxlan(uint8_t* at, const vxlan_tunnel& t, uint32_t inner_bytes, uint32_t flow,
                 const mac_address& source, const mac_address& destination) noexcept {
    constexpr uint32_t ports = 16384;
    std::memset(at, 0, vxlan_bytes);
    std::memcpy(at, destination.bytes, sizeof destination);
    std::memcpy(at + 6, source.bytes, sizeof source);
    store_be<uint16_t>(at + 12, ether_type_ipv4);
    uint8_t* ip_at = at + ethernet_bytes;
    auto& ip = header_at<ipv4_header>(ip_at);
    const uint32_t l3_bytes = vxlan_bytes - ethernet_bytes + inner_bytes;
    ip.version_ihl = 0x45;
    ip.total_bytes = static_cast<uint16_t>(l3_bytes);
    ip.fragment = ipv4_dont_fragment;
    ip.ttl = 64;
    ip.protocol = protocol_udp;
    ip.source = t.local;
    ip.destination = t.remote;
    ip.checksum = checksum({ip_at, sizeof ip});
    auto& udp = header_at<udp_header>(ip_at + sizeof ip);
    udp.source_port = static_cast<uint16_t>(49152 + flow % ports);
    udp.destination_port = vxlan_port;
    udp.bytes = static_cast<uint16_t>(l3_bytes - sizeof ip);
    auto& vxlan = header_at<vxlan_header>(ip_at + sizeof ip + sizeof udp);
    vxlan.flags = vxlan_has_vni;
    vxlan.vni = t.vni << 8;
}

std::span<const uint8_t> inner_frame(const vxlan_tunnel& t,
                                     std::span<const uint8_t> frame) noexcept {
    parsed p;
    const bool whole = parse(frame, static_cast<uint32_t>(frame.size()), p) == parse_status::done &&
                       p.l2_drop == drop_reason::none && p.l3_drop == drop_reason::none &&
                       p.is_ipv4() && p.upper_protocol == protocol_udp &&
                       p.destination_port == vxlan_port && !p.is(flag_fragment);
    const uint32_t end = p.l2_bytes + p.l3_bytes,
                   inner_at = p.upper_offset +
                              static_cast<uint32_t>(sizeof(udp_header) + sizeof(vxlan_header));
    if (!whole || end < inner_at + ethernet_bytes) return {};
    const auto& ip = header_at<ipv4_header>(frame.data() + p.l2_bytes);
    const auto& vxlan = header_at<vxlan_header>(frame.data() + p.upper_offset + sizeof(udp_header));
    if (ip.source != t.remote || ip.destination != t.local || vxlan.vni >> 8 != t.vni ||
        (vxlan.flags & vxlan_has_vni) == 0)
        return {};
    return frame.subspan(inner_at, end - inner_at);
}

}  // namespace turnpike::throughput
