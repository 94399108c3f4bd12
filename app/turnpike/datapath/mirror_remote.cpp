// SPDX-License-Identifier: BSD-3-Clause
// The outer headers of mirrored frames.
#include <rte_mbuf.h>

#include <cstring>

#include "datapath/mirror.hpp"
#include "packet/checksum.hpp"
#include "packet/parse.hpp"

namespace turnpike::datapath {

bool erspan_end::push(rte_mbuf* m, uint32_t sequence, const packet::erspan_facts& of,
                      packet::parsed& out) const noexcept {
    constexpr uint32_t ether_bytes = packet::ethernet_bytes;
    const uint32_t ip_bytes = v6 ? sizeof(packet::ipv6_header) : sizeof(packet::ipv4_header);
    const uint32_t headers_bytes = packet::erspan_bytes(type);
    if (m->pkt_len + ip_bytes + headers_bytes > UINT16_MAX) return false;
    auto* const to = reinterpret_cast<uint8_t*>(
        rte_pktmbuf_prepend(m, static_cast<uint16_t>(ether_bytes + ip_bytes + headers_bytes)));
    if (to == nullptr) return false;
    out = {};
    out.l2_bytes = ether_bytes;
    out.l3_bytes = m->pkt_len - ether_bytes;
    out.type = v6 ? packet::ether_type_ipv6 : packet::ether_type_ipv4;
    out.upper_protocol = packet::protocol_gre;
    out.upper_offset = static_cast<uint16_t>(ether_bytes + ip_bytes);
    std::memset(to, 0, ether_bytes);
    store_be(to + offsetof(packet::ethernet_header, type), out.type);
    uint8_t* const l3 = to + ether_bytes;
    std::memcpy(l3, ip.data(), ip_bytes);
    if (v6) {
        out.l3 = packet::l3_kind::ipv6;
        packet::header_at<packet::ipv6_header>(l3).payload_bytes =
            static_cast<uint16_t>(out.l3_bytes - ip_bytes);
    } else {
        out.l3 = packet::l3_kind::ipv4;
        out.ipv4_header_bytes = static_cast<uint8_t>(ip_bytes);
        auto& header = packet::header_at<packet::ipv4_header>(l3);
        header.total_bytes = static_cast<uint16_t>(out.l3_bytes);
        header.id = static_cast<uint16_t>(sequence);
        packet::native_sum sum;
        sum.add(l3, ip_bytes);
        const auto field = static_cast<uint16_t>(~sum.folded());
        std::memcpy(l3 + offsetof(packet::ipv4_header, checksum), &field, sizeof field);
    }
    packet::write_erspan(l3 + ip_bytes, type, session, sequence, of);
    return true;
}

}  // namespace turnpike::datapath
