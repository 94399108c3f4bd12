// SPDX-License-Identifier: BSD-3-Clause
#include "packet/icmp.hpp"

#include <algorithm>
#include <utility>

#include "packet/checksum.hpp"
#include "packet/ipv4.hpp"
#include "packet/ipv6.hpp"

namespace turnpike::packet {
namespace {

/// RFC 792: error messages quote the IP header and 64 bits; RFC 4443 quotes as much as fits.
constexpr uint32_t min_quoted_payload_bytes = 8;

/// RFC 1812 section 4.3.2.5: errors have precedence 6, internetwork control.
constexpr uint8_t error_tos = 0xc0;

uint32_t upper_bytes(const parsed& p) noexcept { return p.l2_bytes + p.l3_bytes - p.upper_offset; }

bool is_error4(uint8_t type) noexcept {
    switch (type) {
        case icmp4_unreachable:
        case icmp4_source_quench:
        case icmp4_redirect:
        case icmp4_time_exceeded:
        case icmp4_parameter_problem:
            return true;
        default:
            return false;
    }
}

bool may_report4(const ipv4_header& header, const parsed& p) noexcept {
    if (p.is_later_fragment()) return false;
    if (p.upper_protocol == protocol_icmp && (!p.is(flag_icmp) || is_error4(p.icmp_type)))
        return false;
    const uint32_t destination = header.destination;
    return !is_ipv4_no_host(header.source) && !is_ipv4_multicast(destination) &&
           destination != ipv4_limited_broadcast;
}

/// RFC 4443 section 2.4 e.3 to e.5: the two errors that are sent for multicast packets.
bool multicast_may_cause(const icmp_error& error) noexcept {
    constexpr uint8_t unrecognized_option = 2;
    return error.type == icmp6_too_big ||
           (error.type == icmp6_parameter_problem && error.code == unrecognized_option);
}

bool may_report6(const ipv6_header& header, const parsed& p, const icmp_error& error) noexcept {
    if (p.upper_protocol == protocol_icmpv6) {
        // A later fragment, or a truncated message, may belong to an error.
        if (!p.is(flag_icmp)) return false;
        if (p.icmp_type < icmp6_first_informational || p.icmp_type == icmp6_redirect) return false;
    }
    // Report to link-local sources, which are hosts on this link; not to other martians.
    if (is_ipv6_martian(header.source) && !is_link_local(header.source)) return false;
    return !is_multicast(header.destination) || multicast_may_cause(error);
}

/// Bytes of the reported packet that fit after `own_bytes` of headers; 0 if too few.
uint32_t quoted_bytes(const parsed& p, size_t lead_bytes, size_t room, uint32_t own_bytes,
                      uint32_t header_bytes) noexcept {
    if (room < own_bytes) return 0;
    const size_t fits = std::min({room - own_bytes, lead_bytes - p.l2_bytes, size_t{p.l3_bytes}});
    const uint32_t least = std::min(p.l3_bytes, header_bytes + min_quoted_payload_bytes);
    return fits < least ? 0 : static_cast<uint32_t>(fits);
}

void write_error(std::span<uint8_t> message, const icmp_error& error,
                 const uint8_t* quoted) noexcept {
    auto& icmp = header_at<icmp_header>(message.data());
    icmp = {error.type, error.code, {}, {}};
    icmp.rest = error.rest;
    std::memcpy(message.data() + sizeof icmp, quoted, message.size() - sizeof icmp);
}

}  // namespace

uint16_t icmp6_sum(const ipv6_address& source, const ipv6_address& destination,
                   std::span<const uint8_t> message) noexcept {
    uint32_t sum = sum_bytes(source.bytes);
    sum = sum_bytes(destination.bytes, sum);
    sum += static_cast<uint32_t>(message.size()) + protocol_icmpv6;
    return fold(sum_bytes(message, sum));
}

drop_reason check_icmp(std::span<const uint8_t> lead, const parsed& p) noexcept {
    if (p.l3_drop != drop_reason::none || !p.is(flag_icmp) || p.is(flag_fragment) ||
        lead.size() < p.l2_bytes + p.l3_bytes)
        return drop_reason::icmp_truncated;
    const auto message = lead.subspan(p.upper_offset, upper_bytes(p));
    if (p.is_ipv4())
        return fold(sum_bytes(message)) == 0xffff ? drop_reason::none : drop_reason::icmp_checksum;
    const auto& header = header_at<ipv6_header>(&lead[p.l2_bytes]);
    return icmp6_sum(header.source, header.destination, message) == 0xffff
               ? drop_reason::none
               : drop_reason::icmp_checksum;
}

bool write_echo_reply(std::span<uint8_t> lead, const parsed& p) noexcept {
    if (p.l3_drop != drop_reason::none || !p.is(flag_icmp) || p.is(flag_fragment) ||
        p.is(flag_ipv4_options) || p.is(flag_routing) ||
        lead.size() < p.upper_offset + sizeof(icmp_header))
        return false;
    const uint8_t request = p.is_ipv4() ? uint8_t{icmp4_echo} : uint8_t{icmp6_echo};
    const uint8_t reply = p.is_ipv4() ? uint8_t{icmp4_echo_reply} : uint8_t{icmp6_echo_reply};
    if (p.icmp_type != request || p.icmp_code != 0) return false;
    auto& icmp = header_at<icmp_header>(&lead[p.upper_offset]);
    icmp.type = reply;
    icmp.checksum = update_checksum(icmp.checksum, static_cast<uint16_t>(request << 8),
                                    static_cast<uint16_t>(reply << 8));
    // RFC 1624 presupposes a message that is not all zeros, whose checksum is 0xffff. Elsewhere both zeros are valid.
    if (icmp.checksum == 0 && p.is_ipv4()) icmp.checksum = 0xffff;
    if (p.is_ipv4()) {
        auto& header = header_at<ipv4_header>(&lead[p.l2_bytes]);
        std::swap(header.source, header.destination);
        header.ttl = default_ttl;
        header.checksum = 0;
        header.checksum = checksum(lead.subspan(p.l2_bytes, sizeof header));
    } else {
        auto& header = header_at<ipv6_header>(&lead[p.l2_bytes]);
        std::swap(header.source, header.destination);  // their sum is unchanged
        header.hop_limit = default_ttl;
    }
    return true;
}

bool may_report(std::span<const uint8_t> lead, const parsed& p, const icmp_error& error) noexcept {
    if (p.l3_drop != drop_reason::none || p.l3 == l3_kind::arp) return false;
    const bool to_group = header_at<ethernet_header>(lead.data()).destination.is_group();
    if (p.is_ipv4()) return !to_group && may_report4(header_at<ipv4_header>(&lead[p.l2_bytes]), p);
    if (to_group && !multicast_may_cause(error)) return false;
    return may_report6(header_at<ipv6_header>(&lead[p.l2_bytes]), p, error);
}

uint32_t write_icmp4_error(std::span<uint8_t> packet, std::span<const uint8_t> lead,
                           const parsed& p, const icmp_error& error, uint32_t source) noexcept {
    constexpr uint32_t own_bytes = sizeof(ipv4_header) + sizeof(icmp_header);
    if (!p.is_ipv4() || !may_report(lead, p, error)) return 0;
    const size_t room = std::min<size_t>(packet.size(), icmp4_error_max_bytes);
    const uint32_t quoted = quoted_bytes(p, lead.size(), room, own_bytes, p.ipv4_header_bytes);
    if (quoted == 0) return 0;
    const auto message = packet.subspan(sizeof(ipv4_header), sizeof(icmp_header) + quoted);
    write_error(message, error, &lead[p.l2_bytes]);
    store_be(&message[offsetof(icmp_header, checksum)], checksum(message));

    auto& header = header_at<ipv4_header>(packet.data());
    header = {};
    header.version_ihl = 0x45;
    header.tos = error_tos;
    header.total_bytes = static_cast<uint16_t>(own_bytes + quoted);
    header.fragment = ipv4_dont_fragment;  // an atomic datagram needs no ID (RFC 6864 section 4)
    header.ttl = default_ttl;
    header.protocol = protocol_icmp;
    header.source = source;
    header.destination = header_at<ipv4_header>(&lead[p.l2_bytes]).source;
    header.checksum = checksum(packet.first(sizeof header));
    return own_bytes + quoted;
}

uint32_t write_icmp6_error(std::span<uint8_t> packet, std::span<const uint8_t> lead,
                           const parsed& p, const icmp_error& error,
                           const ipv6_address& source) noexcept {
    constexpr uint32_t own_bytes = sizeof(ipv6_header) + sizeof(icmp_header);
    if (p.l3 != l3_kind::ipv6 || !may_report(lead, p, error)) return 0;
    const size_t room = std::min<size_t>(packet.size(), icmp6_error_max_bytes);
    const uint32_t quoted = quoted_bytes(p, lead.size(), room, own_bytes, sizeof(ipv6_header));
    if (quoted == 0) return 0;
    auto& header = header_at<ipv6_header>(packet.data());
    header.version_class_flow = 6U << 28;
    header.payload_bytes = static_cast<uint16_t>(sizeof(icmp_header) + quoted);
    header.next_header = protocol_icmpv6;
    header.hop_limit = default_ttl;
    header.source = source;
    header.destination = header_at<ipv6_header>(&lead[p.l2_bytes]).source;

    const auto message = packet.subspan(sizeof header, sizeof(icmp_header) + quoted);
    write_error(message, error, &lead[p.l2_bytes]);
    const uint16_t sum = icmp6_sum(header.source, header.destination, message);
    store_be(&message[offsetof(icmp_header, checksum)], static_cast<uint16_t>(~sum));
    return own_bytes + quoted;
}

}  // namespace turnpike::packet
