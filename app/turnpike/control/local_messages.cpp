// SPDX-License-Identifier: BSD-3-Clause
// The router's own ICMP: echo replies, and errors about what was not forwarded.
#include <rte_mbuf.h>

#include <array>

#include "control/router.hpp"
#include "packet/ipv6.hpp"

namespace turnpike::control {

using packet::drop_reason;
using packet::icmp_error;

namespace {

// RFC 792 and RFC 4443 section 3: codes.
constexpr uint8_t net_unreachable = 0, host_unreachable = 1, protocol_unreachable = 2,
                  port_unreachable = 3;
constexpr uint8_t v6_no_route = 0, v6_address_unreachable = 3, v6_port_unreachable = 4;

std::span<uint8_t> lead_of(rte_mbuf* m) noexcept {
    return {rte_pktmbuf_mtod(m, uint8_t*), m->data_len};
}

ip_address source_of(rte_mbuf* m, const packet::parsed& p) noexcept {
    const auto* source = rte_pktmbuf_mtod_offset(m, const uint8_t*, p.source_offset());
    return p.is_ipv4() ? ip_address::from_v4(load_be<uint32_t>(source))
                       : ip_address::from_v6(source);
}

bool has_ports(uint8_t protocol) noexcept {
    return protocol == packet::protocol_udp || protocol == packet::protocol_tcp ||
           protocol == packet::protocol_udp_lite || protocol == packet::protocol_sctp;
}

}  // namespace

icmp_error icmp_error_of(drop_reason why, bool v4, uint16_t mtu) noexcept {
    switch (why) {
        case drop_reason::ipv4_ttl:
            return {packet::icmp4_time_exceeded, 0};
        case drop_reason::ipv6_hop_limit:
            return {packet::icmp6_time_exceeded, 0};
        case drop_reason::ipv4_too_big:
            return {packet::icmp4_unreachable, packet::icmp4_code_fragmentation_needed, mtu};
        case drop_reason::ipv6_too_big:
            return {packet::icmp6_too_big, 0, mtu};
        case drop_reason::no_route:
            return v4 ? icmp_error{packet::icmp4_unreachable, net_unreachable}
                      : icmp_error{packet::icmp6_unreachable, v6_no_route};
        // A host that does not answer, and a route that says so (as Linux answers for it).
        case drop_reason::neighbour_failed:
        case drop_reason::route_unreachable:
            return v4 ? icmp_error{packet::icmp4_unreachable, host_unreachable}
                      : icmp_error{packet::icmp6_unreachable, v6_address_unreachable};
        default:
            return {0, 0};
    }
}

void router::take_report(rte_mbuf* packet) {
    const datapath::punted& p = datapath::punted_of(packet);
    const uint16_t mtu = tables_.port[p.out_port < tables_.ports ? p.out_port : p.in_port].mtu;
    report(packet, icmp_error_of(p.drop, p.parsed.is_ipv4(), mtu));
    out_.drop(packet, p.in_port, p.drop);
}

void router::give_up(rte_mbuf* packet, drop_reason why) {
    const datapath::punted& p = datapath::punted_of(packet);
    // Only a packet that was to be forwarded has a sender to tell.
    if (why == drop_reason::neighbour_failed && p.why == datapath::punt_reason::resolve)
        report(packet, icmp_error_of(why, p.parsed.is_ipv4(), 0));
    out_.drop(packet, p.in_port, why);
}

void router::report(rte_mbuf* packet, const icmp_error& error) {
    const datapath::punted p = datapath::punted_of(packet);
    const datapath::port_entry& in = tables_.port[p.in_port];
    if ((p.parsed.is_ipv4() && in.v4.empty()) ||
        !packet::may_report(lead_of(packet), p.parsed, error))
        return;
    if (!icmp_.take(now_ms_)) return;
    constexpr size_t ethernet = sizeof(packet::ethernet_header);
    std::array<uint8_t, ethernet + packet::icmp6_error_max_bytes> frame{};
    const std::span<uint8_t> ip = std::span(frame).subspan(ethernet);
    // RFC 1812 section 4.3.2.4: from the interface that the error goes out by, which is the one the
    // packet came in by; RFC 4443 section 2.2. A global address, where the port has one.
    const uint32_t bytes =
        p.parsed.is_ipv4()
            ? packet::write_icmp4_error(ip, lead_of(packet), p.parsed, error, in.v4.front().address)
            : packet::write_icmp6_error(ip, lead_of(packet), p.parsed, error,
                                        in.v6[in.v6.size() > 1 ? 1 : 0]);
    if (bytes == 0) return;
    rte_mbuf* message = out_.originate(p.in_port, std::span(frame).first(ethernet + bytes));
    if (message != nullptr) route_own(message, source_of(packet, p.parsed), p.in_port);
}

void router::take_local(rte_mbuf* packet) {
    const datapath::punted& p = datapath::punted_of(packet);
    const packet::parsed& h = p.parsed;
    if (h.is(packet::flag_fragment))
        return out_.drop(packet, p.in_port, drop_reason::local_fragment);
    const bool v4 = h.is_ipv4();
    if (h.upper_protocol == (v4 ? packet::protocol_icmp : packet::protocol_icmpv6)) {
        if (packet->nb_segs != 1 && rte_pktmbuf_linearize(packet) != 0)
            return out_.drop(packet, p.in_port, drop_reason::headers_scattered);
        if (const drop_reason why = packet::check_icmp(lead_of(packet), h);
            why != drop_reason::none)
            return out_.drop(packet, p.in_port, why);
        if (h.icmp_type == (v4 ? uint8_t{packet::icmp4_echo} : uint8_t{packet::icmp6_echo}))
            return echo(packet);
        return out_.consume(packet, p.in_port);  // an answer, or an error about a packet of ours
    }
    if (has_ports(h.upper_protocol))
        report(packet, v4 ? icmp_error{packet::icmp4_unreachable, port_unreachable}
                          : icmp_error{packet::icmp6_unreachable, v6_port_unreachable});
    else if (v4)
        report(packet, {packet::icmp4_unreachable, protocol_unreachable});
    out_.drop(packet, p.in_port, drop_reason::local_protocol);
}

void router::echo(rte_mbuf* packet) {
    const datapath::punted& p = datapath::punted_of(packet);
    if (!icmp_.take(now_ms_)) return out_.drop(packet, p.in_port, drop_reason::icmp_rate);
    const ip_address asker = source_of(packet, p.parsed);
    const uint16_t in = p.in_port;
    if (!packet::write_echo_reply(lead_of(packet), p.parsed)) return out_.consume(packet, in);
    out_.turn_around(in);
    route_own(packet, asker, in);
}

}  // namespace turnpike::control
