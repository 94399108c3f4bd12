// SPDX-License-Identifier: BSD-3-Clause
// Stage ip_fast: the fast path, which validates, looks up and rewrites nearly every routed packet in one pass.
//   Reads   packet, single_segment_bytes, in, common_iface; interface.{fast_group, mac, addresses, acl_in, urpf, send_redirects},
//           snapshot.{vrf, hops}
//   Writes  of packets that are sent: out; TTL or hop limit, checksum, MAC addresses, VLAN tag; padding is trimmed; drop
//           of packets that the ingress ACL denies, and its counters
// A fast-path packet is a unicast frame to us in one segment, with an IPv4 header without options or an
// IPv6 header without extension headers, that passes every check of stages ip_input, lookup and
// rewrite and whose neighbour is resolved. All other packets go on to stage ip_input unchanged: only
// the slow path classifies them and assigns drop reasons. Both paths send the same bytes
// (tests/unit/turnpike/fast_path_test.cpp).
#include <cstring>

#include "datapath/graph.hpp"
#include "datapath/interface_counters.hpp"
#include "datapath/nexthop_group.hpp"
#include "datapath/reverse_path.hpp"
#include "datapath/stages/acl_verdict.hpp"
#include "datapath/stages/fast_frames.hpp"
#include "datapath/stages/fast_nexthops.hpp"
#include "datapath/stages/fast_part.hpp"
#include "datapath/vlan_tag.hpp"

namespace turnpike::datapath {
namespace {

constexpr uint16_t l2_bytes = sizeof(packet::ethernet_header);

/// Stages that an output path of packets sent from here may have: this stage pushes the tag itself.
constexpr stage_mask behind_ip_fast =
    bit(stage::count_out) | bit(stage::bridge) | bit(stage::vlan_push) | bit(stage::vxlan_output) |
    bit(stage::sample_out) | bit(stage::mirror_out) | bit(stage::tx);

/// Next hops of packets; elements of packets not in the mask hold the first one's.
/// destination  of packets not in the mask: out
/// Answers  the number of elements, from index 0 on
template <class Fib, class Address>
inline __attribute__((always_inline)) uint32_t look_up(const Fib& fib, packet_mask packets,
                                                       Address* destination,
                                                       nexthop_indices& nexthop) noexcept {
    const auto n = static_cast<uint32_t>(std::bit_width(packets));
    const Address& first = destination[std::countr_zero(packets)];
    for_each(all_of(n) & ~packets, [&](uint32_t i) { destination[i] = first; });
    fib.lookup_bulk({destination, n}, {nexthop.data(), n});
    return n;
}

/// Trim the padding behind IP packets.
void cut_padding(const fast_burst& b, packet_mask packets, const uint32_t* l3_bytes) noexcept {
    for_each(packets, [&](uint32_t i) {
        const uint32_t bytes = l2_bytes + l3_bytes[i];
        if (b.single_segment_bytes[i] <= bytes) return;
        rte_mbuf* const m = b.packet[i];
        m->pkt_len = bytes;
        m->data_len = static_cast<uint16_t>(bytes);
    });
}

/// Lengths of packets of one family.
struct lengths {
    uint32_t most;  ///< of the longest packet, in bytes of layer 3
    bool padded;    ///< some frame is longer than its IP packet
};

/// Ingress context, the same for all packets of a fast group of interfaces.
struct ingress {
    const snapshot& v;
    const interface& in;    ///< any of the fast group
    const mac_address& us;  ///< one of the interface's MAC addresses
    const vrf_snapshot& routing;
    uint32_t worker;
};

/// ECMP: replace the hops of groups by their members', except for packets that exceed their routes' MTU.
void choose_members(const snapshot& v, const frames& f, packet_mask packets,
                    nexthop_indices& nexthop, const uint32_t* l3_bytes) noexcept {
    for_each(packets, [&](uint32_t i) {
        const next_hop& by = v.nexthops[nexthop[i]];
        if (by.kind.load(std::memory_order_acquire) != nexthop_kind::group) return;
        if (l3_bytes[i] > by.mtu.load(std::memory_order_relaxed)) [[unlikely]]
            return;
        const uint32_t hash = packet::flow_hash(f.first[i] + l2_bytes, l3_bytes[i], v.sharing);
        nexthop[i] = by.group.load(std::memory_order_acquire)->choose(hash);
    });
}

/// VLAN tag in front of the EtherType, as stage vlan_push does.
/// Answers  the first byte of the frame, where its MAC addresses are to be written
uint8_t* push_tag(rte_mbuf* m, uint8_t* frame, uint32_t tag) noexcept {
    constexpr uint16_t bytes = sizeof(packet::vlan_tag);
    m->data_off = static_cast<uint16_t>(m->data_off - bytes);
    add_to_lengths(m, bytes);
    std::memcpy(frame + next_hop::rewrite_bytes - bytes, &tag, sizeof tag);
    return frame - bytes;
}

/// Send packets by their next hops; forward(frame, i) applies the family's changes to the frame.
/// The ingress ACL classifies only packets that can be sent from here: the slow path would classify
/// the others again.
/// l3_bytes  0 for packets not to be sent
/// bytes     limits of their lengths
template <class Nexthops, class Forward>
fast_verdict send_by_nexthops(const Nexthops nexthops, const ingress& from, const fast_burst& b,
                              const frames& f, packet_mask packets, const uint32_t* l3_bytes,
                              lengths bytes, decltype(classify_fast_ipv4)& classify,
                              const Forward& forward) noexcept {
    packet_mask open = packets;
    if (!nexthops.usual(bytes.most)) [[unlikely]]
        for_each(packets, [&](uint32_t i) {
            if (!nexthops.accepts(i, l3_bytes[i])) open &= ~(packet_mask{1} << i);
        });
    if ((from.v.outputs & ~behind_ip_fast) != 0) [[unlikely]]
        for_each(open, [&](uint32_t i) {
            if ((from.v.paths[nexthops.out(i).interface].output & ~behind_ip_fast) != 0)
                open &= ~(packet_mask{1} << i);
        });
    if (from.in.send_redirects) [[unlikely]]
        for_each(open, [&](uint32_t i) {
            if (nexthops.out(i).interface == from.in.ifindex) open &= ~(packet_mask{1} << i);
        });
    if (nexthops.tags())  // where a tag was removed, there is room for one
        for_each(open & ~b.tagged, [&](uint32_t i) {
            const bool room = rte_pktmbuf_headroom(b.packet[i]) >= sizeof(packet::vlan_tag);
            open &= ~(packet_mask{!room} << i);
        });
    if (bytes.padded) cut_padding(b, open, l3_bytes);
    packet_mask denied = 0;
    if (from.in.acl_in != nullptr) {
        const acl_verdict by_list =
            classify(b, open, f.first.data(), l3_bytes, *from.in.acl_in, from.worker);
        open = by_list.permitted;
        denied = by_list.denied;
    }
    nexthops.mark_used(open);
    egress* const out = b.out;  // frames' bytes may alias all that is not a local variable
    if (!nexthops.tags()) {
        for_each(open, [&](uint32_t i) {
            uint8_t* frame = f.first[i];
            forward(frame, i);
            out[i] = nexthops.write(i, frame);
        });
        return {.sent = open, .denied = denied};
    }
    packet_mask untagged = 0;
    for_each(open, [&](uint32_t i) {
        uint8_t* frame = f.first[i];
        forward(frame, i);
        if (const uint32_t tag = nexthops.tag(i); Nexthops::have_one_tag || tag != 0)
            frame = push_tag(b.packet[i], frame, tag);
        else
            untagged |= packet_mask{1} << i;
        out[i] = nexthops.write(i, frame);
    });
    return {.sent = open, .denied = denied, .tagged = open & ~untagged};
}

template <class Forward>
fast_verdict send(const ingress& from, const fast_burst& b, const frames& f, packet_mask packets,
                  nexthop_indices& nexthop, uint32_t n, const uint32_t* l3_bytes, lengths bytes,
                  decltype(classify_fast_ipv4)& classify, const Forward& forward) noexcept {
    const snapshot& v = from.v;
    if (v.groups) [[unlikely]]
        choose_members(v, f, packets, nexthop, l3_bytes);
    if (all_same(nexthop, n))
        return send_by_nexthops(single_nexthop(v.nexthops[nexthop[0]]), from, b, f, packets,
                                l3_bytes, bytes, classify, forward);
    return send_by_nexthops(per_packet_nexthops(v.nexthops, nexthop, n), from, b, f, packets,
                            l3_bytes, bytes, classify, forward);
}

/// Keep packets that pass uRPF; the slow path drops the rest with a reason. Not inlined: most
/// interfaces do not use uRPF.
template <class Fib, class Address>
__attribute__((noinline)) packet_mask routed_back(const ingress& from, const Fib& fib,
                                                  packet_mask packets, Address* source) noexcept {
    if (packets == 0) return 0;
    nexthop_indices nexthop;
    look_up(fib, packets, source, nexthop);
    packet_mask out = 0;
    for_each(packets, [&](uint32_t i) {
        const auto back = static_cast<uint32_t>(nexthop[i]);
        out |= packet_mask{leads_back(from.v, back, from.in)} << i;
    });
    return out;
}

fast_verdict forward_ipv4(const ingress& from, const fast_burst& b, packet_mask packets,
                          const frames& f) noexcept {
    const snapshot& v = from.v;
    packet::fast_ipv4 fast;
    packets &= v.fast_ipv4(f.first.data(), b.single_segment_bytes, b.count, from.us, fast);
    packets = from_others(from.routing.own, packets, fast.source, b.count);
    if (from.in.urpf) [[unlikely]]
        packets = routed_back(from, *from.routing.fib4, packets, fast.source);
    if (packets == 0) return {};
    nexthop_indices nexthop;
    const uint32_t n = look_up(*from.routing.fib4, packets, fast.destination, nexthop);
    return send(from, b, f, packets, nexthop, n, fast.l3_bytes, {fast.longest, fast.padded},
                classify_fast_ipv4, [&](uint8_t* frame, uint32_t i) noexcept {
                    std::memcpy(frame + l2_bytes + offsetof(packet::ipv4_header, ttl),
                                &fast.forwarded[i], sizeof fast.forwarded[i]);
                });
}

fast_verdict forward_ipv6(const ingress& from, const fast_burst& b, packet_mask packets,
                          const frames& f) noexcept {
    std::array<ipv6_address, burst_max> destination;
    packet::fast_ipv6 found;
    packet_mask fast = find_fast_ipv6(from.v.fast_ipv6, b, packets, f, from.us, found);
    packet_mask not_fast = 0;
    const auto ip_of = [&](uint32_t i) -> const packet::ipv6_header& {
        return packet::header_at<packet::ipv6_header>(f.first[i] + l2_bytes);
    };
    // A source address of our own is spoofed: the slow path drops it with a reason.
    for_each(fast, [&](uint32_t i) {
        const packet::ipv6_header& ip = ip_of(i);
        not_fast |= packet_mask{from.routing.own.has(ip.source)} << i;
        destination[i] = ip.destination;
    });
    fast &= ~not_fast;
    if (from.in.urpf) [[unlikely]] {
        std::array<ipv6_address, burst_max> source;
        for_each(fast, [&](uint32_t i) { source[i] = ip_of(i).source; });
        fast = routed_back(from, *from.routing.fib6, fast, source.data());
    }
    if (fast == 0) return {};
    nexthop_indices nexthop;
    const uint32_t n = look_up(*from.routing.fib6, fast, destination.data(), nexthop);
    return send(from, b, f, fast, nexthop, n, found.l3_bytes, {found.longest, found.padded},
                classify_fast_ipv6, [](uint8_t* frame, uint32_t) noexcept {
                    --packet::header_at<packet::ipv6_header>(frame + l2_bytes).hop_limit;
                });
}

fast_verdict forward_family(const ingress& from, const fast_burst& b, packet_mask packets,
                            const frames& f, bool six) noexcept {
    return six ? forward_ipv6(from, b, packets, f) : forward_ipv4(from, b, packets, f);
}

/// Packets of one family, side by side. Not inlined: most bursts have one family.
__attribute__((noinline)) fast_verdict forward_part(const ingress& from, burst& b,
                                                    packet_mask packets, const frames& f,
                                                    bool six) noexcept {
    if (packets == 0) return {};
    part p;
    p.gather(b, f, packets);
    p.f.fill_up(p.n);
    if ((b.tagged & packets) != 0)
        for (uint32_t k = 0; k < p.n; ++k) {
            p.tag[k] = b.tag[p.at[k]];
            p.tagged |= (b.tagged >> p.at[k] & 1) << k;
        }
    const fast_burst some{p.packet.data(),
                          p.single_segment_bytes.data(),
                          p.tag.data(),
                          &p.out[0].is,
                          p.n,
                          b.min_bytes,
                          p.tagged};
    return put_back(b, p, forward_family(from, some, all_of(p.n), p.f, six));
}

bool is_ipv6(const frames& f, uint32_t i) noexcept {
    return packet::header_at<packet::ethernet_header>(f.first[i]).type == packet::ether_type_ipv6;
}

/// Packets with one destination MAC address, of one fast group of interfaces. A burst is forwarded as it is if few packets
/// are missing and a few frames have one family, and its packets of the other family afterwards; else each family apart.
fast_verdict forward(const ingress& from, burst& b, packet_mask packets, const frames& f) noexcept {
    constexpr uint32_t few = 4;  ///< packets in vain cost less than a copy of the others
    const uint32_t n = b.count;
    const bool six = is_ipv6(f, static_cast<uint32_t>(std::countr_zero(packets)));
    const bool whole =
        packets == all_of(n) || static_cast<uint32_t>(std::popcount(packets)) + few >= n;
    if (!whole || is_ipv6(f, n / 2) != six || is_ipv6(f, n - 1) != six) [[unlikely]] {
        const packet_mask v6 = f.find_ipv6(n) & packets;
        fast_verdict each = forward_part(from, b, packets & ~v6, f, false);
        return each += forward_part(from, b, v6, f, true);
    }
    const fast_burst all_of_it{b.packet.data(), b.single_segment_bytes.data(),
                               b.tag.data(),    b.out.data(),
                               b.count,         b.min_bytes,
                               b.tagged};
    fast_verdict all = forward_family(from, all_of_it, packets, f, six);
    if (const packet_mask left = packets & ~all.sent & ~all.denied; left != 0) [[unlikely]] {
        packet_mask others = 0;
        for_each(left, [&](uint32_t i) { others |= packet_mask{is_ipv6(f, i) != six} << i; });
        all += forward_part(from, b, others, f, !six);
    }
    return all;
}

/// For interfaces with several MAC addresses. A frame to none of them, such as a broadcast, is for the slow path.
__attribute__((noinline)) fast_verdict forward_to_each(const ingress& from, burst& b,
                                                       packet_mask packets,
                                                       const frames& f) noexcept {
    const auto to = [&](uint32_t i) -> const mac_address& {
        return packet::header_at<packet::ethernet_header>(f.first[i]).destination;
    };
    fast_verdict all;
    while (packets != 0) {
        const mac_address us = to(static_cast<uint32_t>(std::countr_zero(packets)));
        packet_mask same = 0;
        for_each(packets, [&](uint32_t i) { same |= packet_mask{to(i) == us} << i; });
        packets &= ~same;
        if (from.in.answers_to(us))
            all += forward({from.v, from.in, us, from.routing, from.worker}, b, same, f);
    }
    return all;
}

fast_verdict forward_from(context& c, const interface& in, burst& b, packet_mask packets,
                          const frames& f) noexcept {
    const snapshot& v = *c.snapshot;
    const ingress from{
        .v = v, .in = in, .us = in.mac, .routing = v.vrf[in.vrf], .worker = c.worker};
    if (in.has_extra_macs) [[unlikely]]
        return forward_to_each(from, b, packets, f);
    return forward(from, b, packets, f);
}

/// Packets of several interfaces: one pass for each fast group.
__attribute__((noinline)) fast_verdict forward_from_each(context& c, burst& b, packet_mask packets,
                                                         const frames& f) noexcept {
    const auto& interfaces = c.snapshot->interfaces;
    fast_verdict all;
    while (packets != 0) {
        const interface& in = interfaces[b.in[static_cast<size_t>(std::countr_zero(packets))]];
        packet_mask same = 0;
        for_each(packets, [&](uint32_t i) {
            same |= packet_mask{interfaces[b.in[i]].fast_group == in.fast_group} << i;
        });
        packets &= ~same;
        all += forward_from(c, in, b, same, f);
    }
    return all;
}

}  // namespace

stage_mask run_ip_fast(context& c, burst& b, packet_mask packets) noexcept {
    const frames f(b);
    const fast_verdict all =
        b.common_iface != 0 ? forward_from(c, c.snapshot->interfaces[b.common_iface], b, packets, f)
                            : forward_from_each(c, b, packets, f);
    for_each(all.denied, [&](uint32_t i) { b.drop[i] = drop_reason::acl_deny; });
    b.tagged &= ~all.tagged;  // as stage vlan_push
    if ((c.snapshot->outputs & bit(stage::count_out)) != 0) [[unlikely]]
        count_sent_tagged(c, b, all.tagged);
    const packet_mask left = packets & ~all.sent & ~all.denied;
    return go_on_output(*c.snapshot, b, all.sent & ~all.tagged, stage::acl_out) |
           (all.tagged != 0 ? go_on_output(*c.snapshot, b, all.tagged, stage::vlan_push) : 0) |
           (left != 0 ? go_on_input(*c.snapshot, b, left, stage::ip_fast) : 0) |
           enqueue(b, all.denied, stage::drop);
}

}  // namespace turnpike::datapath
