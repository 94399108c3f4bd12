// SPDX-License-Identifier: BSD-3-Clause
// Stage plain: the way of nearly every routed packet in one pass: checked, looked up, rewritten.
//   Reads   packet, in_all; interface.mac, view.{own, fib4, fib6, hops}
//   Writes  of packets that are sent: out; TTL or hop limit, checksum, MAC addresses; padding is cut
// Plain is a frame in one segment, from one station to us, with an IPv4 header without options or an
// IPv6 header without extensions, that passes every check of stages parse, lookup and rewrite and
// whose neighbour is known. What is not goes on to stage parse as it came: what it is, and why it
// may not be sent, is said there only. Both ways send the same bytes (tests/unit/turnpike/
// plain_test.cpp).
#include <cstring>

#include "datapath/graph.hpp"
#include "packet/ipv6.hpp"

namespace turnpike::datapath {
namespace {

constexpr uint16_t l2_bytes = sizeof(packet::ethernet_header);
static_assert(burst_max == packet::plain_burst);

/// Where each frame of a burst begins, and how much of it is layer 3; those of packets that cannot be
/// plain have none. The kernels take sixteen at a time.
struct frames {
    std::array<uint8_t*, burst_max> first;
    std::array<uint32_t, burst_max> l3_room;

    frames(const burst& b, packet_mask packets) noexcept {
        for (uint32_t i = 0; i < b.count; ++i) {
            const rte_mbuf* m = b.packet[i];
            first[i] = rte_pktmbuf_mtod(m, uint8_t*);
            const bool whole = m->data_len == m->pkt_len && (packets >> i & 1) != 0;
            l3_room[i] = whole ? m->data_len - uint32_t{l2_bytes} : 0;
        }
        for (uint32_t i = b.count; i % 16 != 0; ++i) {
            first[i] = first[0];
            l3_room[i] = 0;
        }
    }
};

/// Is the source ours? Then it is forged: the careful stages say so.
packet_mask ours(const uint32_t* source, packet_mask packets, const own_addresses& own) noexcept {
    packet_mask out = 0;
    for_each(packets,
             [&](uint32_t i) { out |= static_cast<packet_mask>(own.has(source[i])) << i; });
    return out;
}

/// May the packet leave by this hop as it is?
bool is_open(const view& v, const next_hop& hop, uint32_t l3_bytes) noexcept {
    return hop.kind.load(std::memory_order_acquire) == hop_kind::adjacency &&
           l3_bytes <= hop.mtu.load(std::memory_order_relaxed) &&
           (!v.out_lists || v.interfaces[hop.out.interface].acl_out == nullptr);
}

void send_by(next_hop& hop, burst& b, uint32_t i, uint8_t* frame, uint32_t l3_bytes) noexcept {
    rte_mbuf* m = b.packet[i];
    m->data_len = static_cast<uint16_t>(l2_bytes + l3_bytes);  // padding is no part of it
    m->pkt_len = m->data_len;
    hop.mark_used();
    hop.write(frame);
    b.out[i] = hop.out;
}

/// The destinations of some packets side by side, and whose they are.
template <class Address>
struct destinations {
    std::array<Address, burst_max> address;
    std::array<uint8_t, burst_max> packet;
    std::array<uint64_t, burst_max> hop;
    uint32_t n = 0;

    destinations(packet_mask packets, const Address* of_packet) noexcept {
        for_each(packets, [&](uint32_t i) {
            address[n] = of_packet[i];
            packet[n++] = static_cast<uint8_t>(i);
        });
    }
    template <class Fib>
    void look_up(const Fib& fib) noexcept {
        fib.lookup_bulk({address.data(), n}, {hop.data(), n});
    }
};

/// Answers the packets that are sent.
packet_mask forward_ipv4(const view& v, burst& b, const frames& f) noexcept {
    packet::plain_ipv4 plain;
    const mac_address& us = v.interfaces[b.in_all].mac;
    packet_mask packets = v.plain_ipv4(f.first.data(), f.l3_room.data(), b.count, us, plain);
    packets &= ~ours(plain.source, packets, v.own);
    if (packets == 0) return 0;
    destinations to(packets, plain.destination);
    to.look_up(*v.fib4);
    packet_mask sent = 0;
    for (uint32_t k = 0; k < to.n; ++k) {
        next_hop& hop = v.hops[to.hop[k]];
        const uint32_t i = to.packet[k];
        if (!is_open(v, hop, plain.l3_bytes[i])) [[unlikely]]
            continue;
        uint8_t* frame = f.first[i];
        store_be(frame + l2_bytes + offsetof(packet::ipv4_header, ttl), plain.forwarded[i]);
        send_by(hop, b, i, frame, plain.l3_bytes[i]);
        sent |= packet_mask{1} << i;
    }
    return sent;
}

/// Good on more than its own link, and no martian: 2000::/3 and fc00::/7 are, and nearly all traffic.
bool is_global(const ipv6_address& a) noexcept {
    return (a.bytes[0] & 0xe0) == 0x20 || (a.bytes[0] & 0xfe) == 0xfc;
}

/// Does the upper layer follow at once, and is it nothing that a router looks into?
bool is_plain_upper(uint8_t next_header) noexcept {
    return !packet::is_ipv6_extension(next_header) && next_header != packet::protocol_icmpv6;
}

/// RFC 8200, and RFC 4291 of the addresses.
bool is_plain_ipv6(const uint8_t* frame, uint32_t l3_room, const mac_address& us,
                   const own_addresses& own) noexcept {
    if (l3_room < sizeof(packet::ipv6_header)) return false;
    const auto& ethernet = packet::view<packet::ethernet_header>(frame);
    const auto& ip = packet::view<packet::ipv6_header>(frame + l2_bytes);
    return ethernet.type == packet::ether_type_ipv6 && ethernet.destination == us &&
           !ethernet.source.is_group() && ip.version() == 6 && is_plain_upper(ip.next_header) &&
           ip.hop_limit > 1 && ip.payload_bytes + sizeof ip <= l3_room && is_global(ip.source) &&
           is_global(ip.destination) && ip.source != ip.destination && !own.has(ip.source);
}

packet_mask forward_ipv6(const view& v, burst& b, packet_mask packets, const frames& f) noexcept {
    const mac_address& us = v.interfaces[b.in_all].mac;
    std::array<ipv6_address, burst_max> destination;
    packet_mask plain = 0;
    for_each(packets, [&](uint32_t i) {
        if (!is_plain_ipv6(f.first[i], f.l3_room[i], us, v.own)) return;
        plain |= packet_mask{1} << i;
        const auto& ip = packet::view<packet::ipv6_header>(f.first[i] + l2_bytes);
        destination[i] = ip.destination;
    });
    if (plain == 0) return 0;
    destinations to(plain, destination.data());
    to.look_up(*v.fib6);
    packet_mask sent = 0;
    for (uint32_t k = 0; k < to.n; ++k) {
        next_hop& hop = v.hops[to.hop[k]];
        const uint32_t i = to.packet[k];
        auto& ip = packet::view<packet::ipv6_header>(f.first[i] + l2_bytes);
        const auto l3_bytes = static_cast<uint32_t>(ip.payload_bytes + sizeof ip);
        if (!is_open(v, hop, l3_bytes)) [[unlikely]]
            continue;
        --ip.hop_limit;
        send_by(hop, b, i, f.first[i], l3_bytes);
        sent |= packet_mask{1} << i;
    }
    return sent;
}

}  // namespace

stage_mask run_plain(context& c, burst& b, packet_mask packets) noexcept {
    const view& v = *c.view;
    const frames f(b, packets);
    packet_mask sent = forward_ipv4(v, b, f);
    if (sent != packets) sent |= forward_ipv6(v, b, packets & ~sent, f);
    return move(b, sent, stage::tx) | move(b, packets & ~sent, stage::parse);
}

}  // namespace turnpike::datapath
