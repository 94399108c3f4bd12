// SPDX-License-Identifier: BSD-3-Clause
// Stage rewrite: what its next hop means for each packet, and the new headers.
//   Reads   packet, parsed, hop; view.hops
//   Writes  out, punt, drop; TTL or hop limit, checksum, MAC addresses
// A packet that waits for its neighbour has one hop less already: what comes later only puts the
// addresses on. What is reported to its sender is reported as it came.
#include <cstring>

#include "datapath/graph.hpp"
#include "packet/ipv6.hpp"
#include "packet/rewrite.hpp"

namespace turnpike::datapath {
namespace {

using packet::drop_reason;

uint8_t* l3_of(const burst& b, uint32_t i) noexcept {
    return rte_pktmbuf_mtod_offset(b.packet[i], uint8_t*, b.parsed[i].l2_bytes);
}

struct outcome {
    packet_mask sent = 0, punts = 0, drops = 0;

    void punt(burst& b, uint32_t i, punt_reason why) noexcept {
        b.punt[i] = why;
        punts |= packet_mask{1} << i;
    }
    /// Drop it and let its sender know.
    void tell(burst& b, uint32_t i, drop_reason why) noexcept {
        b.drop[i] = why;
        punt(b, i, punt_reason::icmp_error);
    }
};

/// Hops that send nothing.
void end_here(burst& b, uint32_t i, hop_kind kind, const next_hop& hop, outcome& o) noexcept {
    if (kind == hop_kind::local) return o.punt(b, i, punt_reason::local);
    if (hop.tells) return o.tell(b, i, hop.reason);
    drop_packet(b, i, hop.reason, o.drops);
}

/// May it go on, and would the next link take it? Reported before anything in the packet is changed.
/// Answers the reason; count_ stands for none.
drop_reason check_ipv4(const burst& b, uint32_t i, uint16_t mtu) noexcept {
    const packet::parsed& p = b.parsed[i];
    if (packet::view<packet::ipv4_header>(l3_of(b, i)).ttl <= 1) [[unlikely]]
        return drop_reason::ipv4_ttl;
    if (p.l3_bytes > mtu) [[unlikely]]
        return p.is(packet::flag_dont_fragment) ? drop_reason::ipv4_too_big
                                                : drop_reason::ipv4_needs_fragmenting;
    return drop_reason::none;
}

drop_reason check_ipv6(const burst& b, uint32_t i, uint16_t mtu) noexcept {
    const auto& ip = packet::view<packet::ipv6_header>(l3_of(b, i));
    // RFC 4291 section 2.5.6: routers must not forward packets with link-local sources.
    if (packet::is_link_local(ip.source)) [[unlikely]]
        return drop_reason::link_local_source;
    if (ip.hop_limit <= 1) [[unlikely]]
        return drop_reason::ipv6_hop_limit;
    if (b.parsed[i].l3_bytes > mtu) [[unlikely]]
        return drop_reason::ipv6_too_big;
    return drop_reason::none;
}

/// Are senders told of it? IPv4 fragmentation is to come; a link-local source is nobody's to tell.
bool is_told(drop_reason why) noexcept {
    return why != drop_reason::ipv4_needs_fragmenting && why != drop_reason::link_local_source;
}

}  // namespace

stage_mask run_rewrite(context& c, burst& b, packet_mask packets) noexcept {
    const view& v = *c.view;
    outcome o;
    packet_mask judged = 0;
    for_each(packets, [&](uint32_t i) {
        next_hop& hop = v.hops[b.hop[i]];
        const hop_kind kind = hop.kind.load(std::memory_order_acquire);
        b.out[i] = hop.out;
        if (kind < hop_kind::glean) [[unlikely]]
            return end_here(b, i, kind, hop, o);
        const bool v4 = b.parsed[i].is_ipv4();
        const uint16_t mtu = hop.mtu.load(std::memory_order_relaxed);
        const drop_reason why = v4 ? check_ipv4(b, i, mtu) : check_ipv6(b, i, mtu);
        if (why != drop_reason::none) [[unlikely]] {
            if (is_told(why)) return o.tell(b, i, why);
            return drop_packet(b, i, why, o.drops);
        }
        // Cannot fail: checked above.
        if (v4)
            static_cast<void>(
                packet::decrement_ttl(packet::view<packet::ipv4_header>(l3_of(b, i))));
        else
            static_cast<void>(
                packet::decrement_hop_limit(packet::view<packet::ipv6_header>(l3_of(b, i))));
        if (v.out_lists && v.interfaces[hop.out.interface].acl_out != nullptr)
            judged |= packet_mask{1} << i;
        if (kind == hop_kind::glean) [[unlikely]]
            return o.punt(b, i, punt_reason::resolve);
        hop.mark_used();
        hop.write(rte_pktmbuf_mtod(b.packet[i], uint8_t*));
        o.sent |= packet_mask{1} << i;
    });
    b.punted |= o.punts;
    judged &= o.sent | o.punts;
    return move(b, judged, stage::acl_out) | move(b, o.sent & ~judged, stage::tx) |
           move(b, o.punts & ~judged, stage::punt) | move(b, o.drops, stage::drop);
}

}  // namespace turnpike::datapath
