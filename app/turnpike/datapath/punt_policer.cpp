// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/punt_policer.hpp"

#include <new>

#include "packet/ipv4.hpp"
#include "packet/ipv6.hpp"

namespace turnpike::datapath {
namespace {

/// The senders of a protocol's packets. `link`: packets of other nodes are invalid.
enum class senders : uint8_t { of_no_router, link, any };

/// By IANA's registries of protocol numbers and of ports. A later fragment has no ports.
senders senders_of(const packet::parsed& p) noexcept {
    constexpr uint8_t rsvp = 46, eigrp = 88, ospf = 89, pim = 103, vrrp = 112;
    constexpr uint16_t bgp = 179, rip = 520, ripng = 521, ldp = 646, bfd = 3784, bfd_echo = 3785,
                       bfd_multihop = 4784, babel = 6696;
    switch (p.upper_protocol) {
        case packet::protocol_igmp:
        case rsvp:
        case eigrp:
        case ospf:
        case pim:
        case vrrp:
            return senders::any;
        case packet::protocol_tcp:
            if (p.is_later_fragment()) return senders::of_no_router;
            return p.destination_port == bgp || p.source_port == bgp || p.destination_port == ldp ||
                           p.source_port == ldp
                       ? senders::any
                       : senders::of_no_router;
        case packet::protocol_udp:
            if (p.is_later_fragment()) return senders::of_no_router;
            switch (p.destination_port) {
                case bfd:    // RFC 5881 section 5
                case babel:  // RFC 8966 section 4
                    return senders::link;
                // A returned BFD Echo packet has TTL 254.
                case bfd_echo:
                case bfd_multihop:
                case rip:
                case ripng:
                case ldp:
                    return senders::any;
                default:
                    return senders::of_no_router;
            }
        default:
            return senders::of_no_router;
    }
}

/// Whether an ARP or ND message can be a reply to our request: a unicast reply, a solicited advertisement.
bool is_reply(const burst& b, uint32_t i) noexcept {
    const packet::parsed& p = b.parsed[i];
    const auto* frame = rte_pktmbuf_mtod(b.packet[i], const uint8_t*);
    if (packet::header_at<packet::ethernet_header>(frame).destination.is_group()) return false;
    if (p.l3 == packet::l3_kind::arp)
        return packet::header_at<packet::arp_message>(frame + p.l2_bytes).operation ==
               packet::arp_reply;
    return p.icmp_type == packet::icmp6_neighbour_advertisement &&
           p.upper_offset + sizeof(packet::icmp_header) <= b.packet[i]->data_len &&
           (packet::header_at<packet::icmp_header>(frame + p.upper_offset).rest &
            packet::nd_flag_solicited) != 0;
}

}  // namespace

bool is_from_link(const packet::parsed& p, const uint8_t* frame) noexcept {
    if (p.is_ipv4()) {
        const auto& ip = packet::header_at<packet::ipv4_header>(frame + p.l2_bytes);
        const uint32_t to = ip.destination;
        return ip.ttl == 255 || packet::is_ipv4_local_group(to) ||
               to == packet::ipv4_limited_broadcast;
    }
    const auto& ip = packet::header_at<packet::ipv6_header>(frame + p.l2_bytes);
    return ip.hop_limit == 255 || packet::is_link_local(ip.source) ||
           packet::is_link_local_group(ip.destination);
}

punt_class class_of_local(const packet::parsed& p, const uint8_t* frame) noexcept {
    const senders of = senders_of(p);
    if (of == senders::of_no_router) return punt_class::local;
    if (is_from_link(p, frame)) return punt_class::routing;
    return of == senders::link ? punt_class::local : punt_class::sessions;
}

punt_class punt_class_of(const burst& b, uint32_t i) noexcept {
    switch (b.punt[i]) {
        case punt_reason::arp:
        case punt_reason::nd:
            return is_reply(b, i) ? punt_class::replies : punt_class::neighbours;
        case punt_reason::neigh_suppress:
            return punt_class::neighbours;
        case punt_reason::local:
            return class_of_local(b.parsed[i], rte_pktmbuf_mtod(b.packet[i], const uint8_t*));
        case punt_reason::link_protocol:
            return is_is_is(packet::header_at<packet::ethernet_header>(
                                rte_pktmbuf_mtod(b.packet[i], const uint8_t*))
                                .destination)
                       ? punt_class::routing
                       : punt_class::other;
        case punt_reason::resolve:
            return punt_class::resolve;
        case punt_reason::icmp_error:
            return b.drop[i] == drop_reason::ipv4_too_big || b.drop[i] == drop_reason::ipv6_too_big
                       ? punt_class::too_big
                       : punt_class::icmp_error;
        case punt_reason::too_big:
            return punt_class::too_big;
        default:
            return punt_class::other;
    }
}

punt_policer::punt_policer()
    : rows_(static_cast<row*>(std::calloc(size_t{max_interfaces} * punt_classes, sizeof(row)))),
      buckets_(static_cast<token_bucket*>(std::calloc(
          size_t{max_interfaces} * max_in_ports * punt_classes, sizeof(token_bucket)))) {
    if (rows_ == nullptr || buckets_ == nullptr) throw std::bad_alloc();
}

}  // namespace turnpike::datapath
