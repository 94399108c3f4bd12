// SPDX-License-Identifier: BSD-3-Clause
#include "packet/nd.hpp"

#include <algorithm>
#include <cstring>

#include "packet/icmp.hpp"
#include "packet/ipv6.hpp"
#include "packet/rewrite.hpp"

namespace turnpike::packet {
namespace {

/// RFC 4861 section 3.1: a router decrements it, so 255 proves that the message is from this link.
constexpr uint8_t nd_hop_limit = 255;

/// Per message type: the fixed length, and the link-layer address option.
struct shape {
    uint8_t fixed_bytes;  ///< including the ICMP header; options follow
    uint8_t link_option;
};
constexpr shape shapes[] = {
    {8, nd_option_source_link},   // router solicitation, section 4.1
    {16, nd_option_source_link},  // router advertisement, section 4.2
    {24, nd_option_source_link},  // neighbour solicitation, section 4.3
    {24, nd_option_target_link},  // neighbour advertisement, section 4.4
    {40, nd_option_target_link},  // redirect, section 4.5
};

/// "All included options have a length that is greater than zero", and no option exceeds the
/// message.
drop_reason find_link_address(std::span<const uint8_t> options, uint8_t wanted,
                              const mac_address*& link) noexcept {
    while (!options.empty()) {
        if (options.size() < 2) return drop_reason::nd_option_truncated;
        const size_t bytes = size_t{options[1]} * 8;
        if (bytes == 0) return drop_reason::nd_option_empty;
        if (bytes > options.size()) return drop_reason::nd_option_truncated;
        if (options[0] == wanted) {
            const auto& option = header_at<nd_link_option>(options.data());
            if (bytes != sizeof option || option.mac.is_group() || option.mac.is_zero())
                return drop_reason::nd_link_address;
            link = &option.mac;
        }
        options = options.subspan(bytes);
    }
    return drop_reason::none;
}

/// Address rules, by message type.
drop_reason check_addresses(const ipv6_header& header, std::span<const uint8_t> message,
                            bool has_link) noexcept {
    const ipv6_address& source = header.source;
    const ipv6_address& destination = header.destination;
    const auto& nd = header_at<nd_message>(message.data());  // only the fields that the type has
    switch (nd.icmp.type) {
        case icmp6_router_solicitation:
            if (source == ipv6_unspecified && has_link) return drop_reason::nd_option_source;
            break;
        case icmp6_router_advertisement:
            if (!is_link_local(source)) return drop_reason::nd_source;
            break;
        case icmp6_neighbour_solicitation:
            if (is_multicast(nd.target)) return drop_reason::nd_target;
            if (source != ipv6_unspecified) break;
            if (destination != solicited_node(nd.target)) return drop_reason::nd_destination;
            if (has_link) return drop_reason::nd_option_source;
            break;
        case icmp6_neighbour_advertisement:
            if (is_multicast(nd.target)) return drop_reason::nd_target;
            if (is_multicast(destination) && (nd.icmp.rest & nd_flag_solicited))
                return drop_reason::nd_solicited;
            break;
        default: {  // redirect: the redirected destination follows the target
            const auto& about = header_at<ipv6_address>(message.data() + sizeof(nd_message));
            if (!is_link_local(source)) return drop_reason::nd_source;
            if (is_multicast(about)) return drop_reason::nd_destination;
            if (!is_link_local(nd.target) && nd.target != about) return drop_reason::nd_target;
            break;
        }
    }
    // A multicast address is never a source (RFC 4291 section 2.7), for any type.
    return is_multicast(source) ? drop_reason::nd_source : drop_reason::none;
}

uint32_t write_nd(std::span<uint8_t> frame, const mac_address destination_mac,
                  const mac_address source_mac, const ipv6_address source,
                  const ipv6_address destination, const nd_message& message,
                  uint8_t link_option) noexcept {
    const size_t message_bytes = sizeof message + (link_option ? sizeof(nd_link_option) : 0);
    const size_t frame_bytes = sizeof(ethernet_header) + sizeof(ipv6_header) + message_bytes;
    if (frame.size() < frame_bytes) return 0;
    write_ethernet(header_at<ethernet_header>(frame.data()), destination_mac, source_mac,
                   ether_type_ipv6);
    auto& header = header_at<ipv6_header>(&frame[sizeof(ethernet_header)]);
    header.version_class_flow = 6U << 28;
    header.payload_bytes = static_cast<uint16_t>(message_bytes);
    header.next_header = protocol_icmpv6;
    header.hop_limit = nd_hop_limit;
    header.source = source;
    header.destination = destination;
    const auto bytes = frame.subspan(sizeof(ethernet_header) + sizeof header, message_bytes);
    header_at<nd_message>(bytes.data()) = message;
    if (link_option)
        header_at<nd_link_option>(&bytes[sizeof message]) = {link_option, 1, source_mac};
    const uint16_t sum = icmp6_sum(source, destination, bytes);
    store_be(&bytes[offsetof(icmp_header, checksum)], static_cast<uint16_t>(~sum));
    return static_cast<uint32_t>(frame_bytes);
}

constexpr nd_message message_of(uint8_t type, const ipv6_address& target) noexcept {
    return {{type, 0, {}, {}}, target};
}

uint32_t write_solicitation(std::span<uint8_t> frame, const nd_host& sender, const mac_address& mac,
                            const ipv6_address& destination, const ipv6_address& target) noexcept {
    // RFC 4861 section 4.3: the option "MUST NOT be included when the source IP address is the
    // unspecified address".
    const uint8_t option = sender.address == ipv6_unspecified ? 0 : nd_option_source_link;
    return write_nd(frame, mac, sender.mac, sender.address, destination,
                    message_of(icmp6_neighbour_solicitation, target), option);
}

}  // namespace

drop_reason check_nd(std::span<const uint8_t> lead, const parsed& p,
                     const mac_address*& link) noexcept {
    link = nullptr;
    if (!is_nd(p)) return drop_reason::nd_type;
    if (p.is(flag_fragment_header)) return drop_reason::nd_fragment;  // RFC 6980 section 5
    const auto& header = header_at<ipv6_header>(&lead[p.l2_bytes]);
    if (header.hop_limit != nd_hop_limit) return drop_reason::nd_hop_limit;
    const drop_reason icmp = check_icmp(lead, p);
    if (icmp != drop_reason::none) return icmp;
    if (p.icmp_code != 0) return drop_reason::nd_code;
    const auto message = lead.subspan(p.upper_offset, p.l2_bytes + p.l3_bytes - p.upper_offset);
    const shape& wanted = shapes[p.icmp_type - icmp6_router_solicitation];
    if (message.size() < wanted.fixed_bytes) return drop_reason::icmp_truncated;
    const drop_reason option =
        find_link_address(message.subspan(wanted.fixed_bytes), wanted.link_option, link);
    if (option != drop_reason::none) return option;
    return check_addresses(header, message, link != nullptr);
}

uint32_t write_neighbour_solicitation(std::span<uint8_t> frame, const nd_host& sender,
                                      const ipv6_address& target) noexcept {
    const ipv6_address group = solicited_node(target);
    return write_solicitation(frame, sender, multicast_mac(group), group, target);
}

uint32_t write_neighbour_probe(std::span<uint8_t> frame, const nd_host& sender,
                               const nd_host& target) noexcept {
    return write_solicitation(frame, sender, target.mac, target.address, target.address);
}

uint32_t write_neighbour_advertisement(std::span<uint8_t> frame, const nd_host& sender,
                                       const nd_host& destination, uint32_t flags) noexcept {
    const bool to_all = destination.address == ipv6_unspecified;
    const ipv6_address address = to_all ? ipv6_all_nodes : destination.address;
    const mac_address mac = to_all ? multicast_mac(ipv6_all_nodes) : destination.mac;
    auto message = message_of(icmp6_neighbour_advertisement, sender.address);
    message.icmp.rest = to_all ? flags & ~nd_flag_solicited : flags;
    return write_nd(frame, mac, sender.mac, sender.address, address, message,
                    nd_option_target_link);
}

uint32_t write_redirect(std::span<uint8_t> packet, std::span<const uint8_t> lead, const parsed& p,
                        const nd_redirect& says, const ipv6_address& source) noexcept {
    constexpr uint8_t option_redirected = 4;  // RFC 4861 section 4.6.3
    struct redirect {
        icmp_header icmp;
        ipv6_address target, destination;
    };
    struct redirected {
        uint8_t type, length_units, reserved[6];
    };
    constexpr uint32_t fixed_bytes = sizeof(ipv6_header) + sizeof(redirect);
    if (p.l3 != l3_kind::ipv6 || !may_report(lead, p, {icmp6_redirect, 0})) return 0;
    const uint32_t link_bytes = says.mac != nullptr ? sizeof(nd_link_option) : 0;
    const uint32_t own_bytes = fixed_bytes + link_bytes + uint32_t{sizeof(redirected)};
    const auto room = static_cast<uint32_t>(std::min<size_t>(packet.size(), icmp6_error_max_bytes));
    if (room < own_bytes + sizeof(ipv6_header)) return 0;
    const auto held = static_cast<uint32_t>(std::min<size_t>(lead.size() - p.l2_bytes, p.l3_bytes));
    // Options have lengths of multiples of 8: truncate the quote.
    const uint32_t quoted = std::min(held, room - own_bytes) & ~7U;
    auto& header = header_at<ipv6_header>(packet.data());
    header.version_class_flow = 6U << 28;
    header.payload_bytes = static_cast<uint16_t>(own_bytes - sizeof header + quoted);
    header.next_header = protocol_icmpv6;
    header.hop_limit = nd_hop_limit;
    header.source = source;
    const auto& about = header_at<ipv6_header>(&lead[p.l2_bytes]);
    header.destination = about.source;
    const auto message = packet.subspan(sizeof header, own_bytes - sizeof header + quoted);
    header_at<redirect>(message.data()) = {
        {icmp6_redirect, 0, {}, {}}, says.target, about.destination};
    uint8_t* option = &message[sizeof(redirect)];
    if (says.mac != nullptr) {
        header_at<nd_link_option>(option) = {nd_option_target_link, 1, *says.mac};
        option += sizeof(nd_link_option);
    }
    header_at<redirected>(option) = {
        option_redirected, static_cast<uint8_t>((sizeof(redirected) + quoted) / 8), {}};
    std::memcpy(option + sizeof(redirected), &lead[p.l2_bytes], quoted);
    const uint16_t sum = icmp6_sum(header.source, header.destination, message);
    store_be(&message[offsetof(icmp_header, checksum)], static_cast<uint16_t>(~sum));
    return own_bytes + quoted;
}

}  // namespace turnpike::packet
