// SPDX-License-Identifier: BSD-3-Clause
// Stage ip_input: parses and validates each packet, and selects the packets to punt.
//   Reads   packet, in; interface.{kind, mac, addresses, accept_source_route, router_alert},
//           snapshot.{vrf, hops}
//   Writes  parsed; vxlan_to_us; punt, hop and out of punted packets; tagged and tag, where a priority tag is
//           removed. Headers are contiguous afterwards; padding behind a routed IP packet is trimmed
// Routed interfaces: all checks that a router must make (RFC 1812 section 5.2.2, RFC 8200) except
// TTL and MTU. Cross-connects and bridge members with an ACL: IP packets whose upper layer cannot
// be parsed are dropped, and frames with more VLAN tags than the parser reads; all other frames
// pass, ARP and other EtherTypes unparsed.
#include <algorithm>

#include "datapath/graph.hpp"
#include "datapath/read_headers.hpp"
#include "datapath/reverse_path.hpp"
#include "datapath/vlan_tag.hpp"
#include "packet/igmp.hpp"
#include "packet/ipv4.hpp"
#include "packet/ipv4_options.hpp"
#include "packet/ipv6.hpp"
#include "packet/nd.hpp"
#include "packet/router_alert.hpp"

namespace turnpike::datapath {
namespace {

using packet::l3_kind;

/// A frame with VID 0 is priority-tagged and in no VLAN (IEEE 802.1Q-2018 section 9.6): pop the
/// tag.
void strip_priority_tag(burst& b, uint32_t i) noexcept {
    rte_mbuf* const m = b.packet[i];
    const found_tag found = find_tag(m, packet::ether_type_vlan);
    if (found.is != found_tag::whole || (found.tci & packet::vlan_id_mask) != 0) return;
    vlan_pop(b, i);
    const packet_mask one = packet_mask{1} << i;
    if ((b.tagged & one) != 0) return;  // behind a VLAN's tag, which is the outer one
    b.tagged |= one;
    b.tag[i] = found.tci;
}

/// Groups of IS-IS and ES-IS (ISO 10589), LLDP (IEEE 802.1AB) and CDP, which are in no IP packet. Only the kernel's
/// daemons handle them.
__attribute__((noinline)) bool is_link_protocol(const mac_address& to, uint16_t type) noexcept {
    constexpr uint16_t lldp = 0x88cc;
    constexpr mac_address cdp{{0x01, 0x00, 0x0c, 0xcc, 0xcc, 0xcc}};
    if (type != lldp) return is_is_is(to) || to == cdp;
    constexpr mac_address nearest[] = {{{0x01, 0x80, 0xc2, 0, 0, 0x0e}},
                                       {{0x01, 0x80, 0xc2, 0, 0, 0x03}},
                                       {{0x01, 0x80, 0xc2, 0, 0, 0x00}}};
    return std::find(std::begin(nearest), std::end(nearest), to) != std::end(nearest);
}

template <class List>
bool has_one(const List& all, const typename List::value_type& one) noexcept {
    return std::find(all.begin(), all.end(), one) != all.end();
}

/// Whether the operator has the kernel get these frames (host_pass).
__attribute__((noinline)) bool is_passed(const interface& in, const mac_address& to,
                                         uint16_t type) noexcept {
    const auto& passes = in.addresses->passes;
    return has_one(passes.types, type) || has_one(passes.macs, to);
}
__attribute__((noinline)) bool is_passed(const interface& in, const ip_address& group) noexcept {
    return in.to_host && has_one(in.addresses->passes.groups, group);
}

/// Layer 2 checks: whether the frame is addressed to this interface.
drop_reason check_ethernet(const packet::ethernet_header& ethernet, const packet::parsed& p,
                           const interface& in) noexcept {
    if (p.l2_drop != packet::drop_reason::none) return drop_reason_of(p.l2_drop);
    if (!ethernet.destination.is_group() && !in.answers_to(ethernet.destination))
        return drop_reason::dst_mac_not_ours;
    if (p.vlan_tags != 0) return drop_reason::vlan_on_routed_port;
    if (p.l3_drop == packet::drop_reason::none) [[likely]]
        return drop_reason::none;
    if (p.l3_drop == packet::drop_reason::ether_type_unknown && in.to_host &&
        (is_link_protocol(ethernet.destination, p.type) ||
         is_passed(in, ethernet.destination, p.type)))
        return drop_reason::none;
    return drop_reason_of(p.l3_drop);
}

/// The decision on a valid packet.
struct verdict {
    drop_reason drop = drop_reason::none;
    bool punted = false;
    punt_reason punt = punt_reason::local;
    bool vxlan_to_us = false;  ///< with `punted`: not to control, but to stage vxlan_input
};

/// Broadcasts on interfaces that the kernel has (RFC 1812 sections 4.2.2.11 and 5.3.5): limited broadcasts, also from
/// hosts without an address (DHCP), and directed broadcasts of a connected network (RIP version 1, NTP).
bool is_broadcast(const uint8_t* frame, uint32_t source, uint32_t destination, const interface& in,
                  const snapshot& v) noexcept {
    if (!in.to_host ||
        packet::header_at<packet::ethernet_header>(frame).destination != broadcast_mac)
        return false;
    constexpr uint32_t limited = 0xffffffff;
    const bool valid = !packet::is_ipv4_no_host(source) && !v.vrf[in.vrf].own.has(source);
    if (destination == limited) return valid || source == 0;
    return valid &&
           std::any_of(in.addresses->v4.begin(), in.addresses->v4.end(), [&](const auto& n) {
               return n.broadcast != 0 && n.broadcast == destination;
           });
}

/// Packets to a multicast group: VXLAN, groups of host_pass, and IGMP queries (RFC 3376 section 4.1.12), which switches
/// may send with source address 0.0.0.0 (RFC 4541 section 2.1.1).
/// otherwise  drop reason of all other packets
__attribute__((noinline)) verdict classify_ipv4_group(const uint8_t* frame, const packet::parsed& p,
                                                      const interface& in, const snapshot& v,
                                                      drop_reason otherwise) noexcept {
    const auto& ip = packet::header_at<packet::ipv4_header>(frame + p.l2_bytes);
    const uint32_t source = ip.source, destination = ip.destination;
    if (is_broadcast(frame, source, destination, in, v))
        return {.punted = true, .punt = punt_reason::local};
    if (!packet::is_ipv4_multicast(destination) ||
        !packet::header_at<packet::ethernet_header>(frame).destination.is_group())
        return {otherwise};
    const auto& groups = in.addresses->v4_groups;
    const bool asks = p.upper_protocol == packet::protocol_igmp;
    const bool joined = has_one(groups, destination),
               passed = is_passed(in, ip_address::from_v4(destination));
    const bool to_all = asks && packet::is_ipv4_local_group(destination) &&
                        (in.to_host || (destination == packet::ipv4_all_hosts && !groups.empty()));
    if (!joined && !passed && !to_all) return {otherwise};
    if (v.vrf[in.vrf].own.has(source) ||
        (packet::is_ipv4_no_host(source) && !(asks && source == 0)))
        return {drop_reason::ipv4_source};
    if (asks) return {.punted = true, .punt = punt_reason::local};
    if (passed) return {.punted = true, .punt = punt_reason::link_protocol};
    if (v.tunnels->end(p, frame + p.l2_bytes, in.vrf)) return {.punted = true, .vxlan_to_us = true};
    return {otherwise};
}

/// A BFD echo has its sender's address as source and as destination: RFC 5880 section 6.4, RFC 5881 section 4, RFC 9747.
bool is_bfd_echo(const packet::parsed& p) noexcept {
    constexpr uint16_t bfd_echo_port = 3785;
    return !p.is(packet::flag_fragment) && p.upper_protocol == packet::protocol_udp &&
           p.destination_port == bfd_echo_port;
}

/// Whether a packet with equal source and destination is a BFD echo that leaves by the interface that it came by: its
/// sender wants it back.
template <class Fib, class Address>
__attribute__((noinline)) bool is_echo_of_neighbour(const packet::parsed& p, const Fib& fib,
                                                    const Address& destination, const interface& in,
                                                    const snapshot& v) noexcept {
    if (!is_bfd_echo(p)) return false;
    uint64_t nexthop = 0;
    fib.lookup_bulk({&destination, 1}, {&nexthop, 1});
    return leads_back(v, static_cast<uint32_t>(nexthop), in, true);
}

/// Whether a packet with equal source and destination is a BFD echo of a daemon here, which the neighbour sent back.
template <class Address>
__attribute__((noinline)) bool is_our_echo(const uint8_t* frame, const packet::parsed& p,
                                           const Address& destination, const interface& in,
                                           const own_addresses& own) noexcept {
    return in.to_host && is_bfd_echo(p) && own.has(destination) &&
           !packet::header_at<packet::ethernet_header>(frame).destination.is_group();
}

/// Whether a packet from an address to itself may be a BFD echo. A link-local address is only a neighbour's, to which the
/// packet goes back (RFC 3927 section 7).
bool may_be_bfd_echo(uint32_t address, const interface& in) noexcept {
    if (!packet::is_ipv4_link_local(address)) return !packet::is_ipv4_no_host(address);
    return std::ranges::any_of(in.addresses->prefixes, [address](const ip_prefix& p) {
        return !p.address.v6 && p.contains(ip_address::from_v4(address));
    });
}

/// Link-local addresses are not forwarded (RFC 3927 section 7), but may be ours, or of hosts that send to us.
bool is_for_us_on_link(uint32_t source, uint32_t destination, const own_addresses& own) noexcept {
    return !packet::is_ipv4_no_host(source) && source != destination && own.has(destination);
}

verdict classify_ipv4(const uint8_t* frame, const packet::parsed& p, const interface& in,
                      const snapshot& v) noexcept {
    const own_addresses& own = v.vrf[in.vrf].own;
    const auto& ip = packet::header_at<packet::ipv4_header>(frame + p.l2_bytes);
    const uint32_t source = ip.source, destination = ip.destination;
    if (packet::is_ipv4_local_group(destination) && in.to_host) [[unlikely]] {
        if (packet::is_ipv4_no_host(source) || own.has(source))
            return classify_ipv4_group(frame, p, in, v, drop_reason::ipv4_source);
        return {.punted = true, .punt = punt_reason::local};
    }
    if (p.is(packet::flag_ipv4_options) && !in.accept_source_route &&
        packet::is_source_routed(frame + p.l2_bytes, p.ipv4_header_bytes)) [[unlikely]]
        return {drop_reason::ipv4_source_routed};
    if (const drop_reason why = drop_reason_of(packet::check_ipv4_addresses(source, destination));
        why != drop_reason::none && !is_for_us_on_link(source, destination, own)) [[unlikely]] {
        if (source == destination && is_our_echo(frame, p, destination, in, own))
            return {.punted = true, .punt = punt_reason::local};
        if (source != destination || !may_be_bfd_echo(destination, in) ||
            !is_echo_of_neighbour(p, *v.vrf[in.vrf].fib4, destination, in, v))
            return classify_ipv4_group(frame, p, in, v, why);
    }
    // The source is a broadcast address, or one of our own (RFC 1812 section 5.3.7).
    if (own.has(source)) return {drop_reason::ipv4_source};
    // RFC 1812 section 5.3.4: a link-layer broadcast or multicast is never forwarded, and an IP
    // packet in one must be to an IP broadcast or multicast address.
    if (packet::header_at<packet::ethernet_header>(frame).destination.is_group()) [[unlikely]]
        return classify_ipv4_group(frame, p, in, v, drop_reason::l2_multicast);
    return {};
}

verdict classify_ipv6(const uint8_t* frame, const packet::parsed& p, const interface& in,
                      const snapshot& v) noexcept {
    const own_addresses& own = v.vrf[in.vrf].own;
    const auto& ip = packet::header_at<packet::ipv6_header>(frame + p.l2_bytes);
    if (packet::is_nd(p)) return {.punted = true, .punt = punt_reason::nd};
    if (packet::is_ipv6_martian(ip.source) && !packet::is_link_local(ip.source))
        return {drop_reason::ipv6_source};
    if (ip.source == ip.destination) [[unlikely]] {
        if (is_our_echo(frame, p, ip.destination, in, own))
            return {.punted = true, .punt = punt_reason::local};
        if (!is_echo_of_neighbour(p, *v.vrf[in.vrf].fib6, ip.destination, in, v))
            return {drop_reason::ipv6_source_is_destination};
    }
    if (own.has(ip.source)) return {drop_reason::ipv6_source};
    // RFC 6085: the frame's destination may be a unicast address.
    if (packet::is_multicast(ip.destination)) {
        const auto& groups = in.addresses->v6_groups;
        if (std::find(groups.begin(), groups.end(), ip.destination) != groups.end())
            return {.punted = true,
                    .punt = punt_reason::local,
                    .vxlan_to_us =
                        v.tunnels != nullptr && v.tunnels->end(p, frame + p.l2_bytes, in.vrf)};
        if (in.to_host && packet::is_link_local_group(ip.destination))
            return {.punted = true, .punt = punt_reason::local};
        if (is_passed(in, ip_address::from_v6(ip.destination)))
            return {.punted = true, .punt = punt_reason::link_protocol};
        return {drop_reason::ipv6_destination};
    }
    if (packet::header_at<packet::ethernet_header>(frame).destination.is_group())
        return {drop_reason::l2_multicast};
    if (packet::is_link_local(ip.destination)) {
        // The kernel may have more than the one of the MAC address.
        if (in.to_host || ip.destination == in.addresses->v6.front())
            return {.punted = true, .punt = punt_reason::local};
        return {drop_reason::link_local};
    }
    if (packet::is_ipv6_martian(ip.destination)) return {drop_reason::ipv6_destination};
    return {};
}

/// RFC 1812 section 5.2.2 (2), for the whole burst at once. Answers packets with a wrong checksum.
packet_mask wrong_ipv4_checksums(const burst& b, packet_mask packets, const snapshot& v) noexcept {
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

/// Router Alert in transit, where configured (RFC 6398). Packets to the router are punted by their
/// address anyway.
bool is_alert(const rte_mbuf* m, const packet::parsed& p, const own_addresses& own) noexcept {
    const uint8_t* const l3 = rte_pktmbuf_mtod(m, const uint8_t*) + p.l2_bytes;
    if (!packet::has_router_alert(l3, m->data_len - uint32_t{p.l2_bytes}, p)) return false;
    return p.is_ipv4() ? !own.has(packet::header_at<packet::ipv4_header>(l3).destination)
                       : !own.has(packet::header_at<packet::ipv6_header>(l3).destination);
}

verdict classify(rte_mbuf* m, const packet::parsed& p, const interface& in,
                 const snapshot& v) noexcept {
    const auto* frame = rte_pktmbuf_mtod(m, const uint8_t*);
    if (p.padding_bytes != 0) trim(m, p.padding_bytes);
    switch (p.l3) {
        case l3_kind::ipv4:
            return classify_ipv4(frame, p, in, v);
        case l3_kind::ipv6:
            return classify_ipv6(frame, p, in, v);
        case l3_kind::arp:
            return {.punted = true, .punt = punt_reason::arp};
        case l3_kind::other:
            break;
    }
    return {.punted = true, .punt = punt_reason::link_protocol};  // by check_ethernet()
}

stage_mask parse_routed(context& c, burst& b, packet_mask packets) noexcept {
    const snapshot& v = *c.snapshot;
    packet_mask drops = 0, punts = 0, alerts = 0, vxlan_to_us = 0;
    for_each(packets, [&](uint32_t i) {
        strip_priority_tag(b, i);
        if (!read_headers(b.packet[i], b.parsed[i])) [[unlikely]]
            return drop_packet(b, i, drop_reason::headers_not_contiguous, drops);
        const auto* frame = rte_pktmbuf_mtod(b.packet[i], const uint8_t*);
        const drop_reason why = check_ethernet(packet::header_at<packet::ethernet_header>(frame),
                                               b.parsed[i], v.interfaces[b.in[i]]);
        if (why != drop_reason::none) [[unlikely]]
            drop_packet(b, i, why, drops);
    });
    const packet_mask wrong = wrong_ipv4_checksums(b, packets & ~drops, v);
    for_each(wrong, [&](uint32_t i) { drop_packet(b, i, drop_reason::ipv4_checksum, drops); });
    for_each(packets & ~drops, [&](uint32_t i) {
        const interface& in = v.interfaces[b.in[i]];
        verdict is = classify(b.packet[i], b.parsed[i], in, v);
        if (is.drop != drop_reason::none) [[unlikely]]
            return drop_packet(b, i, is.drop, drops);
        const packet_mask one = packet_mask{1} << i;
        if (in.router_alert && !is.punted) [[unlikely]] {
            if (is_alert(b.packet[i], b.parsed[i], v.vrf[in.vrf].own)) {
                is = {.punted = true, .punt = punt_reason::router_alert};
                alerts |= one;
            }
        }
        if (is.vxlan_to_us) [[unlikely]] {
            vxlan_to_us |= one;
        } else if (is.punted) [[unlikely]] {
            b.punt[i] = is.punt;
            b.nexthop[i] = fixed_nexthop::local;
            b.out[i] = {};
            punts |= one;
        }
    });
    b.punted |= punts;
    b.vxlan_to_us |= vxlan_to_us;
    // The sources of packets punted here need no route, except in transit: not through stage urpf.
    const packet_mask past_urpf = punts & ~alerts;
    return go_on_input(v, b, packets & ~drops & ~past_urpf, stage::ip_input) |
           go_on_input(v, b, past_urpf, stage::urpf) | enqueue(b, drops, stage::drop);
}

/// For cross-connects and bridge members.
stage_mask parse_unchanged(context& c, burst& b, packet_mask packets) noexcept {
    packet_mask drops = 0;
    for_each(packets, [&](uint32_t i) {
        packet::parsed& p = b.parsed[i];
        if (!read_headers(b.packet[i], p)) [[unlikely]]
            return drop_packet(b, i, drop_reason::headers_not_contiguous, drops);
        if (p.l3_drop != packet::drop_reason::none &&
            p.l3_drop != packet::drop_reason::ether_type_unknown && p.l3 != l3_kind::arp)
            [[unlikely]]
            return drop_packet(b, i, drop_reason_of(p.l3_drop), drops);
    });
    return go_on_input(*c.snapshot, b, packets & ~drops, stage::ip_input) |
           enqueue(b, drops, stage::drop);
}

}  // namespace

stage_mask run_ip_input(context& c, burst& b, packet_mask packets) noexcept {
    const auto& interfaces = c.snapshot->interfaces;
    packet_mask routed = 0;
    if (b.common_iface != 0) [[likely]] {
        if (interfaces[b.common_iface].kind == interface_kind::routed) routed = packets;
    } else {
        for_each(packets, [&](uint32_t i) {
            if (interfaces[b.in[i]].kind == interface_kind::routed) routed |= packet_mask{1} << i;
        });
    }
    stage_mask next = 0;
    if (routed != 0) next |= parse_routed(c, b, routed);
    if (packets != routed) next |= parse_unchanged(c, b, packets & ~routed);
    return next;
}

}  // namespace turnpike::datapath
