// SPDX-License-Identifier: BSD-3-Clause
#include "packet/parse.hpp"

namespace turnpike::packet {
namespace {

/// State of a parse. Each step below first checks that its bytes are in the frame (else drop), then
/// that they are in `lead` (else need_more), and only then reads.
struct frame {
    const uint8_t* lead;
    uint32_t have;   ///< bytes of lead
    uint32_t bytes;  ///< of the whole frame
    parsed& out;

    bool must_gather(uint32_t end) const noexcept { return end > have; }
    parse_status drop(drop_reason reason) const noexcept {
        out.l3_drop = reason;
        return parse_status::done;
    }
};

/// Bytes to read of an upper-layer header; 0 for unknown protocols.
constexpr uint32_t upper_header_bytes(l3_kind l3, uint8_t protocol) noexcept {
    switch (protocol) {
        case protocol_tcp:
            return sizeof(tcp_header);
        case protocol_udp:
        case protocol_udp_lite:
            return sizeof(udp_header);
        case protocol_sctp:
            return 12;  // RFC 9260 section 3.1: ports first, as UDP has them
        case protocol_icmp:
            return l3 == l3_kind::ipv4 ? sizeof(icmp_header) : 0;
        case protocol_icmpv6:
            return l3 == l3_kind::ipv6 ? sizeof(icmp_header) : 0;
        default:
            return 0;
    }
}

/// The upper-layer header at `at` of a datagram that ends at `end`.
parse_status parse_upper(const frame& f, uint32_t at, uint32_t end) noexcept {
    f.out.upper_offset = static_cast<uint16_t>(at);
    if (f.out.is_later_fragment()) return parse_status::done;
    const uint8_t protocol = f.out.upper_protocol;
    const uint32_t header_bytes = upper_header_bytes(f.out.l3, protocol);
    if (header_bytes == 0) return parse_status::done;
    if (at + header_bytes > end) {
        f.out.flags |= flag_upper_cut;
        return parse_status::done;
    }
    // Only IPv6 can exceed it: IPv4 needs at most 22 + 60 + 20 bytes.
    if (at + header_bytes > max_header_bytes) return f.drop(drop_reason::ipv6_chain_long);
    if (f.must_gather(at + header_bytes)) return parse_status::need_more;

    const uint8_t* header = f.lead + at;
    if (protocol == protocol_icmp || protocol == protocol_icmpv6) {
        f.out.flags |= flag_icmp;
        f.out.icmp_type = header_at<icmp_header>(header).type;
        f.out.icmp_code = header_at<icmp_header>(header).code;
        return parse_status::done;
    }
    f.out.flags |= flag_ports;
    f.out.source_port = header_at<udp_header>(header).source_port;
    f.out.destination_port = header_at<udp_header>(header).destination_port;
    if (protocol == protocol_tcp) {
        f.out.flags |= flag_tcp;
        f.out.tcp_flags = header_at<tcp_header>(header).flags;
    }
    return parse_status::done;
}

/// RFC 1812 section 5.2.2, with its numbering: "A router MUST NOT have a configuration option that
/// allows disabling any of these tests."
parse_status parse_ipv4(const frame& f) noexcept {
    parsed& out = f.out;
    const uint32_t at = out.l2_bytes;
    const uint32_t room = f.bytes - at;
    out.l3 = l3_kind::ipv4;
    // (1) "The packet length reported by the Link Layer must be large enough to hold the minimum
    //     length legal IP datagram (20 bytes)."
    if (room < sizeof(ipv4_header)) return f.drop(drop_reason::ipv4_truncated);
    if (f.must_gather(at + sizeof(ipv4_header))) return parse_status::need_more;
    const auto& header = header_at<ipv4_header>(f.lead + at);
    // (2) "The IP checksum must be correct." For a burst at once: ipv4_sum_kernels().
    // (3) "The IP version number must be 4."
    if (header.version() != 4) return f.drop(drop_reason::ipv4_version);
    // (4) "The IP header length field must be large enough to hold the minimum length legal IP
    //     datagram (20 bytes = 5 words)."
    const uint8_t header_bytes = header.header_bytes();
    if (header_bytes < sizeof(ipv4_header)) return f.drop(drop_reason::ipv4_header_length);
    // (5) "The IP total length field must be large enough to hold the IP datagram header, whose
    //     length is specified in the IP header length field."
    const uint32_t total_bytes = header.total_bytes;
    if (total_bytes < header_bytes) return f.drop(drop_reason::ipv4_total_length);
    // The same section: "If it appears that the packet has been truncated, the packet MUST be
    // discarded".
    if (total_bytes > room) return f.drop(drop_reason::ipv4_truncated);

    const uint16_t fragment = header.fragment;
    const uint32_t offset_bytes = (fragment & ipv4_fragment_offset) * 8U;
    // RFC 791 section 3.1: a datagram's length has 16 bits. If a router fragmented a fragment
    // beyond that, offsets would wrap to 0: a first fragment (RFC 1858) that bypassed the access
    // lists.
    if (offset_bytes + total_bytes > UINT16_MAX)
        return f.drop(drop_reason::ipv4_fragment_beyond_end);
    out.l3_bytes = total_bytes;
    out.padding_bytes = room - total_bytes;
    out.ipv4_header_bytes = header_bytes;
    out.upper_protocol = header.protocol;
    out.fragment_id = header.id;
    out.fragment_offset_bytes = static_cast<uint16_t>(offset_bytes);
    if (header_bytes > sizeof(ipv4_header)) out.flags |= flag_ipv4_options;
    if (fragment & ipv4_dont_fragment) out.flags |= flag_dont_fragment;
    if (fragment & ipv4_more_fragments) out.flags |= flag_more_fragments;
    if (fragment & (ipv4_more_fragments | ipv4_fragment_offset)) out.flags |= flag_fragment;
    // Options are part of the header: code that sums or rewrites it needs all of it in `lead`.
    if (f.must_gather(at + header_bytes)) return parse_status::need_more;
    return parse_upper(f, at + header_bytes, at + total_bytes);
}

constexpr uint32_t extension_bytes(uint8_t kind, const ipv6_extension& header) noexcept {
    if (kind == protocol_fragment) return sizeof(ipv6_fragment);
    if (kind == protocol_authentication) return (header.length_units + 2U) * 4;
    return (header.length_units + 1U) * 8;
}

/// Record one extension header. Returns the reason to drop the packet, or none.
drop_reason note_extension(parsed& out, uint8_t kind, bool first, const uint8_t* bytes) noexcept {
    switch (kind) {
        case protocol_hop_by_hop:
            // RFC 8200 section 4.1: "restricted to appear immediately after an IPv6 header only".
            if (!first) return drop_reason::ipv6_hop_by_hop_late;
            out.flags |= flag_hop_by_hop;
            break;
        case protocol_routing: {
            // RFC 5095 deprecates type 0; RFC 9288: transit routers should discard it.
            // With no segments left it is ignored (RFC 8200 section 4.4).
            const auto& header = header_at<ipv6_extension>(bytes);
            if (header.routing_type == 0 && header.segments_left != 0)
                return drop_reason::ipv6_routing_type_0;
            out.flags |= flag_routing;
            break;
        }
        case protocol_fragment: {
            // RFC 8200 section 4.5: only unfragmented packets are fragmented, never fragments.
            if (out.is(flag_fragment_header)) return drop_reason::ipv6_fragment_twice;
            const auto& header = header_at<ipv6_fragment>(bytes);
            const uint16_t offset_more = header.offset_more;
            out.flags |= flag_fragment_header;
            out.fragment_id = header.id;
            out.fragment_offset_bytes = offset_more & ipv6_fragment_offset;
            if (offset_more & ipv6_more_fragments) out.flags |= flag_more_fragments;
            if (offset_more & (ipv6_more_fragments | ipv6_fragment_offset))
                out.flags |= flag_fragment;
            break;
        }
        case protocol_authentication:
            out.flags |= flag_authentication;
            break;
        case protocol_destination_options:
            out.flags |= flag_destination_options;
            break;
        default:
            break;
    }
    return drop_reason::none;
}

/// Parse the chain of extension headers from `at`, in a packet that ends at `end`. In a later
/// fragment the chain ends with the fragment header: payload follows.
parse_status parse_chain(const frame& f, uint8_t next, uint32_t at, uint32_t end) noexcept {
    for (bool first = true; is_ipv6_extension(next) && !f.out.is_later_fragment(); first = false) {
        if (at + sizeof(ipv6_extension) > end) return f.drop(drop_reason::ipv6_chain_truncated);
        if (at + sizeof(ipv6_extension) > max_header_bytes)
            return f.drop(drop_reason::ipv6_chain_long);
        if (f.must_gather(at + sizeof(ipv6_extension))) return parse_status::need_more;
        const auto& header = header_at<ipv6_extension>(f.lead + at);
        const uint32_t header_bytes = extension_bytes(next, header);
        if (at + header_bytes > end) return f.drop(drop_reason::ipv6_chain_truncated);
        const drop_reason why = note_extension(f.out, next, first, f.lead + at);
        if (why != drop_reason::none) return f.drop(why);
        next = header.next_header;
        at += header_bytes;
    }
    f.out.upper_protocol = next;
    return parse_upper(f, at, end);
}

/// RFC 8200 section 3. A router need not process extension headers after the hop-by-hop header;
/// this parses them to find the upper layer, and rejects chains that no correct sender generates.
parse_status parse_ipv6(const frame& f) noexcept {
    parsed& out = f.out;
    const uint32_t at = out.l2_bytes;
    const uint32_t room = f.bytes - at;
    out.l3 = l3_kind::ipv6;
    if (room < sizeof(ipv6_header)) return f.drop(drop_reason::ipv6_truncated);
    if (f.must_gather(at + sizeof(ipv6_header))) return parse_status::need_more;
    const auto& header = header_at<ipv6_header>(f.lead + at);
    if (header.version() != 6) return f.drop(drop_reason::ipv6_version);
    const uint32_t payload_bytes = header.payload_bytes;
    const uint8_t next = header.next_header;
    const uint32_t total_bytes = static_cast<uint32_t>(sizeof(ipv6_header)) + payload_bytes;
    if (total_bytes > room) return f.drop(drop_reason::ipv6_truncated);
    // RFC 2675 section 3: the length is in a hop-by-hop option. No supported link carries 64 KB.
    if (payload_bytes == 0 && next == protocol_hop_by_hop)
        return f.drop(drop_reason::ipv6_jumbogram);
    out.l3_bytes = total_bytes;
    out.padding_bytes = room - total_bytes;
    const auto after = static_cast<uint32_t>(at + sizeof(ipv6_header));
    return parse_chain(f, next, after, at + total_bytes);
}

parse_status parse_arp(const frame& f) noexcept {
    const uint32_t at = f.out.l2_bytes;
    f.out.l3 = l3_kind::arp;
    if (f.bytes - at < sizeof(arp_message)) return f.drop(drop_reason::arp_truncated);
    if (f.must_gather(at + sizeof(arp_message))) return parse_status::need_more;
    f.out.l3_bytes = sizeof(arp_message);
    f.out.padding_bytes = f.bytes - at - f.out.l3_bytes;
    return parse_status::done;
}

/// IEEE 802.1Q section 9.6: VLAN ID 0 is a priority tag without a VLAN; 4095 is reserved.
parse_status parse_tags(const frame& f) noexcept {
    parsed& out = f.out;
    drop_reason why = drop_reason::none;
    while (is_vlan_type(out.type)) {
        const uint32_t end = out.l2_bytes + static_cast<uint32_t>(sizeof(vlan_tag));
        if (out.vlan_tags == max_vlan_tags) return f.drop(drop_reason::vlan_depth);
        if (end > f.bytes) return f.drop(drop_reason::vlan_truncated);
        if (f.must_gather(end)) return parse_status::need_more;
        const auto& tag = header_at<vlan_tag>(f.lead + out.l2_bytes);
        (out.vlan_tags == 0 ? out.outer_tci : out.inner_tci) = tag.tci;
        if ((tag.tci & vlan_id_mask) == reserved_vlan_id) why = drop_reason::vlan_id_reserved;
        out.type = tag.type;
        out.l2_bytes = static_cast<uint8_t>(end);
        ++out.vlan_tags;
    }
    return why == drop_reason::none ? parse_status::done : f.drop(why);
}

}  // namespace

parse_status parse(std::span<const uint8_t> lead, uint32_t frame_bytes, parsed& out) noexcept {
    out = parsed{};
    const frame f{lead.data(), static_cast<uint32_t>(lead.size()), frame_bytes, out};
    if (frame_bytes < sizeof(ethernet_header)) {
        out.l2_drop = out.l3_drop = drop_reason::runt;
        return parse_status::done;
    }
    if (f.must_gather(sizeof(ethernet_header))) return parse_status::need_more;
    const auto& ethernet = header_at<ethernet_header>(f.lead);
    out.type = ethernet.type;
    out.l2_bytes = sizeof(ethernet_header);
    if (is_vlan_type(out.type)) [[unlikely]] {
        const parse_status status = parse_tags(f);
        if (status == parse_status::need_more || out.l3_drop != drop_reason::none) return status;
    }
    // IEEE 802.3 section 3.2.3: a source address is an individual address, its I/G bit is 0.
    if (ethernet.source.is_group()) return f.drop(drop_reason::ether_source_group);
    switch (out.type) {
        case ether_type_ipv4:
            return parse_ipv4(f);
        case ether_type_ipv6:
            return parse_ipv6(f);
        case ether_type_arp:
            return parse_arp(f);
        default:
            break;
    }
    out.l3_bytes = frame_bytes - out.l2_bytes;
    return f.drop(drop_reason::ether_type_unknown);
}

}  // namespace turnpike::packet
