// SPDX-License-Identifier: BSD-3-Clause
#include "engine/classify.hpp"

#include <algorithm>
#include <cstddef>

#include "descriptor.hpp"
#include "packet/checksum.hpp"
#include "packet/headers.hpp"

namespace turnpike::simnic {
namespace {

using namespace packet;

constexpr uint8_t protocol_tcp_number = 6, protocol_udp_number = 17, protocol_sctp_number = 132,
                  protocol_icmp_number = 1, protocol_icmp6_number = 58, next_fragment = 44;

uint16_t l4_ptype(uint8_t protocol) noexcept {
    switch (protocol) {
        case protocol_tcp_number:
            return ptype_l4_tcp;
        case protocol_udp_number:
            return ptype_l4_udp;
        case protocol_sctp_number:
            return ptype_l4_sctp;
        case protocol_icmp_number:
        case protocol_icmp6_number:
            return ptype_l4_icmp;
        default:
            return 0;
    }
}

void classify_ipv4(const uint8_t* frame, uint32_t bytes, uint32_t at, frame_class& c) noexcept {
    if (at + sizeof(ipv4_header) > bytes) return;
    const auto& ip = *reinterpret_cast<const ipv4_header*>(frame + at);
    const uint32_t header = ip.header_bytes();
    const uint32_t total = ip.total_bytes;
    if (ip.version() != 4 || header < sizeof(ipv4_header) || total < header || at + total > bytes)
        return;
    c.ptype |= header > sizeof(ipv4_header) ? ptype_l3_ipv4_options : ptype_l3_ipv4;
    c.l3_at = static_cast<uint16_t>(at);
    c.protocol = ip.protocol;
    c.end = at + total;
    c.fragment = (ip.fragment & (ipv4_more_fragments | ipv4_fragment_offset)) != 0;
    c.ptype |= c.fragment ? uint16_t{ptype_l4_fragment} : l4_ptype(ip.protocol);
    if (!c.fragment) c.l4_at = static_cast<uint16_t>(at + header);
}

void classify_ipv6(const uint8_t* frame, uint32_t bytes, uint32_t at, frame_class& c) noexcept {
    if (at + sizeof(ipv6_header) > bytes) return;
    const auto& ip = *reinterpret_cast<const ipv6_header*>(frame + at);
    const uint32_t end = at + static_cast<uint32_t>(sizeof(ipv6_header)) + ip.payload_bytes;
    if (ip.version() != 6 || end > bytes) return;
    const uint16_t l4 = l4_ptype(ip.next_header);
    c.l3_at = static_cast<uint16_t>(at);
    c.protocol = ip.next_header;
    c.end = end;
    c.fragment = ip.next_header == next_fragment;
    // The device does not walk extension headers: what follows them has no type and no checksum.
    const bool extended = ip.next_header == 0 || ip.next_header == 43 || ip.next_header == 60 ||
                          ip.next_header == 51 || c.fragment;
    c.ptype |= extended ? ptype_l3_ipv6_extensions : ptype_l3_ipv6;
    c.ptype |= c.fragment ? uint16_t{ptype_l4_fragment} : l4;
    if (l4 != 0) c.l4_at = static_cast<uint16_t>(at + sizeof(ipv6_header));
}

/// The pseudo-header's sum: RFC 9293 section 3.1, RFC 8200 section 8.1.
uint32_t pseudo_sum(const uint8_t* l3, bool v6, uint8_t protocol, uint32_t l4_bytes) noexcept {
    const uint32_t addresses = v6 ? sum_bytes({l3 + offsetof(ipv6_header, source), 32})
                                  : sum_bytes({l3 + offsetof(ipv4_header, source), 8});
    return addresses + protocol + (l4_bytes >> 16) + (l4_bytes & 0xffff);
}

}  // namespace

frame_class classify(const uint8_t* frame, uint32_t bytes) noexcept {
    frame_class c;
    if (bytes < sizeof(ethernet_header)) return c;
    uint32_t at = sizeof(ethernet_header);
    uint16_t type = load_be<uint16_t>(frame + 12);
    c.ptype = ptype_l2_ether;
    if (type == ether_type_vlan && at + sizeof(vlan_tag) <= bytes) {
        c.ptype = ptype_l2_vlan;
        type = load_be<uint16_t>(frame + at + 2);
        at += sizeof(vlan_tag);
    }
    if (type == ether_type_ipv4)
        classify_ipv4(frame, bytes, at, c);
    else if (type == ether_type_ipv6)
        classify_ipv6(frame, bytes, at, c);
    else if (type == ether_type_arp)
        c.ptype = ptype_l2_arp;
    return c;
}

uint32_t verify_checksums(const frame_class& c, const uint8_t* frame) noexcept {
    uint32_t status = 0;
    const uint32_t l3 = c.ptype & 0x0f0;
    const bool v6 = l3 == ptype_l3_ipv6 || l3 == ptype_l3_ipv6_extensions;
    if (l3 == 0) return 0;
    const uint8_t* ip = frame + c.l3_at;
    if (!v6) {
        const uint32_t header = reinterpret_cast<const ipv4_header*>(ip)->header_bytes();
        status |= fold(sum_bytes({ip, header})) == 0xffff ? rx_ip_good : rx_ip_bad;
    }
    const uint32_t l4 = c.ptype & 0xf00;
    if (c.l4_at == 0 || (l4 != ptype_l4_tcp && l4 != ptype_l4_udp)) return status;
    const uint32_t l4_bytes = c.end - c.l4_at;
    const uint32_t field = l4 == ptype_l4_udp ? 6 : 16;
    if (l4_bytes < field + 2) return status;
    const uint8_t* l4_header = frame + c.l4_at;
    // RFC 768: a sender that made none sends zero.
    if (l4 == ptype_l4_udp && !v6 && load_be<uint16_t>(l4_header + field) == 0) return status;
    const uint32_t sum = sum_bytes({l4_header, l4_bytes}, pseudo_sum(ip, v6, c.protocol, l4_bytes));
    return status | (fold(sum) == 0xffff ? rx_l4_good : rx_l4_bad);
}

void insert_checksums(uint64_t command, uint8_t* frame, uint32_t bytes) noexcept {
    const uint32_t l3_at = tx_l2_bytes(command);
    const uint32_t l4_at = l3_at + tx_l3_bytes(command);
    if ((command & (tx_ipv4_checksum | tx_l4_mask)) == 0 || l4_at > bytes || l4_at == l3_at) return;
    const bool v6 = frame[l3_at] >> 4 == 6;
    if (l4_at - l3_at < (v6 ? sizeof(ipv6_header) : sizeof(ipv4_header))) return;
    if ((command & tx_ipv4_checksum) != 0 && !v6) {
        store_be<uint16_t>(frame + l3_at + 10, 0);
        store_be(frame + l3_at + 10, checksum({frame + l3_at, l4_at - l3_at}));
    }
    const uint64_t l4 = command & tx_l4_mask;
    if (l4 != tx_l4_tcp && l4 != tx_l4_udp) return;
    const uint32_t field = l4 == tx_l4_udp ? 6 : 16;
    const uint8_t* ip = frame + l3_at;
    const uint32_t says =
        v6 ? static_cast<uint32_t>(sizeof(ipv6_header)) + load_be<uint16_t>(ip + 4)
           : load_be<uint16_t>(ip + 2);
    const uint32_t end = std::min(bytes, l3_at + says);
    if (end < l4_at + field + 2) return;
    const uint8_t protocol = l4 == tx_l4_udp ? protocol_udp_number : protocol_tcp_number;
    store_be<uint16_t>(frame + l4_at + field, 0);
    const uint32_t l4_bytes = end - l4_at;
    const auto made = static_cast<uint16_t>(
        ~fold(sum_bytes({frame + l4_at, l4_bytes}, pseudo_sum(ip, v6, protocol, l4_bytes))));
    store_be<uint16_t>(frame + l4_at + field, made == 0 && l4 == tx_l4_udp ? 0xffff : made);
}

}  // namespace turnpike::simnic
