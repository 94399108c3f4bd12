// SPDX-License-Identifier: BSD-3-Clause
// The router's ARP and neighbour discovery: what others say and ask, what we say and ask.
#include <rte_mbuf.h>

#include <algorithm>
#include <array>

#include "control/router.hpp"
#include "packet/arp.hpp"
#include "packet/ipv6.hpp"
#include "packet/nd.hpp"

namespace turnpike::control {

using packet::drop_reason;

namespace {

std::span<uint8_t> frame_of(rte_mbuf* m) noexcept {
    return {rte_pktmbuf_mtod(m, uint8_t*), m->data_len};
}

bool is_ours(const datapath::port_entry& port, const packet::ipv6_address& a) noexcept {
    return std::find(port.v6.begin(), port.v6.end(), a) != port.v6.end();
}

/// Of ours, the one to ask from: on the target's own network if there is one (RFC 6724 in small).
packet::ipv6_address source_for(const config::port& port, const datapath::port_entry& entry,
                                const ip_address& target) {
    if (!target.is_link_local())
        for (const ip_prefix& p : port.addresses)
            if (p.contains(target)) return v6_of(p.address);
    return entry.v6.front();
}

}  // namespace

void router::take_arp(rte_mbuf* packet) {
    const datapath::punted& p = datapath::punted_of(packet);
    const uint16_t in = p.in_port;
    const datapath::port_entry& port = tables_.port[in];
    const packet::arp_message message = packet::view<packet::arp_message>(
        rte_pktmbuf_mtod_offset(packet, const uint8_t*, p.parsed.l2_bytes));
    std::vector<uint32_t> ours;
    for (const auto& own : port.v4) ours.push_back(own.address);
    if (const drop_reason why = packet::check_arp(message, ours); why != drop_reason::none)
        return out_.drop(packet, in, why);

    const uint32_t sender = message.sender_ip, target = message.target_ip;
    const bool for_us = std::find(ours.begin(), ours.end(), target) != ours.end();
    const ip_address from = ip_address::from_v4(sender);
    if (sender != 0 && on_link(in, from)) {
        // RFC 826: what we know is merged; who asks for us is learnt. A reply to us is an answer.
        if (message.operation == packet::arp_reply && for_us)
            neighbours_->confirm(in, from, {.mac = message.sender_mac, .solicited = true}, now_ms_);
        else
            neighbours_->learn(in, from, message.sender_mac, for_us, now_ms_);
    }
    if (!for_us || message.operation != packet::arp_request) return out_.consume(packet, in);
    const uint32_t bytes =
        packet::write_arp_reply(frame_of(packet), {port.mac, target}, {message.sender_mac, sender});
    if (bytes == 0) return out_.consume(packet, in);
    out_.turn_around(in);
    out_.send(packet, in);
}

void router::take_nd(rte_mbuf* packet) {
    const datapath::punted& p = datapath::punted_of(packet);
    const packet::mac_address* link = nullptr;
    // A whole ND message is far shorter than a segment; what does not lie in one is not believed.
    if (packet->nb_segs != 1 && rte_pktmbuf_linearize(packet) != 0)
        return out_.drop(packet, p.in_port, drop_reason::headers_scattered);
    if (const drop_reason why = packet::check_nd(frame_of(packet), p.parsed, link);
        why != drop_reason::none)
        return out_.drop(packet, p.in_port, why);
    if (p.parsed.icmp_type == packet::icmp6_neighbour_solicitation)
        return answer_solicitation(packet, link);
    if (p.parsed.icmp_type == packet::icmp6_neighbour_advertisement)
        take_advertisement(packet, link);
    // Router messages and redirects are valid and for hosts; a router has no use for them.
    out_.consume(packet, p.in_port);
}

void router::answer_solicitation(rte_mbuf* packet, const packet::mac_address* link) {
    const datapath::punted& p = datapath::punted_of(packet);
    const uint16_t in = p.in_port;
    const datapath::port_entry& port = tables_.port[in];
    auto* frame = rte_pktmbuf_mtod(packet, uint8_t*);
    const auto source = packet::view<packet::ipv6_header>(frame + p.parsed.l2_bytes).source;
    const auto target = packet::view<packet::nd_message>(frame + p.parsed.upper_offset).target;
    if (!is_ours(port, target)) return out_.consume(packet, in);
    const bool probe = source == packet::ipv6_unspecified;  // duplicate address detection
    packet::mac_address asker = packet::view<packet::ethernet_header>(frame).source;
    if (link != nullptr) asker = *link;
    const ip_address from = ip_address::from_v6(source.bytes);
    if (!probe && on_link(in, from)) neighbours_->learn(in, from, asker, true, now_ms_);
    std::array<uint8_t, packet::nd_frame_bytes> answer;
    const uint32_t bytes =
        packet::write_neighbour_advertisement(answer, {port.mac, target}, {asker, source},
                                              packet::nd_flag_router | packet::nd_flag_override |
                                                  (probe ? 0 : packet::nd_flag_solicited));
    out_.consume(packet, in);
    if (bytes != 0) out_.originate_and_send(in, std::span(answer).first(bytes));
}

void router::take_advertisement(rte_mbuf* packet, const packet::mac_address* link) {
    const datapath::punted& p = datapath::punted_of(packet);
    const auto& message = packet::view<packet::nd_message>(
        rte_pktmbuf_mtod_offset(packet, const uint8_t*, p.parsed.upper_offset));
    const ip_address target = ip_address::from_v6(message.target.bytes);
    if (!on_link(p.in_port, target) || is_ours(tables_.port[p.in_port], message.target)) return;
    const uint32_t flags = message.icmp.rest;
    packet::mac_address mac =
        packet::view<packet::ethernet_header>(rte_pktmbuf_mtod(packet, const uint8_t*)).source;
    if (link != nullptr) mac = *link;
    neighbours_->confirm(p.in_port, target,
                         {.mac = mac,
                          .solicited = (flags & packet::nd_flag_solicited) != 0,
                          .overrides = (flags & packet::nd_flag_override) != 0},
                         now_ms_);
}

void router::solicit(uint16_t index, const ip_address& a, const packet::mac_address* known) {
    const datapath::port_entry& port = tables_.port[index];
    std::array<uint8_t, std::max(packet::nd_frame_bytes, packet::arp_frame_bytes)> frame;
    uint32_t bytes = 0;
    if (a.v6) {
        const packet::nd_host us{port.mac, source_for(model_.ports[index], port, a)};
        bytes = known != nullptr ? packet::write_neighbour_probe(frame, us, {*known, v6_of(a)})
                                 : packet::write_neighbour_solicitation(frame, us, v6_of(a));
    } else {
        uint32_t ours = port.v4.empty() ? 0 : port.v4.front().address;
        for (const ip_prefix& p : model_.ports[index].addresses)
            if (p.contains(a)) ours = p.address.v4();
        bytes = packet::write_arp_request(frame, {port.mac, ours}, a.v4(),
                                          known != nullptr ? *known : packet::broadcast_mac);
    }
    out_.originate_and_send(index, std::span(frame).first(bytes));
}

/// RFC 5227 section 2.3 and RFC 4861 section 7.2.6: others may have stale knowledge of us.
void router::announce(uint16_t index) {
    const datapath::port_entry& port = tables_.port[index];
    std::array<uint8_t, std::max(packet::nd_frame_bytes, packet::arp_frame_bytes)> frame;
    for (const auto& own : port.v4) {
        const uint32_t bytes =
            packet::write_arp_request(frame, {port.mac, own.address}, own.address);
        out_.originate_and_send(index, std::span(frame).first(bytes));
    }
    for (const auto& own : port.v6) {
        const uint32_t bytes = packet::write_neighbour_advertisement(
            frame, {port.mac, own}, {packet::broadcast_mac, packet::ipv6_unspecified},
            packet::nd_flag_router | packet::nd_flag_override);
        out_.originate_and_send(index, std::span(frame).first(bytes));
    }
}

}  // namespace turnpike::control
