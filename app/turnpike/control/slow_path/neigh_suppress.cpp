// SPDX-License-Identifier: BSD-3-Clause
#include "control/slow_path/neigh_suppress.hpp"

#include <rte_mbuf.h>

#include <array>

#include "datapath/read_headers.hpp"
#include "packet/arp.hpp"
#include "packet/ipv6.hpp"
#include "packet/nd.hpp"

namespace turnpike::control::slow_path {

using datapath::address_key_of;
using datapath::bound_address;
using datapath::drop_reason;

namespace {

const packet::ethernet_header& ethernet_of(const owned_mbuf& p) noexcept {
    return packet::header_at<packet::ethernet_header>(p.lead().data());
}

/// A message as read_headers() and the protocol's checks take it.
bool is_message(const owned_mbuf& p, packet::parsed& h) {
    if (!datapath::read_headers(p.get(), h) || h.l3_drop != packet::drop_reason::none) return false;
    if (h.l3 == packet::l3_kind::arp)
        return packet::check_arp(
                   packet::header_at<packet::arp_message>(p.lead().data() + h.l2_bytes), {}) ==
               packet::drop_reason::none;
    const mac_address* link = nullptr;
    return packet::is_nd(h) && packet::check_nd(p.lead(), h, link) == packet::drop_reason::none;
}

/// The link-layer address in a message that check_nd() accepts; null: none.
const mac_address* link_address_of(const owned_mbuf& p, const packet::parsed& h) {
    const mac_address* link = nullptr;
    static_cast<void>(packet::check_nd(p.lead(), h, link));
    return link;
}

}  // namespace

/// The packet is a copy: the original has been forwarded.
void neigh_suppress::handle(owned_mbuf p) {
    packet::parsed h;
    if (bridges_.addresses() != nullptr &&
        (p.get()->nb_segs == 1 || rte_pktmbuf_linearize(p.get()) == 0) && is_message(p, h)) {
        if (h.l3 == packet::l3_kind::arp)
            learn_from_arp(p, h);
        else
            learn_from_nd(p, h);
        if (!context_.answered)
            static_cast<void>(h.l3 == packet::l3_kind::arp ? answer_arp(p, h) : answer_nd(p, h));
    }
    p.consume();
}

/// By workers' tables: control's may be lent.
bool neigh_suppress::answer(const owned_mbuf& p) {
    packet::parsed h;
    if (p.get()->nb_segs != 1 || !is_message(p, h)) return false;
    return h.l3 == packet::l3_kind::arp ? answer_arp(p, h) : answer_nd(p, h);
}

void neigh_suppress::learn_from_arp(const owned_mbuf& p, const packet::parsed& h) {
    const auto& arp = packet::header_at<packet::arp_message>(p.lead().data() + h.l2_bytes);
    // A probe has no binding (RFC 5227).
    if (arp.sender_ip != 0 && arp.sender_mac == ethernet_of(p).source)
        bridges_.addresses()->learn(address_key_of(uint32_t{arp.sender_ip}, p.about().domain),
                                    bound_address(arp.sender_mac, 0));
}

bool neigh_suppress::answer_arp(const owned_mbuf& p, const packet::parsed& h) {
    const auto& arp = packet::header_at<packet::arp_message>(p.lead().data() + h.l2_bytes);
    const uint32_t sender = arp.sender_ip, target = arp.target_ip;
    // A probe must reach the address's owner (RFC 5227).
    if (arp.operation != packet::arp_request || sender == 0 || sender == target) return false;
    const bound_address who = to_be_named(p, address_key_of(target, p.about().domain));
    if (!who) return false;
    std::array<uint8_t, packet::arp_frame_bytes> frame;
    if (packet::write_arp_reply(frame, {datapath::mac_of(who.mac()), target},
                                {arp.sender_mac, sender}) == 0)
        return false;
    send_reply(p, frame);
    return true;
}

void neigh_suppress::learn_from_nd(const owned_mbuf& p, const packet::parsed& h) {
    const auto& nd = packet::header_at<packet::nd_message>(p.lead().data() + h.upper_offset);
    const mac_address* const link = link_address_of(p, h);
    const mac_address from = ethernet_of(p).source;
    // Only a binding that its owner sends: RFC 9161 section 3.1.
    if (h.icmp_type == packet::icmp6_neighbour_advertisement && link != nullptr && *link == from)
        bridges_.addresses()->learn(address_key_of(nd.target, p.about().domain),
                                    bound_address(from, uint32_t{nd.icmp.rest}));
}

bool neigh_suppress::answer_nd(const owned_mbuf& p, const packet::parsed& h) {
    const uint8_t* const frame = p.lead().data();
    const auto source = packet::header_at<packet::ipv6_header>(frame + h.l2_bytes).source;
    const auto& nd = packet::header_at<packet::nd_message>(frame + h.upper_offset);
    if (h.icmp_type != packet::icmp6_neighbour_solicitation || source == packet::ipv6_unspecified)
        return false;
    const bound_address who = to_be_named(p, address_key_of(nd.target, p.about().domain));
    if (!who) return false;
    const mac_address* const link = link_address_of(p, h);
    std::array<uint8_t, packet::nd_frame_bytes> advertisement;
    const uint32_t bytes = packet::write_neighbour_advertisement(
        advertisement, {datapath::mac_of(who.mac()), nd.target},
        {link != nullptr ? *link : ethernet_of(p).source, source},
        packet::nd_flag_solicited | who.flags());
    if (bytes == 0) return false;
    send_reply(p, std::span(advertisement).first(bytes));
    return true;
}

/// The worker's check (datapath/neigh_suppress.cpp), repeated.
bound_address neigh_suppress::to_be_named(const owned_mbuf& p,
                                          const datapath::address_key& asked) const {
    constexpr bound_address none(0);
    const datapath::snapshot& v = *context_.published.load(std::memory_order_relaxed);
    const bool group = (ethernet_of(p).destination.bytes[0] & 1) != 0;
    if (v.bridges == nullptr || v.bridges->addresses == nullptr || !group ||
        v.bridges->exits[p.about().in_interface].is != datapath::bridge_exit::member)
        return none;
    uint64_t bound = 0;
    static_cast<void>(v.bridges->addresses->lookup({&asked, 1}, {&bound, 1}));
    const bound_address who(bound);
    if (!who) return none;
    const datapath::fdb_key key = who.mac() | uint64_t{p.about().domain} << 48;
    uint32_t entry = 0;
    static_cast<void>(v.bridges->fdb_entries->lookup({&key, 1}, {&entry, 1}));
    return v.bridges->members[datapath::fdb_entry(entry).ifindex()].neigh_suppress ? who : none;
}

void neigh_suppress::send_reply(const owned_mbuf& p, std::span<const uint8_t> frame) {
    context_.out.originate_and_send(
        {.port = p.about().in_port, .interface = p.about().in_interface}, frame, p.about().domain);
}

}  // namespace turnpike::control::slow_path
