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

#include <atomic>
#include <cstring>

#include "datapath/graph.hpp"
#include "datapath/stages/acl_judge.hpp"
#include "isa/simd/sse42.hpp"
#include "packet/ipv6.hpp"

namespace turnpike::datapath {
namespace {

constexpr uint16_t l2_bytes = sizeof(packet::ethernet_header);
static_assert(burst_max == packet::plain_burst);

/// Read in place of frames that are too short to be plain, or whose first segment may be.
alignas(64) uint8_t nothing[64] = {};

/// Where each frame of a burst begins, of which an IPv4 header can be read. The kernels take sixteen at a time.
struct frames {
    static constexpr uint32_t least_bytes = l2_bytes + sizeof(packet::ipv4_header);
    std::array<uint8_t*, burst_max> first;

    explicit frames(const burst& b) noexcept {
        uint32_t i = 0;
#pragma GCC unroll 4
        do {
            uint8_t* frame = rte_pktmbuf_mtod(b.packet[i], uint8_t*);
            rte_prefetch0(frame);  // a device may have left it far from this CPU
            first[i] = b.in_one[i] >= least_bytes ? frame : nothing;
        } while (++i < b.count);
        for (; i % 16 != 0; ++i) first[i] = nothing;
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
    // What a hop says of its neighbour is read behind its kind, as it was written (next_hop.hpp).
    std::atomic_signal_fence(std::memory_order_acquire);
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
/// word  [lane] an address's first four bytes, in memory order, as all words are here
sse42 is_global(sse42 word) noexcept {
    return sse42::equal<uint32_t>(word & sse42::set1(0xe0), sse42::set1(0x20)) |
           sse42::equal<uint32_t>(word & sse42::set1(0xfe), sse42::set1(0xfc));
}

/// Does the upper layer follow at once, and is it nothing that a router looks into?
bool is_plain_upper(uint8_t next_header) noexcept {
    return !packet::is_ipv6_extension(next_header) && next_header != packet::protocol_icmpv6;
}

/// Plain IPv6 frames, four at a time: RFC 8200, and RFC 4291 of the addresses.
///
///   frame  2       6        10            14       18                        22 ..  34 .. 38
///          | us    | source | source type | 6 flow | length, next header, hops | source | destination
class plain_ipv6 {
  public:
    explicit plain_ipv6(const mac_address& us) noexcept {
        uint16_t first;
        uint32_t rest;
        std::memcpy(&first, us.bytes, sizeof first);
        std::memcpy(&rest, us.bytes + 2, sizeof rest);
        to_ = sse42::set1(first);
        rest_to_ = sse42::set1(rest);
    }

    /// Of four frames that 50 bytes can be read of: bit i, frame i is plain but for doubt.
    /// doubt  out: of those, where the upper layer may not be plain, or both addresses be the same
    packet_mask find(uint8_t* const* frame, const uint32_t* in_one, uint32_t* l3_bytes,
                     packet_mask& doubt) const noexcept {
        const auto rows = [&](unsigned offset, sse42(&column)[4]) {
            sse42::columns_of([&](unsigned k) { return frame[k] + offset; }, column);
        };
        const auto same = [](sse42 a, uint32_t b) {
            return sse42::equal<uint32_t>(a, sse42::set1(b));
        };
        sse42 link[4], head[4], ends[4];
        rows(2, link);
        rows(18, head);
        rows(34, ends);
        const sse42 byte = sse42::set1(0xff);
        const sse42 payload =
            sse42::shift_left_by(head[0] & byte, 8) | (sse42::shift_right<8>(head[0]) & byte);
        const sse42 l3 = payload + sse42::set1(sizeof(packet::ipv6_header));
        sse42::store(l3_bytes, l3);
        const sse42 upper = sse42::shift_right<16>(head[0]) & byte;
        const sse42 good =
            sse42::equal<uint32_t>(sse42::load_u32_each(frame, 0) & sse42::set1(0xffff), to_) &
            sse42::equal<uint32_t>(link[0], rest_to_) & same(link[1] & sse42::set1(1), 0) &
            same(sse42::shift_right<16>(link[2]), 0xdd86) &
            same(link[3] & sse42::set1(0xf0), 0x60) &
            sse42::greater(sse42::shift_right<24>(head[0]), sse42::set1(1)) & is_global(head[1]) &
            is_global(ends[1]);
        const sse42 too_long = sse42::greater(l3 + sse42::set1(l2_bytes), sse42::load(in_one));
        const sse42 usual = same(upper, packet::protocol_tcp) | same(upper, packet::protocol_udp);
        const sse42 alike =
            sse42::equal<uint32_t>(head[1], ends[1]) & sse42::equal<uint32_t>(head[3], ends[3]);
        doubt = sse42::sign_bits(alike) | (sse42::sign_bits(usual) ^ 0xf);
        return sse42::sign_bits(sse42::and_not(too_long, good));
    }

  private:
    sse42 to_, rest_to_;
};

fate forward_ipv6(const way_in& from, burst& b, packet_mask packets, const frames& f) noexcept {
    const view& v = from.v;
    const plain_ipv6 check(from.in.mac);
    std::array<ipv6_address, burst_max> destination;
    alignas(16) std::array<uint32_t, burst_max> l3_bytes;
    packet_mask plain = 0, doubt = 0;
    for (uint32_t i = 0; i < b.count; i += 4) {
        packet_mask in_doubt;
        constexpr uint32_t least_bytes = l2_bytes + sizeof(packet::ipv6_header);
        uint8_t* frame[4];
        for (uint32_t k = 0; k < 4; ++k)
            frame[k] = b.in_one[i + k] >= least_bytes ? f.first[i + k] : nothing;
        plain |= check.find(frame, &b.in_one[i], &l3_bytes[i], in_doubt) << i;
        doubt |= in_doubt << i;
    }
    plain &= packets;
    packet_mask not_plain = 0;
    const auto ip_of = [&](uint32_t i) -> const packet::ipv6_header& {
        return packet::view<packet::ipv6_header>(f.first[i] + l2_bytes);
    };
    for_each(plain & doubt, [&](uint32_t i) {
        const packet::ipv6_header& ip = ip_of(i);
        if (!is_plain_upper(ip.next_header) || ip.source == ip.destination)
            not_plain |= packet_mask{1} << i;
    });
    // A source that is ours is forged: the careful stages say so.
    for_each(plain, [&](uint32_t i) {
        const packet::ipv6_header& ip = ip_of(i);
        not_plain |= packet_mask{v.own.has(ip.source)} << i;
        destination[i] = ip.destination;
    });
    plain &= ~not_plain;
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
    const bool six =
        packet::view<packet::ethernet_header>(f.first[0]).type == packet::ether_type_ipv6;
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
