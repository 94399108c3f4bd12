// SPDX-License-Identifier: BSD-3-Clause
// Stage plain: the way of nearly every routed packet in one pass: checked, looked up, rewritten.
//   Reads   packet, in_all; interface.mac, view.{own, fib4, fib6, hops}
//   Writes  of packets that are sent: out; TTL or hop limit, checksum, MAC addresses; padding is cut
// Plain is a frame in one segment, from one station to us, with an IPv4 header without options or an
// IPv6 header without extensions, that passes every check of stages parse, lookup and rewrite and
// whose neighbour is known. What is not goes on to stage parse as it came: what it is, and why it
// may not be sent, is said there only. Both ways send the same bytes (tests/unit/turnpike/
// plain_test.cpp).
#include <rte_prefetch.h>

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
            rte_prefetch0(first[i]);  // a device may have left it far from this CPU
            const bool whole = m->data_len == m->pkt_len && (packets >> i & 1) != 0;
            l3_room[i] = whole ? m->data_len - uint32_t{l2_bytes} : 0;
        }
        for (uint32_t i = b.count; i % 16 != 0; ++i) {
            first[i] = first[0];
            l3_room[i] = 0;
        }
    }
};

/// What of the view is asked of each packet, at hand while packets are written to.
struct way_on {
    explicit way_on(const view& v) noexcept
        : own(v.own), interfaces(v.interfaces.data()), hops(v.hops), out_lists(v.out_lists) {}

    /// May a packet leave by this hop as it is?
    [[nodiscard]] bool is_open(const next_hop& hop, uint32_t l3_bytes) const noexcept {
        return hop.kind.load(std::memory_order_acquire) == hop_kind::adjacency &&
               l3_bytes <= hop.mtu.load(std::memory_order_relaxed) &&
               (!out_lists || interfaces[hop.out.interface].acl_out == nullptr);
    }

    const own_addresses& own;
    const interface* interfaces;
    next_hop* hops;
    bool out_lists;
};

void send_by(next_hop& hop, burst& b, uint32_t i, uint8_t* frame, uint32_t l3_bytes) noexcept {
    rte_mbuf* m = b.packet[i];
    m->data_len = static_cast<uint16_t>(l2_bytes + l3_bytes);  // padding is no part of it
    m->pkt_len = m->data_len;
    hop.mark_used();
    hop.write(frame);
    b.out[i] = hop.out;
}

/// Look destinations up and call send(hop, i) for each packet; it answers whether it was sent.
/// Answers the packets that were.
template <class Fib, class Address, class Send>
packet_mask look_up_and_send(const Fib& fib, const way_on& on, packet_mask packets,
                             const Address* destination, const Send& send) noexcept {
    std::array<uint64_t, burst_max> hop;
    const auto n = static_cast<uint32_t>(std::popcount(packets));
    if ((packets & (packets + 1)) == 0) {  // the first ones, no gap: as they lie
        fib.lookup_bulk({destination, n}, {hop.data(), n});
        packet_mask left = 0;
        for (uint32_t i = 0; i < n; ++i)
            if (!send(on.hops[hop[i]], i)) [[unlikely]]
                left |= packet_mask{1} << i;
        return packets & ~left;
    }
    std::array<Address, burst_max> side_by_side;
    uint32_t k = 0;
    for (packet_mask rest = packets; rest != 0; rest &= rest - 1)
        side_by_side[k++] = destination[std::countr_zero(rest)];
    fib.lookup_bulk({side_by_side.data(), n}, {hop.data(), n});
    packet_mask sent = 0;
    k = 0;
    for (packet_mask rest = packets; rest != 0; rest &= rest - 1)
        if (send(on.hops[hop[k++]], static_cast<uint32_t>(std::countr_zero(rest)))) [[likely]]
            sent |= rest & (0 - rest);
    return sent;
}

/// Answers the packets that are sent.
packet_mask forward_ipv4(const view& v, burst& b, const frames& f) noexcept {
    packet::plain_ipv4 plain;
    const mac_address& us = v.interfaces[b.in_all].mac;
    const packet_mask packets = v.plain_ipv4(f.first.data(), f.l3_room.data(), b.count, us, plain);
    if (packets == 0) return 0;
    const way_on on(v);
    return look_up_and_send(
        *v.fib4, on, packets, plain.destination, [&](next_hop& hop, uint32_t i) noexcept {
            const uint32_t l3_bytes = plain.l3_bytes[i];
            // A source that is ours is forged: the careful stages say so.
            if (!on.is_open(hop, l3_bytes) || on.own.has(plain.source[i])) [[unlikely]]
                return false;
            uint8_t* frame = f.first[i];
            store_be(frame + l2_bytes + offsetof(packet::ipv4_header, ttl), plain.forwarded[i]);
            send_by(hop, b, i, frame, l3_bytes);
            return true;
        });
}

/// Good on more than its own link, and no martian: 2000::/3 and fc00::/7 are, and nearly all traffic.
bool is_global(const ipv6_address& a) noexcept {
    return (a.bytes[0] & 0xe0) == 0x20 || (a.bytes[0] & 0xfe) == 0xfc;
}

/// Does the upper layer follow at once, and is it nothing that a router looks into?
bool is_plain_upper(uint8_t next_header) noexcept {
    return !packet::is_ipv6_extension(next_header) && next_header != packet::protocol_icmpv6;
}

/// How a frame with an IPv6 packet from one station to us begins: the source's I/G bit is 0. Compared in
/// words, to the version behind the Ethernet header.
class ipv6_beginning {
  public:
    explicit ipv6_beginning(const mac_address& us) noexcept {
        uint8_t want[16] = {}, mask[16] = {};
        std::memcpy(want, us.bytes, sizeof us.bytes);
        std::memset(mask, 0xff, sizeof us.bytes);
        mask[6] = 1;
        store_be(want + 12, uint16_t{packet::ether_type_ipv6});
        store_be(mask + 12, uint16_t{0xffff});
        want[l2_bytes] = 0x60;
        mask[l2_bytes] = 0xf0;
        std::memcpy(want_, want, sizeof want_);
        std::memcpy(mask_, mask, sizeof mask_);
    }
    [[nodiscard]] bool is_of(const uint8_t* frame) const noexcept {
        uint64_t words[2];
        std::memcpy(words, frame, sizeof words);
        return (((words[0] & mask_[0]) ^ want_[0]) | ((words[1] & mask_[1]) ^ want_[1])) == 0;
    }

  private:
    uint64_t want_[2], mask_[2];
};

/// RFC 8200, and RFC 4291 of the addresses.
bool is_plain_ipv6(const uint8_t* frame, uint32_t l3_room, const ipv6_beginning& beginning,
                   const own_addresses& own) noexcept {
    if (l3_room < sizeof(packet::ipv6_header) || !beginning.is_of(frame)) return false;
    const auto& ip = packet::view<packet::ipv6_header>(frame + l2_bytes);
    return is_plain_upper(ip.next_header) && ip.hop_limit > 1 &&
           ip.payload_bytes + sizeof ip <= l3_room && is_global(ip.source) &&
           is_global(ip.destination) && ip.source != ip.destination && !own.has(ip.source);
}

packet_mask forward_ipv6(const view& v, burst& b, packet_mask packets, const frames& f) noexcept {
    const ipv6_beginning beginning(v.interfaces[b.in_all].mac);
    std::array<ipv6_address, burst_max> destination;
    packet_mask plain = 0;
    for_each(packets, [&](uint32_t i) {
        if (!is_plain_ipv6(f.first[i], f.l3_room[i], beginning, v.own)) return;
        plain |= packet_mask{1} << i;
        destination[i] = packet::view<packet::ipv6_header>(f.first[i] + l2_bytes).destination;
    });
    if (plain == 0) return 0;
    const way_on on(v);
    return look_up_and_send(
        *v.fib6, on, plain, destination.data(), [&](next_hop& hop, uint32_t i) noexcept {
            auto& ip = packet::view<packet::ipv6_header>(f.first[i] + l2_bytes);
            const auto l3_bytes = static_cast<uint32_t>(ip.payload_bytes + sizeof ip);
            if (!on.is_open(hop, l3_bytes)) [[unlikely]]
                return false;
            --ip.hop_limit;
            send_by(hop, b, i, f.first[i], l3_bytes);
            return true;
        });
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
