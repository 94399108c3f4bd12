// SPDX-License-Identifier: BSD-3-Clause
#include "control/slow_path/redirects.hpp"

#include <rte_mbuf.h>

#include <algorithm>
#include <array>

#include "packet/icmp.hpp"
#include "packet/ipv4_options.hpp"
#include "packet/nd.hpp"

namespace turnpike::control::slow_path {

/// RFC 1812 section 5.2.7.2: sender and next hop are in one network, and the packet has no source
/// route. Hosts accept a redirect only from their router's address (RFC 1122 section 3.2.2.2): our
/// address in that network.
uint32_t redirects::write4(const owned_mbuf& p, const known_neighbour& by, std::span<uint8_t> ip) {
    constexpr uint8_t of_host = 1;
    const packet::parsed& h = p.about().parsed;
    const ip_address source = address_at(p, h.source_offset());
    const auto& networks = interface_of(p).addresses->prefixes;
    const auto shared = std::find_if(networks.begin(), networks.end(), [&](const ip_prefix& n) {
        return n.contains(source) && n.contains(by.address);
    });
    if (by.address.v6 || shared == networks.end() ||
        packet::is_source_routed(p.lead().data() + h.l2_bytes, h.ipv4_header_bytes))
        return 0;
    return packet::write_icmp4_error(
        ip, p.lead(), h, {packet::icmp4_redirect, of_host, by.address.v4()}, shared->address.v4());
}

/// RFC 4861 section 8.2: the sender is a neighbour; the target is a router's link-local address, or
/// the destination.
uint32_t redirects::write6(const owned_mbuf& p, const known_neighbour& by, std::span<uint8_t> ip) {
    const packet::parsed& h = p.about().parsed;
    const ip_address source = address_at(p, h.source_offset());
    const bool itself = by.address == address_at(p, h.destination_offset());
    const uint16_t in = p.about().in_interface;
    const ipv6_address& us = interface_of(p).addresses->v6.front();
    if (!(itself || by.address.is_link_local()) || !context_.may_be_neighbour(in, source) ||
        own_.is_tentative(in, us) || own_.is_duplicate(in, us))
        return 0;
    return packet::write_redirect(ip, p.lead(), h,
                                  {by.address.v6_bytes(), by.mac ? &*by.mac : nullptr}, us);
}

void redirects::handle(owned_mbuf p) {
    constexpr size_t ethernet = sizeof(packet::ethernet_header);
    const datapath::punted& about = p.about();
    const datapath::interface& in = interface_of(p);
    const auto by = context_.known.of_nexthop(about.nexthop);
    const ip_address sender = address_at(p, about.parsed.source_offset());
    if (!in.send_redirects || !by || by->interface != about.in_interface || by->address == sender)
        return p.consume();
    std::array<uint8_t, ethernet + packet::icmp6_error_max_bytes> frame{};
    const std::span<uint8_t> ip = std::span(frame).subspan(ethernet);
    const uint32_t bytes = about.parsed.is_ipv4() ? write4(p, *by, ip) : write6(p, *by, ip);
    if (bytes == 0 || !rate_.allow(about, context_.now_ms)) return p.consume();
    rte_mbuf* message = context_.out.originate(in.port, std::span(frame).first(ethernet + bytes));
    if (message == nullptr) return p.consume();
    datapath::punted_of(message).in_port = in.port;
    context_.route_own(owned_mbuf(message, context_.out), sender, about.in_interface);
    p.consume();
}

}  // namespace turnpike::control::slow_path
