// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/parse.hpp"

#include <algorithm>

#include "datapath/pull_up.hpp"
#include "packet/ipv4.hpp"
#include "packet/ipv6.hpp"
#include "packet/nd.hpp"

namespace turnpike::datapath {
namespace {

using packet::drop_reason;
using packet::l3_kind;

/// What lib/packet says of the frame; headers are made contiguous where they are not.
bool read_headers(burst& b, uint32_t i) noexcept {
    rte_mbuf* m = b.packet[i];
    packet::parsed& p = b.parsed[i];
    for (int round = 0; round < 2; ++round) {
        const std::span lead(rte_pktmbuf_mtod(m, const uint8_t*), m->data_len);
        if (packet::parse(lead, m->pkt_len, p) == packet::parse_status::done) return true;
        if (!pull_up(m, packet::enough_bytes(m->pkt_len))) break;
    }
    b.drop_packet(i, drop_reason::headers_scattered);
    return false;
}

/// Is the frame for us, as Ethernet sees it?
drop_reason check_ethernet(const packet::ethernet_header& ethernet, const packet::parsed& p,
                           const port_entry& port) noexcept {
    if (p.l2_drop != drop_reason::none) return p.l2_drop;
    if (!ethernet.destination.is_group() && ethernet.destination != port.mac)
        return drop_reason::other_mac;
    if (p.vlan_tags != 0) return drop_reason::vlan_on_routed_port;
    return p.l3_drop;
}

/// RFC 1812 section 5.3.4: a link-layer broadcast or multicast is never forwarded, and an IP
/// packet in one must be to an IP broadcast or multicast address.
bool is_group_frame_for_one(const packet::ethernet_header& ethernet, bool ip_group) noexcept {
    return ethernet.destination.is_group() && !ip_group;
}

void classify_ipv4(burst& b, uint32_t i, const tables& t, const uint8_t* frame) noexcept {
    const auto& ip = packet::view<packet::ipv4_header>(frame + b.parsed[i].l2_bytes);
    const uint32_t source = ip.source, destination = ip.destination;
    if (const drop_reason why = packet::check_ipv4_addresses(source, destination);
        why != drop_reason::none)
        return b.drop_packet(i, why);
    // A sender that is a broadcast address, or claims to be us (RFC 1812 section 5.3.7).
    for (const ipv4_interface& own : t.own_v4)
        if (source == own.address ||
            (own.broadcast != 0 && (source == own.broadcast || source == own.network)))
            return b.drop_packet(i, drop_reason::ipv4_source);
    if (is_group_frame_for_one(packet::view<packet::ethernet_header>(frame), false))
        return b.drop_packet(i, drop_reason::group_mac);
    b.fate[i] = fate::open;
}

void classify_ipv6(burst& b, uint32_t i, const port_entry& port, const uint8_t* frame) noexcept {
    const packet::parsed& p = b.parsed[i];
    const auto& ip = packet::view<packet::ipv6_header>(frame + p.l2_bytes);
    if (packet::is_nd(p)) return b.punt_packet(i, punt_reason::nd);
    if (packet::is_ipv6_martian(ip.source) && !packet::is_link_local(ip.source))
        return b.drop_packet(i, drop_reason::ipv6_source);
    if (ip.source == ip.destination)
        return b.drop_packet(i, drop_reason::ipv6_source_is_destination);
    if (packet::is_multicast(ip.destination)) {
        const auto& groups = port.v6_groups;
        if (std::find(groups.begin(), groups.end(), ip.destination) != groups.end())
            return b.punt_packet(i, punt_reason::local);
        return b.drop_packet(i, drop_reason::ipv6_destination);
    }
    if (is_group_frame_for_one(packet::view<packet::ethernet_header>(frame), false))
        return b.drop_packet(i, drop_reason::group_mac);
    if (packet::is_link_local(ip.destination)) {
        if (ip.destination == port.v6.front()) return b.punt_packet(i, punt_reason::local);
        return b.drop_packet(i, drop_reason::link_local);
    }
    if (packet::is_ipv6_martian(ip.destination))
        return b.drop_packet(i, drop_reason::ipv6_destination);
    b.fate[i] = fate::open;
}

/// RFC 1812 section 5.2.2 (2), for the whole burst at once.
void check_ipv4_checksums(burst& b, const tables& t) noexcept {
    std::array<const uint8_t*, burst_max> header;
    std::array<uint8_t, burst_max> bytes;
    std::array<uint16_t, burst_max> sum;
    std::array<uint32_t, burst_max> of;
    uint32_t n = 0;
    for (uint32_t i = 0; i < b.count; ++i) {
        if (b.fate[i] != fate::open || b.parsed[i].l3 != l3_kind::ipv4) continue;
        header[n] = rte_pktmbuf_mtod_offset(b.packet[i], const uint8_t*, b.parsed[i].l2_bytes);
        bytes[n] = b.parsed[i].ipv4_header_bytes;
        of[n++] = i;
    }
    if (n == 0) return;
    t.ipv4_sum(header.data(), bytes.data(), sum.data(), n);
    for (uint32_t k = 0; k < n; ++k)
        if (sum[k] != 0xffff) [[unlikely]]
            b.drop_packet(of[k], drop_reason::ipv4_checksum);
}

}  // namespace

void parse(burst& b, const tables& t) noexcept {
    const port_entry& port = t.port[b.in_port];
    for (uint32_t i = 0; i < b.count; ++i) {
        b.fate[i] = fate::open;
        b.hop[i] = {};
        b.out_port[i] = b.in_port;
        if (!read_headers(b, i)) continue;
        const auto* frame = rte_pktmbuf_mtod(b.packet[i], const uint8_t*);
        if (b.parsed[i].l2_drop != drop_reason::none) {
            b.drop_packet(i, b.parsed[i].l2_drop);
            continue;
        }
        const auto& ethernet = packet::view<packet::ethernet_header>(frame);
        if (const drop_reason why = check_ethernet(ethernet, b.parsed[i], port);
            why != drop_reason::none)
            b.drop_packet(i, why);
    }
    check_ipv4_checksums(b, t);
    for (uint32_t i = 0; i < b.count; ++i) {
        if (b.fate[i] != fate::open) continue;
        const auto* frame = rte_pktmbuf_mtod(b.packet[i], const uint8_t*);
        if (b.parsed[i].padding_bytes != 0) cut_tail(b.packet[i], b.parsed[i].padding_bytes);
        switch (b.parsed[i].l3) {
            case l3_kind::ipv4:
                classify_ipv4(b, i, t, frame);
                break;
            case l3_kind::ipv6:
                classify_ipv6(b, i, port, frame);
                break;
            case l3_kind::arp:
                b.punt_packet(i, punt_reason::arp);
                break;
            case l3_kind::other:
                b.drop_packet(i, drop_reason::ether_type_unknown);
                break;
        }
    }
}

void parse_patched(burst& b) noexcept {
    for (uint32_t i = 0; i < b.count; ++i) {
        if (b.fate[i] != fate::send || !read_headers(b, i)) continue;
        const drop_reason why = b.parsed[i].l3_drop;
        if (why != drop_reason::none && why != drop_reason::ether_type_unknown &&
            b.parsed[i].l3 != l3_kind::arp)
            b.drop_packet(i, why);
    }
}

}  // namespace turnpike::datapath
