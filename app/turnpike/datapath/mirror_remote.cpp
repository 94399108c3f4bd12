// SPDX-License-Identifier: BSD-3-Clause
// The outer headers of mirrored frames.
#include <rte_byteorder.h>
#include <rte_mbuf.h>

#include <cstring>

#include "datapath/inner_flow.hpp"
#include "datapath/mirror.hpp"
#include "datapath/segments_sum.hpp"
#include "packet/checksum.hpp"
#include "packet/parse.hpp"

namespace turnpike::datapath {
uint32_t mirror_remote::upper_bytes() const noexcept {
    return vni ? sizeof(packet::udp_header) + sizeof(packet::vxlan_header)
               : packet::erspan_bytes(type);
}

void mirror_remote::write_ip(uint8_t* l3, uint32_t l3_bytes, uint16_t id) const noexcept {
    if (v6) {
        std::memcpy(l3, ip.data(), sizeof(packet::ipv6_header));
        packet::header_at<packet::ipv6_header>(l3).payload_bytes =
            static_cast<uint16_t>(l3_bytes - sizeof(packet::ipv6_header));
        return;
    }
    std::memcpy(l3, ip.data(), sizeof(packet::ipv4_header));
    auto& header = packet::header_at<packet::ipv4_header>(l3);
    header.total_bytes = static_cast<uint16_t>(l3_bytes);
    header.id = id;
    packet::native_sum sum;
    sum.add(l3, sizeof header);
    const auto field = static_cast<uint16_t>(~sum.folded());
    std::memcpy(l3 + offsetof(packet::ipv4_header, checksum), &field, sizeof field);
}

/// RFC 7348 section 5. Over IPv6 the UDP checksum is there, because receivers refuse packets without one unless told
/// otherwise (RFC 6935 section 5); over IPv4 it is 0.
void mirror_remote::write_vxlan(rte_mbuf* m, uint32_t offset, uint16_t source_port) const noexcept {
    uint8_t* const to = rte_pktmbuf_mtod_offset(m, uint8_t*, offset);
    const auto bytes = static_cast<uint16_t>(m->pkt_len - offset);
    auto& udp = packet::header_at<packet::udp_header>(to);
    udp.source_port = source_port;
    udp.destination_port = udp_port;
    udp.bytes = bytes;
    udp.checksum = 0;
    auto& vxlan = packet::header_at<packet::vxlan_header>(to + sizeof udp);
    vxlan.flags = packet::vxlan_has_vni;
    vxlan.vni = *vni << 8;
    if (!v6) return;
    packet::native_sum sum;
    sum.add(uint64_t{sum_of(m, offset, bytes)});
    sum.add(rte_pktmbuf_mtod_offset(m, const uint8_t*,
                                    packet::ethernet_bytes + offsetof(packet::ipv6_header, source)),
            2 * sizeof(ipv6_address));
    sum.add(uint64_t{rte_cpu_to_be_16(packet::protocol_udp)});
    sum.add(uint64_t{rte_cpu_to_be_16(bytes)});
    auto field = static_cast<uint16_t>(~sum.folded());
    if (field == 0) field = 0xffff;  // 0 means no checksum (RFC 768)
    std::memcpy(to + offsetof(packet::udp_header, checksum), &field, sizeof field);
}

bool mirror_remote::push(rte_mbuf* m, uint32_t sequence, uint16_t id,
                         const packet::erspan_facts& of, const packet::flow_hashing& how,
                         packet::parsed& out) const noexcept {
    const uint32_t ip_bytes = v6 ? sizeof(packet::ipv6_header) : sizeof(packet::ipv4_header);
    if (m->pkt_len + ip_bytes + upper_bytes() > UINT16_MAX) return false;
    const uint16_t source_port = vni ? inner_flow_of(m, how).source_port : uint16_t{0};
    auto* const to = reinterpret_cast<uint8_t*>(rte_pktmbuf_prepend(
        m, static_cast<uint16_t>(packet::ethernet_bytes + ip_bytes + upper_bytes())));
    if (to == nullptr) return false;
    out = {};
    out.l2_bytes = packet::ethernet_bytes;
    out.l3_bytes = m->pkt_len - packet::ethernet_bytes;
    out.l3 = v6 ? packet::l3_kind::ipv6 : packet::l3_kind::ipv4;
    out.type = v6 ? packet::ether_type_ipv6 : packet::ether_type_ipv4;
    out.ipv4_header_bytes = v6 ? uint8_t{0} : static_cast<uint8_t>(ip_bytes);
    out.upper_protocol = vni ? uint8_t{packet::protocol_udp} : packet::protocol_gre;
    out.upper_offset = static_cast<uint16_t>(packet::ethernet_bytes + ip_bytes);
    std::memset(to, 0, packet::ethernet_bytes);
    store_be(to + offsetof(packet::ethernet_header, type), out.type);
    write_ip(to + packet::ethernet_bytes, out.l3_bytes, id);
    if (!vni) {
        packet::write_erspan(to + out.upper_offset, type, session, sequence, of);
        return true;
    }
    write_vxlan(m, out.upper_offset, source_port);
    out.flags = packet::flag_ports;
    out.source_port = source_port;
    out.destination_port = udp_port;
    return true;
}

}  // namespace turnpike::datapath
