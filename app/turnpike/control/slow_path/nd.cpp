// SPDX-License-Identifier: BSD-3-Clause
#include "control/slow_path/nd.hpp"

#include <rte_mbuf.h>

#include <algorithm>
#include <array>

#include "control/slow_path/own_source.hpp"
#include "packet/arp.hpp"
#include "packet/ipv6.hpp"
#include "packet/nd.hpp"

namespace turnpike::control::slow_path {

using datapath::drop_reason;
using datapath::interface;

namespace {

uint64_t host_of(const owned_mbuf& p) noexcept {
    return message_rate::host_of(
        packet::header_at<packet::ethernet_header>(p.lead().data()).source);
}

bool is_ours(const interface& on, const ipv6_address& a) noexcept {
    return std::find(on.addresses->v6.begin(), on.addresses->v6.end(), a) != on.addresses->v6.end();
}

/// An address of the interface that is no other node's.
bool has_in_use(const dad& own, const interface& on, uint16_t ifindex,
                const ipv6_address& a) noexcept {
    return is_ours(on, a) && !own.is_duplicate(ifindex, a);
}

}  // namespace

void nd::handle(owned_mbuf p) {
    const packet::parsed& h = p.about().parsed;
    const mac_address* link = nullptr;
    // An ND message is far shorter than a segment; one that cannot be linearized is dropped.
    if (p.get()->nb_segs != 1 && rte_pktmbuf_linearize(p.get()) != 0)
        return p.drop(drop_reason::nd_not_contiguous);
    if (const drop_reason why = datapath::drop_reason_of(packet::check_nd(p.lead(), h, link));
        why != drop_reason::none)
        return p.drop(why);
    if (h.icmp_type == packet::icmp6_neighbour_solicitation)
        return answer_solicitation(std::move(p), link);
    if (h.icmp_type == packet::icmp6_neighbour_advertisement)
        return handle_advertisement(std::move(p), link);
    if (link != nullptr && h.icmp_type != packet::icmp6_redirect) learn_router_or_host(p, *link);
    // Router messages and redirects are valid, but for hosts and daemons; turnpike ignores the rest of them.
    context_.deliver_or_consume(std::move(p));
}

/// RFC 4861 sections 6.2.6 and 6.3.4: a router solicitation or advertisement has the MAC address of its source.
/// Unlike there, it makes no entry: anyone could fill the table.
void nd::learn_router_or_host(const owned_mbuf& p, const mac_address& link) {
    const uint16_t in = p.about().in_interface;
    const ip_address from = address_at(p, p.about().parsed.source_offset());
    if (context_.known.knows(in, from) && rate_.allow(p.about(), host_of(p), context_.now_ms))
        context_.known.learn(in, from, link, false, context_.now_ms);
}

bool nd::answer(const owned_mbuf& p) {
    const packet::parsed& h = p.about().parsed;
    const mac_address* link = nullptr;
    const bool solicits = h.icmp_type == packet::icmp6_neighbour_solicitation;
    if ((!solicits && h.icmp_type != packet::icmp6_neighbour_advertisement) ||
        p.get()->nb_segs != 1 || packet::check_nd(p.lead(), h, link) != packet::drop_reason::none)
        return false;
    const uint16_t in = p.about().in_interface;
    const uint8_t* frame = p.lead().data();
    const auto source = packet::header_at<packet::ipv6_header>(frame + h.l2_bytes).source;
    const auto target = packet::header_at<packet::nd_message>(frame + h.upper_offset).target;
    if (!is_ours(context_.interface(in), target)) return false;
    const mac_address sender = packet::header_at<packet::ethernet_header>(frame).source;
    if (own_.is_tentative(in, target)) {
        // Detection goes on during a loan, so a claim counts at once.
        if (!solicits || source == packet::ipv6_unspecified) own_.claimed(in, target, sender);
        return false;
    }
    if (!solicits || has_in_use(own_, context_.interface(in), in, source) ||
        own_.is_duplicate(in, target) || !rate_.allow(p.about(), host_of(p), context_.now_ms))
        return false;
    advertise_to(in, target, source, link != nullptr ? *link : sender);
    return true;
}

void nd::advertise_to(uint16_t in, const ipv6_address& target, const ipv6_address& source,
                      const mac_address& asker) {
    const interface& on = context_.interface(in);
    std::array<uint8_t, packet::nd_frame_bytes> frame;
    const uint32_t bytes = packet::write_neighbour_advertisement(
        frame, {on.mac, target}, {asker, source},
        packet::nd_flag_router | (own_.is_tentative(in, target) ? 0 : packet::nd_flag_override) |
            (source == packet::ipv6_unspecified ? 0 : packet::nd_flag_solicited));
    if (bytes != 0) context_.out.originate_and_send(on.out(), std::span(frame).first(bytes));
}

void nd::answer_solicitation(owned_mbuf p, const mac_address* link) {
    const uint16_t in = p.about().in_interface;
    const interface& on = interface_of(p);
    const uint8_t* frame = p.lead().data();
    const auto source =
        packet::header_at<packet::ipv6_header>(frame + p.about().parsed.l2_bytes).source;
    const auto target =
        packet::header_at<packet::nd_message>(frame + p.about().parsed.upper_offset).target;
    mac_address asker = packet::header_at<packet::ethernet_header>(frame).source;
    if (has_in_use(own_, on, in, source)) {
        // From our own MAC address: a frame that a loop returned. One of extra_macs may be another router's (VRRP).
        if (!on.answers_to(asker)) conflict_(in, ip_address::from_v6(source), asker);
        return p.drop(drop_reason::nd_sender_is_us);
    }
    if (!is_ours(on, target)) return context_.deliver_or_consume(std::move(p));
    if (own_.is_duplicate(in, target)) return p.consume();
    if (!context_.answered && !rate_.allow(p.about(), host_of(p), context_.now_ms))
        return p.drop(drop_reason::neighbour_rate);
    const bool probe = source == packet::ipv6_unspecified;  // duplicate address detection
    if (link != nullptr) asker = *link;
    if (probe && own_.is_tentative(
                     in, target)) {  // RFC 4862 section 5.4.3: the other node probes for it, too
        own_.claimed(in, target, asker);
        return p.consume();
    }
    const ip_address from = ip_address::from_v6(source);
    // RFC 4861 section 7.2.3: only an option says the sender's address.
    if (link != nullptr && !probe && context_.may_be_neighbour(in, from))
        context_.known.learn(in, from, asker, true, context_.now_ms);
    p.consume();
    if (!context_.answered) advertise_to(in, target, source, asker);
}

void nd::handle_advertisement(owned_mbuf p, const mac_address* link) {
    const uint16_t in = p.about().in_interface;
    const auto& message =
        packet::header_at<packet::nd_message>(p.lead().data() + p.about().parsed.upper_offset);
    const ip_address target = ip_address::from_v6(message.target);
    if (is_ours(interface_of(p), message.target)) {
        const auto by = packet::header_at<packet::ethernet_header>(p.lead().data()).source;
        // Looped back, or of another router with a MAC address of extra_macs (VRRP).
        if (interface_of(p).answers_to(by)) return p.consume();
        if (own_.is_tentative(in, message.target))
            own_.claimed(in, message.target, by);
        else if (!own_.is_duplicate(in, message.target))
            conflict_(in, target, by);
        // The kernel's own detection waits for it.
        return context_.deliver_or_consume(std::move(p));
    }
    if (!context_.may_be_neighbour(in, target)) return p.consume();
    const uint32_t flags = message.icmp.rest;
    const bool solicited = (flags & packet::nd_flag_solicited) != 0;
    if (!(solicited && context_.known.asks(in, target)) &&
        !rate_.allow(p.about(), host_of(p), context_.now_ms))
        return p.drop(drop_reason::neighbour_rate);
    neighbour_claim claim{.solicited = solicited,
                          .overrides = (flags & packet::nd_flag_override) != 0};
    if (link != nullptr) claim.mac = *link;
    context_.known.confirm(in, target, claim, context_.now_ms);
    context_.deliver_or_consume(std::move(p));
}

bool solicit(slow_path_context& t, const dad& own, uint16_t ifindex, const ip_address& a,
             const mac_address* known) {
    const interface& on = t.interface(ifindex);
    if (on.addresses == nullptr) return true;
    std::array<uint8_t, std::max(packet::nd_frame_bytes, packet::arp_frame_bytes)> frame;
    uint32_t bytes = 0;
    if (a.v6) {
        const auto from = v6_asker(t, own, ifindex, a);
        if (!from) return !own.any_tentative(ifindex);
        const packet::nd_host us{on.mac, *from};
        const ipv6_address target = a.v6_bytes();
        bytes = known != nullptr ? packet::write_neighbour_probe(frame, us, {*known, target})
                                 : packet::write_neighbour_solicitation(frame, us, target);
    } else {
        bytes = packet::write_arp_request(frame, {on.mac, v4_asker(t, ifindex, a)}, a.v4(),
                                          known != nullptr ? *known : broadcast_mac);
    }
    t.out.originate_and_send(on.out(), std::span(frame).first(bytes));
    return true;
}

void announce(slow_path_context& t, const dad& own_addresses, uint16_t ifindex) {
    const interface& on = t.interface(ifindex);
    std::array<uint8_t, std::max(packet::nd_frame_bytes, packet::arp_frame_bytes)> frame;
    for (const auto& own : on.addresses->v4) {
        const uint32_t bytes = packet::write_arp_request(frame, {on.mac, own.address}, own.address);
        t.out.originate_and_send(on.out(), std::span(frame).first(bytes));
    }
    for (const auto& own : on.addresses->v6) {
        if (own_addresses.is_duplicate(ifindex, own)) continue;
        const uint32_t bytes = packet::write_neighbour_advertisement(
            frame, {on.mac, own}, {broadcast_mac, packet::ipv6_unspecified},
            packet::nd_flag_router);
        t.out.originate_and_send(on.out(), std::span(frame).first(bytes));
    }
}

}  // namespace turnpike::control::slow_path
