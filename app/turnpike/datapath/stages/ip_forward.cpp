// SPDX-License-Identifier: BSD-3-Clause
// Stage ip_forward: applies the next hop to each packet: drop, punt, or new headers.
//   Reads   packet, parsed, hop; snapshot.hops
//           interface.send_redirects
//   Writes  hop: a group's member; mtu, out, punt, drop; context.copies; TTL or hop limit, checksum, MAC addresses
// The TTL of a packet that waits for its neighbour is decremented here; resolution adds only the
// MAC addresses. ICMP errors quote the packet unmodified.
#include <rte_cycles.h>

#include <algorithm>

#include "datapath/graph.hpp"
#include "datapath/nexthop_group.hpp"
#include "packet/ipv6.hpp"
#include "packet/rewrite.hpp"

namespace turnpike::datapath {
namespace {

uint8_t* l3_of(const burst& b, uint32_t i) noexcept {
    return rte_pktmbuf_mtod_offset(b.packet[i], uint8_t*, b.parsed[i].l2_bytes);
}

/// ECMP: replace a group by one of its members. Its routes may have an MTU.
void choose_member(const snapshot& v, burst& b, uint32_t i) noexcept {
    const next_hop& by = v.nexthops[b.nexthop[i]];
    b.mtu[i] = UINT16_MAX;
    if (by.kind.load(std::memory_order_acquire) != nexthop_kind::group) return;
    b.mtu[i] = by.mtu.load(std::memory_order_relaxed);
    const uint32_t in_first = rte_pktmbuf_data_len(b.packet[i]) - b.parsed[i].l2_bytes;
    const uint32_t hash =
        packet::flow_hash(l3_of(b, i), std::min(in_first, b.parsed[i].l3_bytes), v.sharing);
    b.nexthop[i] = by.group.load(std::memory_order_acquire)->choose(hash);
}

struct outcome {
    packet_mask sent = 0, punts = 0, drops = 0, vxlan_to_us = 0;
    /// for their neighbours, or for one that does not answer; the egress ACL applies first
    packet_mask waits = 0;

    void punt(burst& b, uint32_t i, punt_reason why) noexcept {
        b.punt[i] = why;
        punts |= packet_mask{1} << i;
    }
    /// Drop the packet with an ICMP error to its source.
    void send_icmp_error(burst& b, uint32_t i, drop_reason why) noexcept {
        b.drop[i] = why;
        punt(b, i, punt_reason::icmp_error);
    }
};

/// Whether a packet to one of our addresses is VXLAN for a local VTEP.
bool is_tunnelled(const snapshot& v, const burst& b, uint32_t i) noexcept {
    return v.tunnels->end(b.parsed[i], l3_of(b, i), v.interfaces[b.in[i]].vrf);
}

/// Check TTL and egress MTU, before the packet is modified: an ICMP error quotes the original.
/// Answers  the drop reason; count_: none
drop_reason check_ipv4(const burst& b, uint32_t i, uint16_t mtu) noexcept {
    const packet::parsed& p = b.parsed[i];
    if (packet::header_at<packet::ipv4_header>(l3_of(b, i)).ttl <= 1) [[unlikely]]
        return drop_reason::ipv4_ttl;
    if (p.l3_bytes > mtu && p.is(packet::flag_dont_fragment)) [[unlikely]]
        return drop_reason::ipv4_too_big;
    return drop_reason::none;
}

drop_reason check_ipv6(const burst& b, uint32_t i, uint16_t mtu) noexcept {
    const auto& ip = packet::header_at<packet::ipv6_header>(l3_of(b, i));
    // RFC 4291 section 2.5.6: routers must not forward packets with link-local sources.
    if (packet::is_link_local(ip.source)) [[unlikely]]
        return drop_reason::link_local_source;
    if (ip.hop_limit <= 1) [[unlikely]]
        return drop_reason::ipv6_hop_limit;
    if (b.parsed[i].l3_bytes > mtu) [[unlikely]]
        return drop_reason::ipv6_too_big;
    return drop_reason::none;
}

/// Whether the source gets an ICMP error: not a link-local source.
bool sends_icmp(drop_reason why) noexcept { return why != drop_reason::link_local_source; }

/// A neighbour that does not answer: like a packet that waited for it in vain, after the checks that precede
/// resolution and the egress ACL. Stage acl_out marks the next hop as used, for the packets that it permits.
void end_at_failed(const snapshot& v, burst& b, uint32_t i, next_hop& nexthop,
                   outcome& o) noexcept {
    const uint16_t mtu = b.mtu[i] = std::min(b.mtu[i], nexthop.mtu.load(std::memory_order_relaxed));
    const drop_reason why = b.parsed[i].is_ipv4() ? check_ipv4(b, i, mtu) : check_ipv6(b, i, mtu);
    const bool outer = (b.outer >> i & 1) != 0;
    if (why != drop_reason::none) {
        if (sends_icmp(why) && !outer) return o.send_icmp_error(b, i, why);
        return drop_packet(b, i, why, o.drops);
    }
    if (outer || (v.paths[b.out[i].interface].output & bit(stage::acl_out)) == 0)
        nexthop.mark_used();
    if (outer) return drop_packet(b, i, nexthop.reason, o.drops);
    b.drop[i] = nexthop.reason;
    b.punt[i] = punt_reason::icmp_error;
    o.waits |= packet_mask{1} << i;
}

/// Next hops of kinds drop, local and failed.
void end_here(const snapshot& v, burst& b, uint32_t i, nexthop_kind kind, next_hop& nexthop,
              outcome& o) noexcept {
    if (kind == nexthop_kind::failed) return end_at_failed(v, b, i, nexthop, o);
    if ((b.outer >> i & 1) != 0) [[unlikely]]
        return drop_packet(
            b, i, kind == nexthop_kind::local ? drop_reason::tunnel_to_self : nexthop.reason,
            o.drops);
    if (kind == nexthop_kind::local && v.tunnels != nullptr && is_tunnelled(v, b, i)) {
        o.vxlan_to_us |= packet_mask{1} << i;
        return;
    }
    if (kind == nexthop_kind::local) return o.punt(b, i, punt_reason::local);
    if (nexthop.sends_icmp) return o.send_icmp_error(b, i, nexthop.reason);
    drop_packet(b, i, nexthop.reason, o.drops);
}

/// Punt a copy of a packet that leaves by its ingress interface, so that control can send a
/// redirect (RFC 1812 section 5.2.7.2, RFC 4861 section 8.2). Only its first bytes, and at most one
/// per millisecond, which bounds the cost of a host that ignores redirects.
void note_detour(context& c, const burst& b, uint32_t i) noexcept {
    constexpr uint32_t max_bytes = 1280;  // maximum length of an ICMPv6 message that quotes it
    if (c.now - c.redirected < rte_get_tsc_hz() / 1000 || c.bursts_in_use == c.made.size()) return;
    c.redirected = c.now;
    rte_mbuf* const m = b.packet[i];
    rte_mbuf* const copy = rte_pktmbuf_copy(m, m->pool, 0, std::min(m->pkt_len, max_bytes));
    if (copy == nullptr) return;
    c.counters[b.in_port].originated.add(1);
    burst& out = c.made[c.bursts_in_use];
    out.begin(1, b.in_port);
    out.packet[0] = copy;
    out.in[0] = b.in[i];
    out.nexthop[0] = b.nexthop[i];
    out.out[0] = b.out[i];
    out.parsed[0] = b.parsed[i];
    out.punt[0] = punt_reason::redirect;
    dispatch(c.table, c, out, enqueue(out, 1, stage::punt), [](size_t, packet_mask) {});
}

}  // namespace

stage_mask run_ip_forward(context& c, burst& b, packet_mask packets) noexcept {
    const snapshot& v = *c.snapshot;
    outcome o;
    // Regardless of snapshot.groups: a route may already use a group before workers have the snapshot that
    // sets it.
    for_each(packets, [&](uint32_t i) { choose_member(v, b, i); });
    for_each(packets, [&](uint32_t i) {
        next_hop& nexthop = v.nexthops[b.nexthop[i]];
        const nexthop_kind kind = nexthop.kind.load(std::memory_order_acquire);
        b.out[i] = nexthop.out;
        if (kind < nexthop_kind::glean) [[unlikely]]
            return end_here(v, b, i, kind, nexthop, o);
        const bool v4 = b.parsed[i].is_ipv4();
        const uint16_t mtu = b.mtu[i] =
            std::min(b.mtu[i], nexthop.mtu.load(std::memory_order_relaxed));
        const drop_reason why = v4 ? check_ipv4(b, i, mtu) : check_ipv6(b, i, mtu);
        if (why != drop_reason::none) [[unlikely]] {
            if (sends_icmp(why) && (b.outer >> i & 1) == 0) return o.send_icmp_error(b, i, why);
            return drop_packet(b, i, why, o.drops);
        }
        if (nexthop.out.interface == b.in[i] && kind == nexthop_kind::adjacency &&
            v.interfaces[b.in[i]].send_redirects && (b.outer >> i & 1) == 0) [[unlikely]]
            note_detour(c, b, i);
        // Cannot fail: checked above.
        if (v4)
            static_cast<void>(
                packet::decrement_ttl(packet::header_at<packet::ipv4_header>(l3_of(b, i))));
        else
            static_cast<void>(
                packet::decrement_hop_limit(packet::header_at<packet::ipv6_header>(l3_of(b, i))));
        if (kind == nexthop_kind::glean) [[unlikely]] {
            b.punt[i] = punt_reason::resolve;
            o.waits |= packet_mask{1} << i;
            return;
        }
        nexthop.mark_used();
        nexthop.write(rte_pktmbuf_mtod(b.packet[i], uint8_t*));
        o.sent |= packet_mask{1} << i;
        if (b.parsed[i].l3_bytes > mtu) [[unlikely]]
            b.exceeds_mtu |= packet_mask{1} << i;
    });
    b.punted |= o.punts | o.waits;
    const stage_mask live = go_on(b, o.waits, stage::ip_forward, [&](uint32_t i) {
        return (v.paths[b.out[i].interface].output & bit(stage::acl_out)) | bit(stage::punt);
    });
    return live | go_on_output(v, b, o.sent, stage::ip_forward) | enqueue(b, o.punts, stage::punt) |
           enqueue(b, o.vxlan_to_us, stage::vxlan_input) | enqueue(b, o.drops, stage::drop);
}

}  // namespace turnpike::datapath
