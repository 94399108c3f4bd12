// SPDX-License-Identifier: BSD-3-Clause
// Stage parse: what each packet is, and whether it may go on.
//   Reads   packet, in; interface.{kind, mac, addresses, acl_in}, view.own
//   Writes  parsed; punt, hop and out of what is for control. Headers are contiguous afterwards;
//           padding behind a routed IP packet is cut off
// Routed: everything that a router must check (RFC 1812 section 5.2.2, RFC 8200) but TTL and MTU.
// Patched, where a list is to judge: what is IP and cannot be read to its upper layer, or hides behind
// more tags than are read, is dropped; all else passes, ARP and other types unread.
#include <algorithm>

#include "datapath/graph.hpp"
#include "datapath/pull_up.hpp"
#include "packet/ipv4.hpp"
#include "packet/ipv6.hpp"
#include "packet/nd.hpp"

namespace turnpike::datapath {
namespace {

using packet::drop_reason;
using packet::l3_kind;

/// What lib/packet says of the frame; headers are made contiguous where they are not.
bool read_headers(rte_mbuf* m, packet::parsed& p) noexcept {
    for (int round = 0; round < 2; ++round) {
        const std::span lead(rte_pktmbuf_mtod(m, const uint8_t*), m->data_len);
        if (packet::parse(lead, m->pkt_len, p) == packet::parse_status::done) return true;
        if (!pull_up(m, packet::enough_bytes(m->pkt_len))) break;
    }
    return false;
}

/// Is the frame for us, as Ethernet sees it?
drop_reason check_ethernet(const packet::ethernet_header& ethernet, const packet::parsed& p,
                           const interface& in) noexcept {
    if (p.l2_drop != drop_reason::none) return p.l2_drop;
    if (!ethernet.destination.is_group() && ethernet.destination != in.mac)
        return drop_reason::other_mac;
    if (p.vlan_tags != 0) return drop_reason::vlan_on_routed_port;
    return p.l3_drop;
}

/// What becomes of a packet that is sound.
struct verdict {
    drop_reason drop = drop_reason::none;
    bool punted = false;
    punt_reason punt = punt_reason::local;
};

verdict classify_ipv4(const uint8_t* frame, const packet::parsed& p, const view& v) noexcept {
    const auto& ip = packet::view<packet::ipv4_header>(frame + p.l2_bytes);
    const uint32_t source = ip.source, destination = ip.destination;
    if (const drop_reason why = packet::check_ipv4_addresses(source, destination);
        why != drop_reason::none)
        return {why};
    // A sender that is a broadcast address, or claims to be us (RFC 1812 section 5.3.7).
    if (v.own.has(source)) return {drop_reason::ipv4_source};
    // RFC 1812 section 5.3.4: a link-layer broadcast or multicast is never forwarded, and an IP
    // packet in one must be to an IP broadcast or multicast address.
    if (packet::view<packet::ethernet_header>(frame).destination.is_group())
        return {drop_reason::group_mac};
    return {};
}

verdict classify_ipv6(const uint8_t* frame, const packet::parsed& p, const interface& in,
                      const view& v) noexcept {
    const auto& ip = packet::view<packet::ipv6_header>(frame + p.l2_bytes);
    if (packet::is_nd(p)) return {.punted = true, .punt = punt_reason::nd};
    if (packet::is_ipv6_martian(ip.source) && !packet::is_link_local(ip.source))
        return {drop_reason::ipv6_source};
    if (ip.source == ip.destination) return {drop_reason::ipv6_source_is_destination};
    if (v.own.has(ip.source)) return {drop_reason::ipv6_source};
    if (packet::is_multicast(ip.destination)) {
        const auto& groups = in.addresses->v6_groups;
        if (std::find(groups.begin(), groups.end(), ip.destination) != groups.end())
            return {.punted = true, .punt = punt_reason::local};
        return {drop_reason::ipv6_destination};
    }
    if (packet::view<packet::ethernet_header>(frame).destination.is_group())
        return {drop_reason::group_mac};
    if (packet::is_link_local(ip.destination)) {
        if (ip.destination == in.addresses->v6.front())
            return {.punted = true, .punt = punt_reason::local};
        return {drop_reason::link_local};
    }
    if (packet::is_ipv6_martian(ip.destination)) return {drop_reason::ipv6_destination};
    return {};
}

/// RFC 1812 section 5.2.2 (2), for the whole burst at once. Answers those that are wrong.
packet_mask wrong_ipv4_checksums(const burst& b, packet_mask packets, const view& v) noexcept {
    std::array<const uint8_t*, burst_max> header;
    std::array<uint8_t, burst_max> bytes;
    std::array<uint16_t, burst_max> sum;
    std::array<uint8_t, burst_max> of;
    uint32_t n = 0;
    for_each(packets, [&](uint32_t i) {
        if (!b.parsed[i].is_ipv4()) return;
        header[n] = rte_pktmbuf_mtod_offset(b.packet[i], const uint8_t*, b.parsed[i].l2_bytes);
        bytes[n] = b.parsed[i].ipv4_header_bytes;
        of[n++] = static_cast<uint8_t>(i);
    });
    if (n == 0) return 0;
    v.ipv4_sum(header.data(), bytes.data(), sum.data(), n);
    packet_mask wrong = 0;
    for (uint32_t k = 0; k < n; ++k) wrong |= static_cast<packet_mask>(sum[k] != 0xffff) << of[k];
    return wrong;
}

verdict classify(rte_mbuf* m, const packet::parsed& p, const interface& in,
                 const view& v) noexcept {
    const auto* frame = rte_pktmbuf_mtod(m, const uint8_t*);
    if (p.padding_bytes != 0) cut_tail(m, p.padding_bytes);
    switch (p.l3) {
        case l3_kind::ipv4:
            return classify_ipv4(frame, p, v);
        case l3_kind::ipv6:
            return classify_ipv6(frame, p, in, v);
        case l3_kind::arp:
            return {.punted = true, .punt = punt_reason::arp};
        case l3_kind::other:
            break;
    }
    return {drop_reason::ether_type_unknown};
}

stage_mask parse_routed(context& c, burst& b, packet_mask packets) noexcept {
    const view& v = *c.view;
    packet_mask drops = 0, punts = 0, judged = 0;
    for_each(packets, [&](uint32_t i) {
        if (!read_headers(b.packet[i], b.parsed[i])) [[unlikely]]
            return drop_packet(b, i, drop_reason::headers_scattered, drops);
        const auto* frame = rte_pktmbuf_mtod(b.packet[i], const uint8_t*);
        const drop_reason why = check_ethernet(packet::view<packet::ethernet_header>(frame),
                                               b.parsed[i], v.interfaces[b.in[i]]);
        if (why != drop_reason::none) [[unlikely]]
            drop_packet(b, i, why, drops);
    });
    const packet_mask wrong = wrong_ipv4_checksums(b, packets & ~drops, v);
    for_each(wrong, [&](uint32_t i) { drop_packet(b, i, drop_reason::ipv4_checksum, drops); });
    for_each(packets & ~drops, [&](uint32_t i) {
        const interface& in = v.interfaces[b.in[i]];
        const verdict is = classify(b.packet[i], b.parsed[i], in, v);
        if (is.drop != drop_reason::none) [[unlikely]]
            return drop_packet(b, i, is.drop, drops);
        const packet_mask one = packet_mask{1} << i;
        if (is.punted) [[unlikely]] {
            b.punt[i] = is.punt;
            b.hop[i] = fixed_hop::local;
            b.out[i] = {};
            punts |= one;
        }
        if (in.acl_in != nullptr) judged |= one;
    });
    packets &= ~drops;
    b.punted |= punts;
    return move(b, packets & judged, stage::acl_in) |
           move(b, packets & ~judged & ~punts, stage::lookup) |
           move(b, punts & ~judged, stage::punt) | move(b, drops, stage::drop);
}

stage_mask parse_patched(context& c, burst& b, packet_mask packets) noexcept {
    packet_mask drops = 0, in_list = 0;
    for_each(packets, [&](uint32_t i) {
        packet::parsed& p = b.parsed[i];
        if (!read_headers(b.packet[i], p)) [[unlikely]]
            return drop_packet(b, i, drop_reason::headers_scattered, drops);
        if (p.l3_drop != drop_reason::none && p.l3_drop != drop_reason::ether_type_unknown &&
            p.l3 != l3_kind::arp) [[unlikely]]
            return drop_packet(b, i, p.l3_drop, drops);
        if (c.view->interfaces[b.in[i]].acl_in != nullptr) in_list |= packet_mask{1} << i;
    });
    return move(b, in_list & ~drops, stage::acl_in) |
           move(b, packets & ~in_list & ~drops, stage::acl_out) | move(b, drops, stage::drop);
}

}  // namespace

stage_mask run_parse(context& c, burst& b, packet_mask packets) noexcept {
    packet_mask patched = 0;
    if (b.in_all != 0) [[likely]] {
        if (c.view->interfaces[b.in_all].kind == interface_kind::patched) patched = packets;
    } else {
        for_each(packets, [&](uint32_t i) {
            if (c.view->interfaces[b.in[i]].kind == interface_kind::patched)
                patched |= packet_mask{1} << i;
        });
    }
    stage_mask next = 0;
    if (packets != patched) next |= parse_routed(c, b, packets & ~patched);
    if (patched != 0) next |= parse_patched(c, b, patched);
    return next;
}

}  // namespace turnpike::datapath
