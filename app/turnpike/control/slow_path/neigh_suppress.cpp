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

mac_address mac_of_bound(const bound_address& who) noexcept {
    mac_address out;
    const uint64_t bytes = who.mac();
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(out.bytes, &bytes, sizeof out.bytes);
    return out;
}

}  // namespace

/// The packet is a copy: the original has been forwarded.
void neigh_suppress::handle(owned_mbuf p) {
    packet::parsed h;
    if (bridges_.addresses() != nullptr &&
        (p.get()->nb_segs == 1 || rte_pktmbuf_linearize(p.get()) == 0) &&
        datapath::read_headers(p.get(), h) && h.l3_drop == packet::drop_reason::none) {
        if (h.l3 == packet::l3_kind::arp) handle_arp(p, h);
        if (packet::is_nd(h)) handle_nd(p, h);
    }
    p.consume();
}

void neigh_suppress::handle_arp(const owned_mbuf& p, const packet::parsed& h) {
    const auto& arp = packet::header_at<packet::arp_message>(p.lead().data() + h.l2_bytes);
    if (packet::check_arp(arp, {}) != packet::drop_reason::none) return;
    const uint16_t domain = p.about().domain;
    const uint32_t sender = arp.sender_ip, target = arp.target_ip;
    if (sender == 0)
        return;  // a probe has no binding, and must reach the address's owner (RFC 5227)
    if (arp.sender_mac == ethernet_of(p).source)
        bridges_.addresses()->learn(address_key_of(sender, domain),
                                    bound_address(arp.sender_mac, 0));
    if (arp.operation != packet::arp_request || sender == target) return;
    const bound_address who = to_be_named(p, address_key_of(target, domain));
    if (!who) return;
    std::array<uint8_t, packet::arp_frame_bytes> frame;
    if (packet::write_arp_reply(frame, {mac_of_bound(who), target}, {arp.sender_mac, sender}) != 0)
        send_reply(p, frame);
}

void neigh_suppress::handle_nd(const owned_mbuf& p, const packet::parsed& h) {
    const mac_address* link = nullptr;
    if (packet::check_nd(p.lead(), h, link) != packet::drop_reason::none) return;
    const uint8_t* const frame = p.lead().data();
    const auto source = packet::header_at<packet::ipv6_header>(frame + h.l2_bytes).source;
    const auto& nd = packet::header_at<packet::nd_message>(frame + h.upper_offset);
    const auto key = address_key_of(nd.target, p.about().domain);
    const mac_address from = ethernet_of(p).source;
    if (h.icmp_type == packet::icmp6_neighbour_advertisement) {
        // Only a binding that its owner sends: RFC 9161 section 3.1.
        if (link != nullptr && *link == from)
            bridges_.addresses()->learn(key, bound_address(from, uint32_t{nd.icmp.rest}));
        return;
    }
    if (h.icmp_type != packet::icmp6_neighbour_solicitation || source == packet::ipv6_unspecified)
        return;
    const bound_address who = to_be_named(p, key);
    if (!who) return;
    std::array<uint8_t, packet::nd_frame_bytes> advertisement;
    const uint32_t bytes = packet::write_neighbour_advertisement(
        advertisement, {mac_of_bound(who), nd.target}, {link != nullptr ? *link : from, source},
        packet::nd_flag_solicited | who.flags());
    if (bytes != 0) send_reply(p, std::span(advertisement).first(bytes));
}

/// The worker's check (datapath/neigh_suppress.cpp), repeated with current tables.
bound_address neigh_suppress::to_be_named(const owned_mbuf& p,
                                          const datapath::address_key& asked) const {
    constexpr bound_address none(0);
    const datapath::snapshot& v = *context_.published.load(std::memory_order_relaxed);
    const bool group = (ethernet_of(p).destination.bytes[0] & 1) != 0;
    if (v.bridges == nullptr || v.bridges->addresses == nullptr || !group ||
        v.bridges->exits[p.about().in_interface].is != datapath::bridge_exit::member)
        return none;
    const bound_address who = bridges_.addresses()->find(asked);
    const uint16_t ifindex = who ? bridges_.ifindex_of(who.mac(), p.about().domain) : uint16_t{0};
    return v.bridges->members[ifindex].neigh_suppress ? who : none;
}

void neigh_suppress::send_reply(const owned_mbuf& p, std::span<const uint8_t> frame) {
    context_.out.originate_and_send(
        {.port = p.about().in_port, .interface = p.about().in_interface}, frame, p.about().domain);
}

}  // namespace turnpike::control::slow_path
