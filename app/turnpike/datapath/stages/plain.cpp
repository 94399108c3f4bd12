// SPDX-License-Identifier: BSD-3-Clause
// Stage plain: the way of nearly every routed packet in one pass: checked, looked up, rewritten.
//   Reads   packet, in_one, in; interface.{mac, addresses, acl_in, urpf, redirects}, view.{vrf, hops}
//   Writes  of packets that are sent: out; TTL or hop limit, checksum, MAC addresses; padding is cut; drop of
//           what the list on the way in denies, and its counters
// Plain is a frame in one segment, from one station to us, with an IPv4 header without options or an
// IPv6 header without extensions, that passes every check of stages parse, lookup and rewrite and
// whose neighbour is known. What is not goes on to stage parse as it came: what it is, and why it
// may not be sent, is said there only. Both ways send the same bytes (tests/unit/turnpike/
// plain_test.cpp).
#include <algorithm>
#include <atomic>
#include <cstring>

#include "datapath/graph.hpp"
#include "datapath/hop_group.hpp"
#include "datapath/reverse_path.hpp"
#include "datapath/stages/acl_judge.hpp"
#include "datapath/stages/plain_frames.hpp"

namespace turnpike::datapath {
namespace {

constexpr uint16_t l2_bytes = sizeof(packet::ethernet_header);
using hop_indices = std::array<uint64_t, burst_max>;

/// The hops of packets. Answers of how many, from the first on; those among them that are not looked up,
/// and as many behind as fill four, have fixed_hop::no_route.
template <class Fib, class Address>
inline __attribute__((always_inline)) uint32_t look_up(const Fib& fib, packet_mask packets,
                                                       const Address* destination,
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

    fate& operator+=(const fate& other) noexcept {
        sent |= other.sent;
        denied |= other.denied;
        return *this;
    }
};

/// What is the same for all packets that come in by an interface.
struct way_in {
    const view& v;
    const interface& in;
    const mac_address& us;  ///< one of the interface's
    const vrf_view& routing;
    uint32_t worker;
};

/// Of packets that groups share, the hops are their members'.
void choose_members(const view& v, const frames& f, packet_mask packets, hop_indices& hop,
                    const uint32_t* l3_bytes) noexcept {
    for_each(packets, [&](uint32_t i) {
        const next_hop& by = v.hops[hop[i]];
        if (by.kind.load(std::memory_order_acquire) != hop_kind::group) return;
        const uint32_t hash = packet::flow_hash(f.first[i] + l2_bytes, l3_bytes[i], v.sharing);
        hop[i] = by.group.load(std::memory_order_acquire)->choose(hash);
    });
}

/// Send packets by their hops; forward(frame, i) does the rest of what changes in a frame. A list on the
/// way in is asked only about what can be sent then: the careful stages would ask it again.
template <class Forward>
fate send(const way_in& from, burst& b, const frames& f, packet_mask packets, hop_indices& hop,
          uint32_t n, const uint32_t* l3_bytes, decltype(judge_plain_ipv4)& judge,
          const Forward& forward) noexcept {
    const view& v = from.v;
    if (v.groups) [[unlikely]]
        choose_members(v, f, packets, hop, l3_bytes);
    const ways way(v.hops, hop, n);
    packet_mask unmarked = 0;
    packet_mask open = packets & way.open(n, l3_bytes, unmarked);
    // What a hop says of its neighbour is read behind its kind, as it was written (next_hop.hpp).
    std::atomic_signal_fence(std::memory_order_acquire);
    if (v.out_lists) [[unlikely]]
        for (packet_mask rest = open; rest != 0; rest &= rest - 1) {
            const auto i = static_cast<uint32_t>(std::countr_zero(rest));
            const auto out = std::bit_cast<way_out>(way.out[i]);
            if (v.interfaces[out.interface].judged_out) open &= ~(packet_mask{1} << i);
        }
    if (from.in.redirects) [[unlikely]]
        for_each(open, [&](uint32_t i) {
            const auto out = std::bit_cast<way_out>(way.out[i]);
            if (out.interface == from.in.place) open &= ~(packet_mask{1} << i);
        });
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

/// Whose way back is as the interface asks: of the others the careful stages say why. Out of the way of those
/// who do not ask.
template <class Fib, class Address>
__attribute__((noinline)) packet_mask routed_back(const way_in& from, const Fib& fib,
                                                  packet_mask packets,
                                                  const Address* source) noexcept {
    if (packets == 0) return 0;
    hop_indices hop;
    look_up(fib, packets, source, hop);
    packet_mask out = 0;
    for_each(packets, [&](uint32_t i) {
        const auto back = static_cast<uint32_t>(hop[i]);
        out |= packet_mask{leads_back(from.v, back, from.in)} << i;
    });
    return out;
}

fate forward_ipv4(const way_in& from, burst& b, packet_mask packets, const frames& f) noexcept {
    const view& v = from.v;
    packet::plain_ipv4 plain;
    packets &= v.plain_ipv4(f.first.data(), b.in_one.data(), b.count, from.us, plain);
    packets = from_others(from.routing.own, packets, plain.source, b.count);
    if (from.in.urpf) [[unlikely]]
        packets = routed_back(from, *from.routing.fib4, packets, plain.source);
    if (packets == 0) return {};
    hop_indices hop;
    const uint32_t n = look_up(*from.routing.fib4, packets, plain.destination, hop);
    return send(from, b, f, packets, hop, n, plain.l3_bytes, judge_plain_ipv4,
                [&](uint8_t* frame, uint32_t i) noexcept {
                    store_be(frame + l2_bytes + offsetof(packet::ipv4_header, ttl),
                             plain.forwarded[i]);
                });
}

fate forward_ipv6(const way_in& from, burst& b, packet_mask packets, const frames& f) noexcept {
    std::array<ipv6_address, burst_max> destination;
    alignas(16) std::array<uint32_t, burst_max> l3_bytes;
    packet_mask plain = plain_ipv6(from.us).find_all(b, packets, f.first.data(), l3_bytes.data());
    packet_mask not_plain = 0;
    const auto ip_of = [&](uint32_t i) -> const packet::ipv6_header& {
        return packet::view<packet::ipv6_header>(f.first[i] + l2_bytes);
    };
    // A source that is ours is forged: the careful stages say so.
    for_each(plain, [&](uint32_t i) {
        const packet::ipv6_header& ip = ip_of(i);
        not_plain |= packet_mask{from.routing.own.has(ip.source)} << i;
        destination[i] = ip.destination;
    });
    plain &= ~not_plain;
    if (from.in.urpf) [[unlikely]] {
        std::array<ipv6_address, burst_max> source{};
        for_each(plain, [&](uint32_t i) { source[i] = ip_of(i).source; });
        plain = routed_back(from, *from.routing.fib6, plain, source.data());
    }
    if (plain == 0) return {};
    hop_indices hop;
    const uint32_t n = look_up(*from.routing.fib6, plain, destination.data(), hop);
    return send(from, b, f, plain, hop, n, l3_bytes.data(), judge_plain_ipv6,
                [](uint8_t* frame, uint32_t) noexcept {
                    --packet::view<packet::ipv6_header>(frame + l2_bytes).hop_limit;
                });
}

/// Both families, the first frame's first: bursts are mostly of one.
fate forward(const way_in& from, burst& b, packet_mask packets, const frames& f) noexcept {
    const bool six =
        packet::view<packet::ethernet_header>(f.first[0]).type == packet::ether_type_ipv6;
    fate all = six ? forward_ipv6(from, b, packets, f) : forward_ipv4(from, b, packets, f);
    const packet_mask left = packets & ~all.sent & ~all.denied;
    if (left != 0) all += six ? forward_ipv4(from, b, left, f) : forward_ipv6(from, b, left, f);
    return all;
}

/// Of an interface that answers to several MAC addresses: the first frame's first, bursts are mostly to one.
__attribute__((noinline)) fate forward_to_each(const way_in& from, burst& b, packet_mask packets,
                                               const frames& f) noexcept {
    fate all;
    const auto take = [&](const mac_address& us) {
        const packet_mask left = packets & ~all.sent & ~all.denied;
        if (left == 0) return;
        all += forward(
            {.v = from.v, .in = from.in, .us = us, .routing = from.routing, .worker = from.worker},
            b, left, f);
    };
    const auto& macs = from.in.addresses->macs;
    const auto first = std::find(macs.begin(), macs.end(),
                                 packet::view<packet::ethernet_header>(f.first[0]).destination);
    if (first != macs.end()) take(*first);
    take(from.in.mac);
    for (auto mac = macs.begin(); mac != macs.end(); ++mac)
        if (mac != first) take(*mac);
    return all;
}

}  // namespace

stage_mask run_plain(context& c, burst& b, packet_mask packets) noexcept {
    // All are of one interface; where others of the burst are out of a tunnel already, in_all is nobody's.
    const interface& in = c.view->interfaces[b.in[static_cast<size_t>(std::countr_zero(packets))]];
    const way_in from{
        .v = *c.view, .in = in, .us = in.mac, .routing = c.view->vrf[in.vrf], .worker = c.worker};
    const frames f(b);
    const fate all =
        in.more_macs ? forward_to_each(from, b, packets, f) : forward(from, b, packets, f);
    for_each(all.denied, [&](uint32_t i) { b.drop[i] = packet::drop_reason::acl_deny; });
    return leave(from.v, b, all.sent) | move(b, packets & ~all.sent & ~all.denied, stage::parse) |
           move(b, all.denied, stage::drop);
}

}  // namespace turnpike::datapath
