// SPDX-License-Identifier: BSD-3-Clause
// Stage ip_fast: the fast path, which validates, looks up and rewrites nearly every routed packet in one pass.
//   Reads   packet, single_segment_bytes, in; interface.{mac, addresses, acl_in, urpf, redirects}, snapshot.{vrf, hops}
//   Writes  of packets that are sent: out; TTL or hop limit, checksum, MAC addresses; padding is trimmed; drop of
//           packets that the ingress ACL denies, and its counters
// A plain packet is a unicast frame to us in one segment, with an IPv4 header without options or an
// IPv6 header without extension headers, that passes every check of stages ip_input, lookup and
// rewrite and whose neighbour is resolved. All other packets go on to stage ip_input unchanged: only
// the slow path classifies them and assigns drop reasons. Both paths send the same bytes
// (tests/unit/turnpike/plain_test.cpp).
#include <algorithm>
#include <atomic>
#include <cstring>

#include "datapath/graph.hpp"
#include "datapath/nexthop_group.hpp"
#include "datapath/reverse_path.hpp"
#include "datapath/stages/acl_judge.hpp"
#include "datapath/stages/plain_frames.hpp"

namespace turnpike::datapath {
namespace {

constexpr uint16_t l2_bytes = sizeof(packet::ethernet_header);
using hop_indices = std::array<uint64_t, burst_max>;

/// Next hops of packets; elements of packets not in the mask hold the first one's.
/// Answers  the number of elements, from index 0 on
template <class Fib, class Address>
inline __attribute__((always_inline)) uint32_t look_up(const Fib& fib, packet_mask packets,
                                                       const Address* destination,
                                                       hop_indices& hop) noexcept {
    const auto n = static_cast<uint32_t>(std::bit_width(packets));
    if ((packets & (packets + 1)) == 0) {  // no gap: look up in place
        fib.lookup_bulk({destination, n}, {hop.data(), n});
        return n;
    }
    std::array<Address, burst_max> side_by_side;
    hop_indices found;
    uint32_t k = 0;
    for_each(packets, [&](uint32_t i) { side_by_side[k++] = destination[i]; });
    fib.lookup_bulk({side_by_side.data(), k}, {found.data(), k});
    hop.fill(found[0]);
    k = 0;
    for_each(packets, [&](uint32_t i) { hop[i] = found[k++]; });
    return n;
}

/// One next hop for all packets of a burst, the most frequent case: many flows, few neighbours.
class one_way {
  public:
    explicit one_way(next_hop& hop) noexcept
        : hop_(hop),
          known_(hop.kind.load(std::memory_order_acquire) == nexthop_kind::adjacency),
          mtu_(hop.mtu.load(std::memory_order_relaxed)),
          out_(hop.out),
          first_(hop.rewrite_first.load(std::memory_order_relaxed)),
          second_(hop.rewrite_second) {}

    [[nodiscard]] egress out(uint32_t) const noexcept { return out_; }
    [[nodiscard]] bool usual(uint32_t max_bytes) const noexcept {
        return known_ && max_bytes <= mtu_;
    }
    [[nodiscard]] bool takes(uint32_t, uint32_t l3_bytes) const noexcept {
        return known_ && l3_bytes <= mtu_;
    }
    void mark_used(packet_mask packets) const noexcept {
        if (packets != 0) hop_.mark_used();
    }
    /// Answers  egress port and interface
    egress write(uint32_t, uint8_t* frame) const noexcept {
        next_hop::write(frame, first_, second_);
        return out_;
    }

  private:
    next_hop& hop_;
    const bool known_;
    const uint16_t mtu_;
    const egress out_;
    const uint64_t first_;
    const uint32_t second_;
};

/// A next hop per packet. Combines the hops' first words, to test a burst at once. (SSE4.2 is
/// DPDK's minimum.)
class ways {
  public:
    ways(next_hop* hops, const hop_indices& hop, uint32_t n) noexcept
        : hops_(hops), hop_(hop.data()) {
        static_assert(offsetof(next_hop, kind) == 0 && offsetof(next_hop, used) == 3 &&
                      offsetof(next_hop, mtu) == 4);
        v128 common_iface = v128::set1(~0U), in_any = v128::set1(0), least = common_iface;
#pragma GCC unroll 4
        for (uint32_t i = 0; i < n; ++i) {
            const v128 says = v128::load_row(reinterpret_cast<const uint8_t*>(&hops[hop[i]]), 0);
            common_iface = common_iface & says;
            in_any = in_any | says;
            least = v128::least_halves(least, says);
        }
        constexpr uint32_t kind_bits = 0xff, adjacency = uint32_t(nexthop_kind::adjacency);
        known_ = (common_iface.lane<0>() & kind_bits) == adjacency &&
                 (in_any.lane<0>() & kind_bits) == adjacency;
        all_used_ = common_iface.lane<0>() >> 24 != 0;
        least_mtu_ = least.lane<1>() & 0xffff;
        // Load the rewrite after the kind: the reverse of control's order of stores (next_hop.hpp).
        std::atomic_signal_fence(std::memory_order_acquire);
    }

    [[nodiscard]] egress out(uint32_t i) const noexcept { return of(i).out; }
    [[nodiscard]] bool usual(uint32_t max_bytes) const noexcept {
        return known_ && max_bytes <= least_mtu_;
    }
    [[nodiscard]] bool takes(uint32_t i, uint32_t l3_bytes) const noexcept {
        return of(i).kind.load(std::memory_order_acquire) == nexthop_kind::adjacency &&
               l3_bytes <= of(i).mtu.load(std::memory_order_relaxed);
    }
    void mark_used(packet_mask packets) const noexcept {
        if (!all_used_) [[unlikely]]
            for_each(packets, [&](uint32_t i) { of(i).mark_used(); });
    }
    egress write(uint32_t i, uint8_t* frame) const noexcept {
        const next_hop& by = of(i);
        by.write(frame);
        return by.out;
    }

  private:
    [[nodiscard]] next_hop& of(uint32_t i) const noexcept { return hops_[hop_[i]]; }

    next_hop* const hops_;
    const uint64_t* const hop_;
    bool known_, all_used_;
    uint32_t least_mtu_;
};

/// Compares two at a time: all pairs with the first pair.
bool all_alike(const hop_indices& hop, uint32_t n) noexcept {
    const v128 first = v128::load_any(&hop[0]);
    v128 differ = v128::set1(0);
    uint32_t i = 2;
    for (; i + 2 <= n; i += 2) differ = differ | (v128::load_any(&hop[i]) ^ first);
    const uint64_t last = hop[n - 1];
    return (n < 2 || hop[0] == hop[1]) && hop[0] == last && !v128::any(differ);
}

/// Longest packet and presence of padding in a burst.
struct lengths {
    uint32_t most;  ///< in bytes of layer 3
    bool padded;    ///< some frame is longer than its IP packet

    lengths(const burst& b, const uint32_t* l3_bytes, uint32_t n) noexcept {
        v128 longest = v128::set1(0), longer = longest;
        for (size_t i = 0; i < n; i += 4) {
            const v128 l3 = v128::load(l3_bytes + i);
            longest = v128::most(longest, l3);
            longer = longer | v128::greater(v128::load(&b.single_segment_bytes[i]),
                                            l3 + v128::set1(l2_bytes));
        }
        most = longest.highest();
        padded = v128::any(longer);
    }
};

/// Trim the padding behind IP packets.
void cut_padding(burst& b, packet_mask packets, const uint32_t* l3_bytes) noexcept {
    for_each(packets, [&](uint32_t i) {
        const uint32_t bytes = l2_bytes + l3_bytes[i];
        if (b.single_segment_bytes[i] <= bytes) return;
        rte_mbuf* const m = b.packet[i];
        m->pkt_len = bytes;
        m->data_len = static_cast<uint16_t>(bytes);
    });
}

/// Result masks of a burst.
struct fate {
    packet_mask sent = 0, denied = 0;

    fate& operator+=(const fate& other) noexcept {
        sent |= other.sent;
        denied |= other.denied;
        return *this;
    }
};

/// Ingress context, the same for all packets of an interface.
struct way_in {
    const snapshot& v;
    const interface& in;
    const mac_address& us;  ///< one of the interface's MAC addresses
    const vrf_snapshot& routing;
    uint32_t worker;
};

/// ECMP: replace the hops of groups by their members'.
void choose_members(const snapshot& v, const frames& f, packet_mask packets, hop_indices& hop,
                    const uint32_t* l3_bytes) noexcept {
    for_each(packets, [&](uint32_t i) {
        const next_hop& by = v.hops[hop[i]];
        if (by.kind.load(std::memory_order_acquire) != nexthop_kind::group) return;
        const uint32_t hash = packet::flow_hash(f.first[i] + l2_bytes, l3_bytes[i], v.sharing);
        hop[i] = by.group.load(std::memory_order_acquire)->choose(hash);
    });
}

/// Send packets by their next hops; forward(frame, i) applies the family's changes to the frame.
/// The ingress ACL classifies only packets that can be sent from here: the slow path would classify
/// the others again.
/// l3_bytes  0 for packets not to be sent
template <class Ways, class Forward>
fate send_by(const Ways way, const way_in& from, burst& b, const frames& f, packet_mask packets,
             uint32_t n, const uint32_t* l3_bytes, decltype(classify_fast_ipv4)& classify,
             const Forward& forward) noexcept {
    const lengths bytes(b, l3_bytes, n);
    packet_mask open = packets;
    if (!way.usual(bytes.most)) [[unlikely]]
        for_each(packets, [&](uint32_t i) {
            if (!way.takes(i, l3_bytes[i])) open &= ~(packet_mask{1} << i);
        });
    if (from.v.out_lists) [[unlikely]]
        for_each(open, [&](uint32_t i) {
            if (from.v.interfaces[way.out(i).interface].judged_out) open &= ~(packet_mask{1} << i);
        });
    if (from.in.redirects) [[unlikely]]
        for_each(open, [&](uint32_t i) {
            if (way.out(i).interface == from.in.ifindex) open &= ~(packet_mask{1} << i);
        });
    if (bytes.padded) cut_padding(b, open, l3_bytes);
    packet_mask denied = 0;
    if (from.in.acl_in != nullptr) {
        const judged by_list =
            classify(b, open, f.first.data(), l3_bytes, *from.in.acl_in, from.worker);
        open = by_list.permitted;
        denied = by_list.denied;
    }
    way.mark_used(open);
    for_each(open, [&](uint32_t i) {
        uint8_t* frame = f.first[i];
        forward(frame, i);
        b.out[i] = way.write(i, frame);
    });
    return {.sent = open, .denied = denied};
}

template <class Forward>
fate send(const way_in& from, burst& b, const frames& f, packet_mask packets, hop_indices& hop,
          uint32_t n, const uint32_t* l3_bytes, decltype(classify_fast_ipv4)& classify,
          const Forward& forward) noexcept {
    const snapshot& v = from.v;
    if (v.groups) [[unlikely]]
        choose_members(v, f, packets, hop, l3_bytes);
    if (all_alike(hop, n))
        return send_by(one_way(v.hops[hop[0]]), from, b, f, packets, n, l3_bytes, classify,
                       forward);
    return send_by(ways(v.hops, hop, n), from, b, f, packets, n, l3_bytes, classify, forward);
}

/// Keep packets that pass uRPF; the slow path drops the rest with a reason. Not inlined: most
/// interfaces do not use uRPF.
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
    const snapshot& v = from.v;
    packet::plain_ipv4 plain;
    packets &= v.plain_ipv4(f.first.data(), b.single_segment_bytes.data(), b.count, from.us, plain);
    packets = from_others(from.routing.own, packets, plain.source, b.count);
    if (from.in.urpf) [[unlikely]]
        packets = routed_back(from, *from.routing.fib4, packets, plain.source);
    if (packets == 0) return {};
    hop_indices hop;
    const uint32_t n = look_up(*from.routing.fib4, packets, plain.destination, hop);
    return send(from, b, f, packets, hop, n, plain.l3_bytes, classify_fast_ipv4,
                [&](uint8_t* frame, uint32_t i) noexcept {
                    store_be(frame + l2_bytes + offsetof(packet::ipv4_header, ttl),
                             plain.forwarded[i]);
                });
}

fate forward_ipv6(const way_in& from, burst& b, packet_mask packets, const frames& f) noexcept {
    std::array<ipv6_address, burst_max> destination;
    alignas(16) std::array<uint32_t, burst_max> l3_bytes;
    packet_mask plain = plain_ipv6(from.us).find_all(b, packets, f, l3_bytes.data());
    packet_mask not_plain = 0;
    const auto ip_of = [&](uint32_t i) -> const packet::ipv6_header& {
        return packet::header_at<packet::ipv6_header>(f.first[i] + l2_bytes);
    };
    // A source address of our own is spoofed: the slow path drops it with a reason.
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
    return send(from, b, f, plain, hop, n, l3_bytes.data(), classify_fast_ipv6,
                [](uint8_t* frame, uint32_t) noexcept {
                    --packet::header_at<packet::ipv6_header>(frame + l2_bytes).hop_limit;
                });
}

/// Both families, the first frame's first: most bursts have one family.
fate forward(const way_in& from, burst& b, packet_mask packets, const frames& f) noexcept {
    const bool six =
        packet::header_at<packet::ethernet_header>(f.first[0]).type == packet::ether_type_ipv6;
    fate all = six ? forward_ipv6(from, b, packets, f) : forward_ipv4(from, b, packets, f);
    const packet_mask left = packets & ~all.sent & ~all.denied;
    if (left != 0) all += six ? forward_ipv4(from, b, left, f) : forward_ipv6(from, b, left, f);
    return all;
}

/// For interfaces with several MAC addresses, the first frame's first: most bursts have one
/// destination MAC. A frame to none of them, such as a broadcast, takes no further pass.
__attribute__((noinline)) fate forward_to_each(const way_in& from, burst& b, packet_mask packets,
                                               const frames& f) noexcept {
    fate all;
    const auto take = [&](const mac_address& us) {
        packet_mask left = 0;
        for_each(packets & ~all.sent & ~all.denied, [&](uint32_t i) {
            const auto& to = packet::header_at<packet::ethernet_header>(f.first[i]).destination;
            left |= packet_mask{to == us} << i;
        });
        if (left == 0) return;
        all += forward(
            {.v = from.v, .in = from.in, .us = us, .routing = from.routing, .worker = from.worker},
            b, left, f);
    };
    const auto& macs = from.in.addresses->macs;
    const auto first =
        std::find(macs.begin(), macs.end(),
                  packet::header_at<packet::ethernet_header>(f.first[0]).destination);
    if (first != macs.end()) take(*first);
    take(from.in.mac);
    for (auto mac = macs.begin(); mac != macs.end(); ++mac)
        if (mac != first) take(*mac);
    return all;
}

}  // namespace

stage_mask run_ip_fast(context& c, burst& b, packet_mask packets) noexcept {
    // All packets have one ingress interface; common_iface is 0 where stage vxlan_fast decapsulated others of
    // the burst.
    const interface& in =
        c.snapshot->interfaces[b.in[static_cast<size_t>(std::countr_zero(packets))]];
    const way_in from{.v = *c.snapshot,
                      .in = in,
                      .us = in.mac,
                      .routing = c.snapshot->vrf[in.vrf],
                      .worker = c.worker};
    const frames f(b);
    const fate all =
        in.more_macs ? forward_to_each(from, b, packets, f) : forward(from, b, packets, f);
    for_each(all.denied, [&](uint32_t i) { b.drop[i] = drop_reason::acl_deny; });
    return leave(from.v, b, all.sent) |
           move(b, packets & ~all.sent & ~all.denied, stage::ip_input) |
           move(b, all.denied, stage::drop);
}

}  // namespace turnpike::datapath
