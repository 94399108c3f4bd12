// SPDX-License-Identifier: BSD-3-Clause
// Stage vxlan_fast: fast path for VXLAN packets that end here (RFC 7348): decapsulates them; other packets go on
// unchanged.
//   Reads   packet, single_segment_bytes, common_iface; interface.{mac, vrf}, snapshot.{tunnels, vrf}
//   Writes  of decapsulated packets: the packet, which becomes the inner frame; in, single_segment_bytes, common_iface, tagged, tag; the
//           tunnels' worker state
// Takes fast-path packets (fast_frames.hpp), not a fragment, not from one of our own
// addresses, UDP to a local VTEP's address and port, from a known remote VTEP, and without an
// error. All other VXLAN packets take the path of packets to the router and reach stage vxlan_input after
// rewrite, which assigns drop reasons. Endpoints of a burst take one bulk lookup per family.
#include <rte_mbuf.h>

#include "datapath/graph.hpp"
#include "datapath/stages/fast_frames.hpp"
#include "datapath/stages/tunnel_exit.hpp"

namespace turnpike::datapath {
namespace {

constexpr uint32_t in_front = packet::ethernet_bytes;  // of the IP header
/// Outer headers of fast-path packets in a burst.
struct outer_headers {
    packet_mask vxlan = 0;   ///< complete UDP datagrams to a VTEP's port with VNI and inner frame
    packet_mask bare = 0;    ///< subset: no checksum, no ECN mark, no reserved bits
    packet_mask marked = 0;  ///< packets with an ECN mark
    alignas(16) std::array<uint32_t, burst_max> vni, udp_bytes;
};

/// Four packets at a time.
///   IPv4  | version, TOS, length | identification, fragment | TTL, protocol, sum | source |
///   IPv6  | version, class, flow | length, next header, hops | source ...
///   UDP   | source, destination  | length, checksum | VXLAN: flags 8, reserved | VNI 24, reserved |
/// first     start of each frame, readable up to the VXLAN header
/// l3_bytes  [burst_max] total length by the IP header
/// port      UDP port of a local VTEP
/// out       updated for packets to this port only
template <uint32_t Header>
void read_outer(uint8_t* const* first, uint32_t n, const uint32_t* l3_bytes, uint32_t port,
                outer_headers& out) noexcept {
    constexpr bool v4 = Header == sizeof(packet::ipv4_header);
    const auto bits = [](v128 a, uint32_t mask, uint32_t wanted) {
        return v128::equal<uint32_t>(a & v128::set1(mask), v128::set1(wanted));
    };
    for (uint32_t i = 0; i < n; i += 4) {
        v128 ip[4], udp[4];
        v128::columns_be_each(first + i, in_front, ip);
        v128::columns_be_each(first + i, in_front + Header, udp);
        constexpr uint32_t protocol = packet::protocol_udp;
        const v128 is_udp = v4 ? bits(ip[1], 0x3fff, 0) & bits(ip[2], 0xff'0000, protocol << 16)
                               : bits(ip[1], 0xff00, protocol << 8);
        const v128 unmarked = bits(ip[0], uint32_t{packet::ecn_mask} << (v4 ? 16 : 20), 0);
        const v128 udp_bytes = v128::shift_right<16>(udp[1]);
        const v128 vxlan =
            is_udp & bits(udp[0], 0xffff, port) &
            bits(udp[2], packet::vxlan_has_vni, packet::vxlan_has_vni) &
            v128::greater(udp_bytes, v128::set1(tunnel_bytes + packet::ethernet_bytes - 1));
        const v128 cut = v128::greater(udp_bytes + v128::set1(Header), v128::load(l3_bytes + i));
        const v128 bare = bits(udp[1], 0xffff, 0) & unmarked &
                          bits(udp[2], ~0U, packet::vxlan_has_vni) & bits(udp[3], 0xff, 0);
        v128::store(&out.vni[i], v128::shift_right<8>(udp[3]));
        v128::store(&out.udp_bytes[i], udp_bytes);
        out.vxlan |= v128::sign_bits(v128::and_not(cut, vxlan)) << i;
        out.bare |= v128::sign_bits(bare) << i;
        out.marked |= (v128::sign_bits(unmarked) ^ 0xf) << i;
    }
}

class unwrapper {
  public:
    unwrapper(context& c, burst& b) noexcept
        : v_(*c.snapshot),
          in_(v_.interfaces[b.common_iface]),
          t_(*v_.tunnels),
          worker_state_(*c.tunnel_state),
          b_(b),
          f_(b),
          exit_(c, b) {}

    /// Answers  the decapsulated packets
    packet_mask run(packet_mask packets) noexcept {
        // The first frame's family first: most bursts have one family.
        const bool six =
            packet::header_at<packet::ethernet_header>(f_.first[0]).type == packet::ether_type_ipv6;
        packet_mask out = six ? decapsulate_ipv6(packets) : decapsulate_ipv4(packets);
        if (const packet_mask rest = packets & ~out; rest != 0)
            out |= six ? decapsulate_ipv4(rest) : decapsulate_ipv6(rest);
        exit_.they_are_simple(simple_, simple_bytes_);
        return out;
    }
    stage_mask go_on() const noexcept { return exit_.go_on(); }

  private:
    static constexpr uint32_t ipv4_bytes = sizeof(packet::ipv4_header),
                              ipv6_bytes = sizeof(packet::ipv6_header);

    packet_mask decapsulate_ipv4(packet_mask packets) noexcept {
        if (t_.ends4.empty()) return 0;
        packets = to_vtep_port<ipv4_bytes>(packets);
        if (packets == 0) return 0;
        packet::fast_ipv4 fast;
        packets &=
            v_.fast_ipv4(f_.first.data(), b_.single_segment_bytes.data(), b_.count, in_.mac, fast);
        outer_headers says;
        for (const uint16_t port : t_.ports)  // usually one
            read_outer<ipv4_bytes>(roomy_, b_.count, fast.l3_bytes, port, says);
        packets &= says.vxlan;
        if (packets == 0) return 0;
        packets = from_others(v_.vrf[in_.vrf].own, packets, fast.source, b_.count);
        packet_mask out = 0;
        // One pass per local address and port: usually all packets have the same.
        while (packets != 0) {
            const auto first = static_cast<uint32_t>(std::countr_zero(packets));
            const uint32_t to = fast.destination[first];
            const uint16_t port = port_of(first, ipv4_bytes);
            const uint16_t end = t_.end_of(to, in_.vrf, port);
            std::array<tunnel::endpoint4, burst_max> key;
            packet_mask same = 0;
            for (uint32_t i = 0; i < b_.count; i += 4) {
                const v128 network = v128::load(&says.vni[i]) | v128::set1(uint32_t{end} << 24);
                v128::store_pairs(&key[i], v128::load(fast.source + i), network);
                same |= v128::sign_bits(
                            v128::equal<uint32_t>(v128::load(fast.destination + i), v128::set1(to)))
                        << i;
            }
            same &= packets;
            if (t_.ports.size() > 1) [[unlikely]]
                same = to_port(same, port);
            packets &= ~same;
            if ((same & (same + 1)) != 0) {  // compact the keys
                uint32_t k = 0;
                for_each(same, [&](uint32_t i) { key[k++] = key[i]; });
            }
            if (end != tunnel_tables::no_end)
                out |= decapsulate_all<ipv4_bytes>(same, key.data(), *t_.from4, worker_state_.from4,
                                                   says);
        }
        return out;
    }

    packet_mask decapsulate_ipv6(packet_mask packets) noexcept {
        if (t_.ends6.empty()) return 0;
        packets = to_vtep_port<ipv6_bytes>(packets);
        if (packets == 0) return 0;
        packet::fast_ipv6 fast;
        packets = find_fast_ipv6(v_.fast_ipv6, b_, packets, f_, in_.mac, fast);
        if (packets == 0) return 0;
        outer_headers says;
        for (const uint16_t port : t_.ports)
            read_outer<ipv6_bytes>(roomy_, b_.count, fast.l3_bytes, port, says);
        std::array<tunnel::endpoint6, burst_max> key;
        packet_mask known = 0;
        uint32_t n = 0;
        for_each(packets & says.vxlan, [&](uint32_t i) {
            const auto& ip = packet::header_at<packet::ipv6_header>(f_.first[i] + in_front);
            const uint16_t port = port_of(i, ipv6_bytes);
            if (t_.end_of(ip.destination, in_.vrf, port) == tunnel_tables::no_end ||
                v_.vrf[in_.vrf].own.has(ip.source))
                return;
            key[n++] = {ip.source.bytes, ip.destination.bytes, says.vni[i], in_.vrf, port};
            known |= packet_mask{1} << i;
        });
        return decapsulate_all<ipv6_bytes>(known, key.data(), *t_.from6, worker_state_.from6, says);
    }

    /// UDP destination port.
    /// header  length of the IP header
    [[nodiscard]] uint16_t port_of(uint32_t i, uint32_t header) const noexcept {
        return packet::header_at<packet::udp_header>(f_.first[i] + in_front + header)
            .destination_port;
    }
    __attribute__((noinline)) packet_mask to_port(packet_mask ipv4, uint16_t port) const noexcept {
        packet_mask same = 0;
        for_each(ipv4,
                 [&](uint32_t i) { same |= packet_mask{port_of(i, ipv4_bytes) == port} << i; });
        return same;
    }

    /// Packets that may be for a VTEP: long enough for an inner frame, and with a VTEP's port where UDP's destination port
    /// would be. Stage ip_fast checks the IP headers of the others, most of an underlay port's packets or few of them: where
    /// the first packet may be for a VTEP, the rest is not examined here.
    template <uint32_t Header>
    [[nodiscard]] packet_mask to_vtep_port(packet_mask packets) noexcept {
        constexpr uint32_t least = in_front + Header + tunnel_bytes + packet::ethernet_bytes;
        packet_mask shorter = 0, out = 0;
        for (uint32_t i = 0; i < b_.count && b_.min_bytes < least; i += 4)
            shorter |= v128::sign_bits(v128::greater(
                           v128::set1(least), v128::load(b_.single_segment_bytes.data() + i)))
                       << i;
        packets &= ~shorter;
        if (packets == 0) return 0;
        roomy_ = f_.first.data();
        if ((shorter & all_of(b_.count)) != 0) [[unlikely]]
            leave_out(shorter);
        for (const uint16_t port : t_.ports) {  // usually one
            if (load_be<uint16_t>(roomy_[0] + in_front + Header + 2) == port) return packets;
            const v128 wanted = v128::set1(uint32_t{__builtin_bswap16(port)} << 16);
            for (uint32_t i = 0; i < b_.count; i += 4) {
                const v128 ports = v128::load_u32_each(roomy_ + i, in_front + Header);
                const v128 destination = ports & v128::set1(0xffff'0000);
                out |= v128::sign_bits(v128::equal<uint32_t>(destination, wanted)) << i;
            }
        }
        return out & packets;
    }
    __attribute__((noinline)) void leave_out(packet_mask shorter) noexcept {
        for (uint32_t i = 0; i < burst_max; ++i)
            with_room_[i] = i < b_.count && (shorter >> i & 1) == 0 ? f_.first[i] : no_frame;
        roomy_ = with_room_.data();
    }

    /// key  [k] endpoint of the k-th packet
    template <uint32_t Header, class Key>
    packet_mask decapsulate_all(packet_mask packets, const Key* key,
                                const tunnel::endpoint_table<Key>& table,
                                tunnel::endpoint_cache<Key>& cache,
                                const outer_headers& says) noexcept {
        static_assert(burst_max == tunnel::burst_endpoints);
        if (packets == 0) return 0;
        alignas(64) std::array<uint64_t, burst_max> ifindex;
        cache.lookup(table, key, ifindex.data(), static_cast<uint32_t>(std::popcount(packets)));
        packet_mask simple = 0, others = 0;
        uint64_t bytes = 0;
        const tunnel_end* const ends = t_.by_ifindex.data();
        tunnel_counters* const counters = &worker_state_.of(0);
        burst& b = b_;
        const uint64_t* from = ifindex.data();
        for (packet_mask rest = packets; rest != 0; rest &= rest - 1, ++from) {
            const auto i = static_cast<uint32_t>(std::countr_zero(rest));
            const packet_mask one = rest & -rest;
            const auto in = static_cast<uint16_t>(*from);
            if (ends[in].simple && (says.bare & one) != 0) [[likely]] {
                const uint32_t inner_bytes = says.udp_bytes[i] - tunnel_bytes;
                tunnel_exit::decapsulate_simple(b, counters, i, in,
                                                in_front + Header + tunnel_bytes, inner_bytes);
                bytes += inner_bytes;
                simple |= one;
            } else if (decapsulate(i, in, Header, says)) {
                others |= one;
            }
        }
        simple_ |= simple;
        simple_bytes_ += bytes;
        return simple | others;
    }

    /// IP payload length; there are no options and no extension headers.
    static uint32_t left_in(const uint8_t* l3, bool v6) noexcept {
        return v6 ? uint32_t{packet::header_at<packet::ipv6_header>(l3).payload_bytes}
                  : packet::header_at<packet::ipv4_header>(l3).total_bytes - ipv4_bytes;
    }
    /// False: an error in the packet; nothing is changed.
    __attribute__((noinline)) bool decapsulate(uint32_t i, uint16_t ifindex, uint32_t header,
                                               const outer_headers& says) noexcept {
        if (ifindex == 0) return false;
        const tunnel_end& end = t_.by_ifindex[ifindex];
        uint8_t* const l3 = f_.first[i] + in_front;
        uint8_t* const udp = l3 + header;
        const auto& vxlan =
            packet::header_at<packet::vxlan_header>(udp + sizeof(packet::udp_header));
        const bool reserved =
            vxlan.flags != packet::vxlan_has_vni || (uint32_t{vxlan.vni} & 0xff) != 0;
        if (reserved && !end.ignores_reserved) return false;
        const uint32_t inner_bytes = says.udp_bytes[i] - tunnel_bytes;
        if (packet::header_at<packet::udp_header>(udp).checksum == 0) {
            if (end.v6 && end.sums) return false;
        } else if (!exit_.sum_is_right(i, in_front + header, says.udp_bytes[i], left_in(l3, end.v6),
                                       in_front + (end.v6 ? 8 : 12), end.v6 ? 32 : 8)) {
            return false;
        }
        if ((says.marked >> i & 1) != 0 &&
            !ecn_decap_frame(udp + tunnel_bytes, inner_bytes,
                             packet::traffic_class(l3, !end.v6) & packet::ecn_mask))
            return false;
        exit_.decapsulate(i, ifindex, in_front + header + tunnel_bytes, inner_bytes);
        return true;
    }

    const snapshot& v_;
    const interface& in_;
    const tunnel_tables& t_;
    tunnel_worker_state& worker_state_;
    burst& b_;
    const frames f_;
    std::array<uint8_t*, burst_max> with_room_;
    /// Start of each frame; no_frame where it is too short to hold an inner frame.
    uint8_t* const* roomy_ = nullptr;
    tunnel_exit exit_;
    packet_mask simple_ = 0;
    uint64_t simple_bytes_ = 0;
};

}  // namespace

stage_mask run_vxlan_fast(context& c, burst& b, packet_mask packets) noexcept {
    if (b.common_iface == 0) [[unlikely]]  // stage vxlan_input takes packets of several interfaces
        return go_on_input(*c.snapshot, b, packets, stage::vxlan_fast);
    unwrapper u(c, b);
    const packet_mask out = u.run(packets);
    return u.go_on() | go_on_input(*c.snapshot, b, packets & ~out, stage::vxlan_fast);
}

}  // namespace turnpike::datapath
