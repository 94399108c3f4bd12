// SPDX-License-Identifier: BSD-3-Clause
// Stage plain: the way of nearly every routed packet in one pass: checked, looked up, rewritten.
//   Reads   packet, in_one, in_all; interface.{mac, acl_in}, view.{own, fib4, fib6, hops}
//   Writes  of packets that are sent: out; TTL or hop limit, checksum, MAC addresses; padding is cut; drop of
//           what the list on the way in denies, and its counters
// Plain is a frame in one segment, from one station to us, with an IPv4 header without options or an
// IPv6 header without extensions, that passes every check of stages parse, lookup and rewrite and
// whose neighbour is known. What is not goes on to stage parse as it came: what it is, and why it
// may not be sent, is said there only. Both ways send the same bytes (tests/unit/turnpike/
// plain_test.cpp).
#include <rte_prefetch.h>

#include <cstring>

#include "datapath/graph.hpp"
#include "datapath/stages/acl_judge.hpp"
#include "isa/simd/sse42.hpp"
#include "packet/ipv6.hpp"

namespace turnpike::datapath {
namespace {

constexpr uint16_t l2_bytes = sizeof(packet::ethernet_header);
static_assert(burst_max == packet::plain_burst);

/// Where each frame of a burst begins. The kernels take sixteen at a time.
struct frames {
    std::array<uint8_t*, burst_max> first;

    explicit frames(const burst& b) noexcept {
        uint32_t i = 0;
#pragma GCC unroll 4
        for (; i < b.count; ++i) {
            first[i] = rte_pktmbuf_mtod(b.packet[i], uint8_t*);
            rte_prefetch0(first[i]);  // a device may have left it far from this CPU
        }
        for (; i % 16 != 0; ++i) first[i] = first[0];
    }
};

using hop_indices = std::array<uint64_t, burst_max>;

/// The hops of packets. Answers of how many, from the first on; those among them that are not looked up,
/// and as many behind as fill four, have fixed_hop::no_route.
template <class Fib, class Address>
uint32_t look_up(const Fib& fib, packet_mask packets, const Address* destination,
                 hop_indices& hop) noexcept {
    auto n = static_cast<uint32_t>(std::popcount(packets));
    if ((packets & (packets + 1)) == 0) {  // the first ones, no gap: as they lie
        fib.lookup_bulk({destination, n}, {hop.data(), n});
        for (uint32_t i = n; i % 4 != 0; ++i) hop[i] = fixed_hop::no_route;
        return n;
    }
    std::array<Address, burst_max> side_by_side;
    hop_indices found;
    uint32_t k = 0;
    for_each(packets, [&](uint32_t i) { side_by_side[k++] = destination[i]; });
    fib.lookup_bulk({side_by_side.data(), n}, {found.data(), n});
    hop.fill(fixed_hop::no_route);
    k = 0;
    for_each(packets, [&](uint32_t i) { hop[i] = found[k++]; });
    return burst_max;
}

/// What hops say of the way out, side by side: the first words of next_hop, four packets at a time.
/// (SSE4.2 is DPDK's own least.)
struct ways {
    alignas(16) std::array<uint32_t, burst_max> state, mtu, out, zero;

    ways(const next_hop* hops, const hop_indices& hop, uint32_t n) noexcept {
        static_assert(offsetof(next_hop, mtu) == 4 && offsetof(next_hop, out) == 8);
        constexpr uint32_t blocks = sizeof(next_hop) / 16;
        for (uint32_t i = 0; i < n; i += 4) {
            const uint32_t at[4] = {static_cast<uint32_t>(hop[i]) * blocks,
                                    static_cast<uint32_t>(hop[i + 1]) * blocks,
                                    static_cast<uint32_t>(hop[i + 2]) * blocks,
                                    static_cast<uint32_t>(hop[i + 3]) * blocks};
            sse42::load_columns(reinterpret_cast<const uint8_t*>(hops), at, &state[i], &mtu[i],
                                &out[i], &zero[i]);
        }
    }

    /// Those whose neighbour is known and whose link takes them; unmarked: whose hop is not marked used.
    [[nodiscard]] packet_mask open(uint32_t n, const uint32_t* l3_bytes,
                                   packet_mask& unmarked) const noexcept {
        static_assert(offsetof(next_hop, kind) == 0 && offsetof(next_hop, used) == 3);
        const sse42 kind = sse42::set1(0xff),
                    adjacency = sse42::set1(uint32_t(hop_kind::adjacency)),
                    low = sse42::set1(0xffff), none = sse42::set1(0);
        packet_mask found = 0, without_mark = 0;
        for (uint32_t i = 0; i < n; i += 4) {
            const sse42 says = sse42::load(&state[i]);
            const sse42 too_long =
                sse42::greater(sse42::load(l3_bytes + i), sse42::load(&mtu[i]) & low);
            found |= sse42::sign_bits(
                         sse42::and_not(too_long, sse42::equal<uint32_t>(says & kind, adjacency)))
                     << i;
            without_mark |=
                sse42::sign_bits(sse42::equal<uint32_t>(sse42::shift_right<24>(says), none)) << i;
        }
        unmarked = without_mark;
        return found;
    }
};

/// Frames that are longer than what they carry: padding is no part of it.
packet_mask padded(const burst& b, const uint32_t* l3_bytes) noexcept {
    packet_mask out = 0;
    for (uint32_t i = 0; i < b.count; i += 4)
        out |= sse42::sign_bits(sse42::greater(sse42::load(&b.in_one[i]),
                                               sse42::load(l3_bytes + i) + sse42::set1(l2_bytes)))
               << i;
    return out;
}

/// Where packets of a burst go on to.
struct fate {
    packet_mask sent = 0, denied = 0;
};

/// What is the same for all packets that come in by an interface.
struct way_in {
    const view& v;
    const interface& in;
    uint32_t worker;
};

/// Send packets by their hops; forward(frame, i) does the rest of what changes in a frame. A list on the
/// way in is asked only about what can be sent then: the careful stages would ask it again.
template <class Forward>
fate send(const way_in& from, burst& b, const frames& f, packet_mask packets,
          const hop_indices& hop, uint32_t n, const uint32_t* l3_bytes,
          decltype(judge_plain_ipv4)& judge, const Forward& forward) noexcept {
    const view& v = from.v;
    const ways way(v.hops, hop, n);
    packet_mask unmarked = 0;
    packet_mask open = packets & way.open(n, l3_bytes, unmarked);
    if (v.out_lists) [[unlikely]]
        for (packet_mask rest = open; rest != 0; rest &= rest - 1) {
            const auto i = static_cast<uint32_t>(std::countr_zero(rest));
            const auto out = std::bit_cast<way_out>(way.out[i]);
            if (v.interfaces[out.interface].acl_out != nullptr) open &= ~(packet_mask{1} << i);
        }
    for_each(open & padded(b, l3_bytes), [&](uint32_t i) {
        rte_mbuf* m = b.packet[i];
        m->data_len = static_cast<uint16_t>(l2_bytes + l3_bytes[i]);
        m->pkt_len = m->data_len;
    });
    packet_mask denied = 0;
    if (from.in.acl_in != nullptr) {
        const judged by_list =
            judge(b, open, f.first.data(), l3_bytes, *from.in.acl_in, from.worker);
        open = by_list.permitted;
        denied = by_list.denied;
    }
    if ((open & unmarked) != 0) [[unlikely]]
        for_each(open & unmarked, [&](uint32_t i) { v.hops[hop[i]].mark_used(); });
    const next_hop* const hops = v.hops;
    for_each(open, [&](uint32_t i) {
        uint8_t* frame = f.first[i];
        forward(frame, i);
        hops[hop[i]].write(frame);
        b.out[i] = std::bit_cast<way_out>(way.out[i]);
    });
    return {.sent = open, .denied = denied};
}

/// A source that is ours is forged: the careful stages say so.
packet_mask from_others(const own_addresses& own, packet_mask packets, const uint32_t* source,
                        uint32_t n) noexcept {
    uint8_t any = 0;
#pragma GCC unroll 4
    for (uint32_t i = 0; i < n; ++i) any |= own.may_have(source[i]);
    if (any == 0) [[likely]]
        return packets;
    packet_mask ours = 0;
    for_each(packets, [&](uint32_t i) { ours |= packet_mask{own.has(source[i])} << i; });
    return packets & ~ours;
}

fate forward_ipv4(const way_in& from, burst& b, packet_mask packets, const frames& f) noexcept {
    const view& v = from.v;
    packet::plain_ipv4 plain;
    packets &= v.plain_ipv4(f.first.data(), b.in_one.data(), b.count, from.in.mac, plain);
    packets = from_others(v.own, packets, plain.source, b.count);
    if (packets == 0) return {};
    hop_indices hop;
    const uint32_t n = look_up(*v.fib4, packets, plain.destination, hop);
    return send(from, b, f, packets, hop, n, plain.l3_bytes, judge_plain_ipv4,
                [&](uint8_t* frame, uint32_t i) noexcept {
                    store_be(frame + l2_bytes + offsetof(packet::ipv4_header, ttl),
                             plain.forwarded[i]);
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
bool is_plain_ipv6(const uint8_t* frame, uint32_t frame_bytes, const ipv6_beginning& beginning,
                   const own_addresses& own) noexcept {
    if (frame_bytes < l2_bytes + sizeof(packet::ipv6_header) || !beginning.is_of(frame))
        return false;
    const auto& ip = packet::view<packet::ipv6_header>(frame + l2_bytes);
    return is_plain_upper(ip.next_header) && ip.hop_limit > 1 &&
           l2_bytes + sizeof ip + ip.payload_bytes <= frame_bytes && is_global(ip.source) &&
           is_global(ip.destination) && ip.source != ip.destination && !own.has(ip.source);
}

fate forward_ipv6(const way_in& from, burst& b, packet_mask packets, const frames& f) noexcept {
    const view& v = from.v;
    const ipv6_beginning beginning(from.in.mac);
    std::array<ipv6_address, burst_max> destination;
    std::array<uint32_t, burst_max> l3_bytes;
    packet_mask plain = 0;
    for_each(packets, [&](uint32_t i) {
        if (!is_plain_ipv6(f.first[i], b.in_one[i], beginning, v.own)) return;
        plain |= packet_mask{1} << i;
        const auto& ip = packet::view<packet::ipv6_header>(f.first[i] + l2_bytes);
        destination[i] = ip.destination;
        l3_bytes[i] = static_cast<uint32_t>(ip.payload_bytes + sizeof ip);
    });
    if (plain == 0) return {};
    hop_indices hop;
    const uint32_t n = look_up(*v.fib6, plain, destination.data(), hop);
    return send(from, b, f, plain, hop, n, l3_bytes.data(), judge_plain_ipv6,
                [](uint8_t* frame, uint32_t) noexcept {
                    --packet::view<packet::ipv6_header>(frame + l2_bytes).hop_limit;
                });
}

}  // namespace

stage_mask run_plain(context& c, burst& b, packet_mask packets) noexcept {
    const way_in from{.v = *c.view, .in = c.view->interfaces[b.in_all], .worker = c.worker};
    const frames f(b);
    // The first one's family first: bursts are mostly of one.
    const bool six = rte_pktmbuf_mtod(b.packet[0], const packet::ethernet_header*)->type ==
                     packet::ether_type_ipv6;
    fate all = six ? forward_ipv6(from, b, packets, f) : forward_ipv4(from, b, packets, f);
    packet_mask left = packets & ~all.sent & ~all.denied;
    if (left != 0) {
        const fate rest = six ? forward_ipv4(from, b, left, f) : forward_ipv6(from, b, left, f);
        all.sent |= rest.sent;
        all.denied |= rest.denied;
        left &= ~rest.sent & ~rest.denied;
    }
    for_each(all.denied, [&](uint32_t i) { b.drop[i] = packet::drop_reason::acl_deny; });
    return move(b, all.sent, stage::tx) | move(b, left, stage::parse) |
           move(b, all.denied, stage::drop);
}

}  // namespace turnpike::datapath
