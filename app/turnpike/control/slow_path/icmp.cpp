// SPDX-License-Identifier: BSD-3-Clause
#include "control/slow_path/icmp.hpp"

#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <optional>

#include "control/slow_path/own_source.hpp"
#include "datapath/segments_sum.hpp"
#include "packet/checksum.hpp"
#include "packet/ipv4.hpp"
#include "packet/ipv6.hpp"
#include "packet/mld.hpp"

namespace turnpike::control::slow_path {

using datapath::drop_reason;
using datapath::interface;
using packet::icmp_error;

namespace {

// RFC 792 and RFC 4443 section 3: codes.
constexpr uint8_t net_unreachable = 0, host_unreachable = 1, protocol_unreachable = 2,
                  port_unreachable = 3, prohibited = 13;
constexpr uint8_t v6_no_route = 0, v6_prohibited = 1, v6_address_unreachable = 3,
                  v6_port_unreachable = 4;

ip_address source_of(const owned_mbuf& p) noexcept {
    return address_at(p, p.about().parsed.source_offset());
}

bool has_ports(uint8_t protocol) noexcept {
    return protocol == packet::protocol_udp || protocol == packet::protocol_tcp ||
           protocol == packet::protocol_udp_lite || protocol == packet::protocol_sctp;
}

/// An echo request to a group is answered from a unicast address; updates the checksum for the
/// change.
void set_source(std::span<uint8_t> lead, const packet::parsed& p,
                const ipv6_address& from) noexcept {
    auto& ip = packet::header_at<packet::ipv6_header>(&lead[p.l2_bytes]);
    auto& icmp = packet::header_at<packet::icmp_header>(&lead[p.upper_offset]);
    for (size_t i = 0; i < sizeof from; i += 2)
        icmp.checksum =
            packet::update_checksum(icmp.checksum, load_be<uint16_t>(&ip.source.bytes[i]),
                                    load_be<uint16_t>(&from.bytes[i]));
    ip.source = from;
}

/// check_icmp of a message in several segments. p.upper_offset is in the first.
drop_reason check_scattered_icmp(const owned_mbuf& in_hand) noexcept {
    const packet::parsed& p = in_hand.about().parsed;
    const uint32_t bytes = p.l2_bytes + p.l3_bytes - p.upper_offset;
    if (!p.is(packet::flag_icmp) || p.upper_offset + bytes > in_hand.get()->pkt_len)
        return drop_reason::icmp_truncated;
    uint32_t sum = rte_be_to_cpu_16(datapath::sum_of(in_hand.get(), p.upper_offset, bytes));
    if (!p.is_ipv4()) {
        const auto& ip = packet::header_at<packet::ipv6_header>(in_hand.lead().data() + p.l2_bytes);
        sum = packet::sum_bytes(ip.source.bytes, sum);
        sum = packet::sum_bytes(ip.destination.bytes, sum);
        sum += (bytes >> 16) + (bytes & 0xffff) + packet::protocol_icmpv6;
    }
    return packet::fold(sum) == 0xffff ? drop_reason::none : drop_reason::icmp_checksum;
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
        case drop_reason::route_not_followed:
            return v4 ? icmp_error{packet::icmp4_unreachable, net_unreachable}
                      : icmp_error{packet::icmp6_unreachable, v6_no_route};
        // An unreachable host, and a route of type unreachable (which Linux answers alike).
        case drop_reason::neighbour_failed:
        case drop_reason::route_unreachable:
            return v4 ? icmp_error{packet::icmp4_unreachable, host_unreachable}
                      : icmp_error{packet::icmp6_unreachable, v6_address_unreachable};
        // RFC 1812 section 5.2.7.1, RFC 4443 section 3.1.
        case drop_reason::route_prohibited:
            return v4 ? icmp_error{packet::icmp4_unreachable, prohibited}
                      : icmp_error{packet::icmp6_unreachable, v6_prohibited};
        default:
            return {0, 0};
    }
}

bool icmp_errors::may_send(const owned_mbuf& p, const icmp_error& error) noexcept {
    const bool v4 = p.about().parsed.is_ipv4();
    const bool too_big = v4 ? error.type == packet::icmp4_unreachable &&
                                  error.code == packet::icmp4_code_fragmentation_needed
                            : error.type == packet::icmp6_too_big;
    return too_big ? too_big_rate_.allow(p.about(), message_rate::host_of(source_of(p)),
                                         context_.now_ms)
                   : rate_.allow(p.about(), context_.now_ms);
}

void icmp_errors::send(const owned_mbuf& p, const icmp_error& error) {
    const datapath::punted& about = p.about();
    const interface& in = context_.interface(about.in_interface);
    if (in.addresses == nullptr || !packet::may_report(p.lead(), about.parsed, error)) return;
    constexpr size_t ethernet = sizeof(packet::ethernet_header);
    std::array<uint8_t, ethernet + packet::icmp6_error_max_bytes> frame{};
    const std::span<uint8_t> ip = std::span(frame).subspan(ethernet);
    uint32_t bytes = 0;
    if (about.parsed.is_ipv4()) {
        if (!may_send(p, error)) return;
        const uint32_t from = v4_error_source(context_, about.in_interface, source_of(p));
        bytes = packet::write_icmp4_error(ip, p.lead(), about.parsed, error, from);
    } else {
        const auto from = v6_answerer(context_, own_, p);
        if (!from || !may_send(p, error)) return;
        bytes = packet::write_icmp6_error(ip, p.lead(), about.parsed, error, *from);
    }
    if (bytes == 0) return;
    rte_mbuf* message = context_.out.originate(in.port, std::span(frame).first(ethernet + bytes));
    if (message == nullptr) return;
    datapath::punted_of(message).in_port = in.port;
    context_.route_own(owned_mbuf(message, context_.out), source_of(p), about.in_interface);
}

void icmp_errors::send_as_receiver(const owned_mbuf& p, const icmp_error& error, uint16_t by) {
    const packet::parsed& about = p.about().parsed;
    if (!packet::may_report(p.lead(), about, error) || !may_send(p, error)) return;
    // The Ethernet header with its tags, with swapped addresses.
    const uint8_t* const told_of = p.lead().data();
    constexpr size_t max_l2_rules =
        sizeof(packet::ethernet_header) + packet::max_vlan_tags * sizeof(packet::vlan_tag);
    std::array<uint8_t, max_l2_rules + packet::icmp6_error_max_bytes> frame{};
    std::copy_n(told_of, about.l2_bytes, frame.begin());
    std::swap_ranges(frame.begin(), frame.begin() + 6, frame.begin() + 6);
    const std::span<uint8_t> ip = std::span(frame).subspan(about.l2_bytes);
    const uint8_t* const receiver = told_of + about.destination_offset();
    uint32_t bytes = 0;
    if (about.is_ipv4()) {
        bytes = packet::write_icmp4_error(ip, p.lead(), about, error, load_be<uint32_t>(receiver));
    } else {
        ipv6_address from;
        std::copy_n(receiver, sizeof from, from.bytes);
        bytes = packet::write_icmp6_error(ip, p.lead(), about, error, from);
    }
    if (bytes != 0)
        context_.out.originate_and_send({.port = p.about().in_port, .interface = by},
                                        std::span(frame).first(about.l2_bytes + bytes));
}

void too_big::handle(owned_mbuf p) {
    const datapath::punted& about = p.about();
    const uint16_t by = about.out.interface;
    const datapath::snapshot& v = *context_.published.load(std::memory_order_relaxed);
    if (v.interfaces[by].port == datapath::tunnel_port) {
        const bool v4 = about.parsed.is_ipv4();
        // One VLAN tag does not count (inner_flow.hpp), a second one does.
        const size_t tags = about.parsed.l2_bytes - sizeof(packet::ethernet_header);
        const size_t counted = tags - std::min(tags, sizeof(packet::vlan_tag));
        errors_.send_as_receiver(
            p,
            icmp_error_of(v4 ? drop_reason::ipv4_too_big : drop_reason::ipv6_too_big, v4,
                          static_cast<uint16_t>(v.tunnels->by_ifindex[by].mtu - counted)),
            by);
    }
    p.drop(about.drop);
}

void icmp_error_sender::handle(owned_mbuf p) {
    const datapath::punted& about = p.about();
    const uint16_t mtu = about.mtu != 0
                             ? about.mtu
                             : context_.nexthops[about.nexthop].mtu.load(std::memory_order_relaxed);
    errors_.send(p, icmp_error_of(about.drop, about.parsed.is_ipv4(), mtu));
    p.drop(about.drop);
}

void local::handle(owned_mbuf p) {
    const packet::parsed& h = p.about().parsed;
    const bool v4 = h.is_ipv4();
    const bool whole = !h.is(packet::flag_fragment);
    const bool is_icmp =
        whole && h.upper_protocol == (v4 ? packet::protocol_icmp : packet::protocol_icmpv6);
    const interface& in = interface_of(p);
    if (!v4 && context_.host.has(p.about().in_interface)) {
        const ipv6_address to =
            packet::header_at<packet::ipv6_header>(p.lead().data() + h.l2_bytes).destination;
        if (packet::is_link_local(to) && to != in.addresses->v6.front())
            return context_.host.deliver(std::move(p), context_.now_ms);
    }
    if (!v4 && whole &&
        own_.is_duplicate(
            packet::header_at<packet::ipv6_header>(p.lead().data() + h.l2_bytes).destination,
            p.about().in_interface))
        return p.drop(drop_reason::duplicate_address);
    if (is_icmp) {
        const drop_reason why = p.get()->nb_segs == 1
                                    ? datapath::drop_reason_of(packet::check_icmp(p.lead(), h))
                                    : check_scattered_icmp(p);
        if (why != drop_reason::none) return p.drop(why);
        // The kernel decides about echo requests to IPv4 groups and broadcasts (RFC 1122 section 3.2.2.6). A group's may be
        // in a frame to our own MAC address, and is no source of a reply (section 3.2.1.3).
        const uint8_t* const frame = p.lead().data();
        const bool to_many =
            v4 && (packet::header_at<packet::ethernet_header>(frame).destination.is_group() ||
                   packet::is_ipv4_multicast(
                       packet::header_at<packet::ipv4_header>(frame + h.l2_bytes).destination));
        if (!to_many &&
            h.icmp_type == (v4 ? uint8_t{packet::icmp4_echo} : uint8_t{packet::icmp6_echo}))
            return echo(std::move(p));
        if (const auto query = packet::read_mld_query(p.lead(), h))
            own_.queried(p.about().in_interface, *query);
        return context_.deliver_or_consume(
            std::move(p));  // a reply, or an error about an originated packet
    }
    if (v4 && whole && h.upper_protocol == packet::protocol_igmp && igmp_.process_query(p))
        return context_.deliver_or_consume(std::move(p));
    if (context_.host.has(p.about().in_interface))
        return context_.host.deliver(std::move(p), context_.now_ms);
    if (!whole) return p.drop(drop_reason::local_fragment);
    if (has_ports(h.upper_protocol))
        errors_.send(p, v4 ? icmp_error{packet::icmp4_unreachable, port_unreachable}
                           : icmp_error{packet::icmp6_unreachable, v6_port_unreachable});
    else if (v4)
        errors_.send(p, {packet::icmp4_unreachable, protocol_unreachable});
    p.drop(drop_reason::local_protocol);
}

void local::echo(owned_mbuf p) {
    if (!echo_rate_.allow(p.about(), context_.now_ms)) return p.drop(drop_reason::icmp_rate);
    const datapath::punted about = p.about();
    const ip_address asker = source_of(p);
    std::optional<ipv6_address> from;
    if (!about.parsed.is_ipv4()) {
        const auto& to =
            packet::header_at<packet::ipv6_header>(p.lead().data() + about.parsed.l2_bytes)
                .destination;
        // RFC 4443 section 4.2: a unicast destination is the source of the reply, of the router or of its kernel alone.
        if (packet::is_multicast(to)) {
            from = v6_answerer(context_, own_, p);
            if (!from) return p.consume();
        }
    }
    // A request with options, a routing header, or a code: the kernel reflects them (RFC 1122 section 3.2.2.6), if it has the address.
    if (!packet::write_echo_reply(p.lead(), about.parsed)) {
        const auto& prefixes = interface_of(p).addresses->prefixes;
        const bool is_here =
            std::ranges::find(prefixes, address_at(p, about.parsed.destination_offset()),
                              &ip_prefix::address) != prefixes.end();
        return is_here ? context_.deliver_or_consume(std::move(p)) : p.consume();
    }
    if (from) set_source(p.lead(), about.parsed, *from);
    context_.out.reply_in_place(about.in_port);
    context_.route_own(std::move(p), asker, about.in_interface);
}

}  // namespace turnpike::control::slow_path
