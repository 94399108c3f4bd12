// SPDX-License-Identifier: BSD-3-Clause
// Stage vxlan_output: encapsulates frames in VXLAN (RFC 7348). The result is a packet of the router's own, routed in the VRF of
// its tunnel. In the simple case, one resolved neighbour on a port, it is sent from here; otherwise it recirculates from
// stage lookup on.
//   Reads   packet, out; snapshot.{tunnels, vrf, hops, interfaces}
//   Writes  headers in front of the frame; out, tagged; the tunnels' worker state; of packets too big for their tunnel
//           parsed, drop, punt
//           of recirculated packets: recirculated and outer, in, single_segment_bytes, parsed; TTL and hop limit are one more than on the
//           wire, because stage ip_forward decrements them
// Headers are prebuilt; only lengths, the source port (flow entropy for ECMP, RFC 7348 section 5),
// ECN (RFC 6040) and checksums differ.
#include <rte_mbuf.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "datapath/all_equal.hpp"
#include "datapath/graph.hpp"
#include "datapath/inner_flow.hpp"
#include "datapath/nexthop_group.hpp"
#include "datapath/read_headers.hpp"
#include "datapath/segments_sum.hpp"
#include "datapath/stages/look_up.hpp"
#include "isa/prefetch.hpp"
#include "isa/simd/v128.hpp"
#include "packet/checksum.hpp"
#include "packet/ecn.hpp"
#include "packet/flow_hash.hpp"

namespace turnpike::datapath {
namespace {

using packet::ethernet_bytes;

/// The common case, an untagged IPv4 packet, inline.
inline __attribute__((always_inline)) inner_flow inspect_inner(
    const rte_mbuf* m, const packet::flow_hashing& how) noexcept {
    const auto* const l3 = rte_pktmbuf_mtod_offset(m, const uint8_t*, ethernet_bytes);
    const uint32_t there = m->data_len - ethernet_bytes;
    if (load_be<uint16_t>(l3 - 2) != packet::ether_type_ipv4 ||
        !packet::has_usual_flow(l3, there, how)) [[unlikely]]
        return inner_flow_of(m, how);
    return {.traffic_class = packet::traffic_class(l3, true),
            .source_port = entropy_port(packet::usual_flow_hash(l3, how)),
            .l2_bytes = ethernet_bytes};
}

/// Only packets that may be fragmented need an identification (RFC 6864 section 4.1).
/// header_sum  sum of the prebuilt header's words
void finish_ipv4(uint8_t* l3, uint32_t header_sum, uint16_t bytes, uint8_t traffic_class,
                 uint16_t id) noexcept {
    auto& ip = packet::header_at<packet::ipv4_header>(l3);
    ip.tos = traffic_class;
    store_be(reinterpret_cast<uint8_t*>(&ip.total_bytes), uint32_t{bytes} << 16 | id);
    uint32_t sum = header_sum + bytes + traffic_class + id;
    sum = (sum & 0xffff) + (sum >> 16);
    ip.checksum = static_cast<uint16_t>(~(sum + (sum >> 16)));
}

void finish_ipv6(uint8_t* l3, uint16_t payload, uint8_t traffic_class) noexcept {
    auto& ip = packet::header_at<packet::ipv6_header>(l3);
    ip.version_class_flow = 6u << 28 | uint32_t{traffic_class} << 20;
    ip.payload_bytes = payload;
}

/// A computed sum of 0 is sent as 0xffff: 0 means no checksum (RFC 768).
void put_sum(rte_mbuf* m, uint32_t offset, uint16_t bytes, uint64_t addresses) noexcept {
    packet::native_sum sum;
    sum.add(uint64_t{sum_of(m, offset, bytes)});
    sum.add(addresses);
    sum.add(uint64_t{rte_cpu_to_be_16(bytes)});
    auto field = static_cast<uint16_t>(~sum.folded());
    if (field == 0) field = 0xffff;
    std::memcpy(
        rte_pktmbuf_mtod_offset(m, uint8_t*, offset) + offsetof(packet::udp_header, checksum),
        &field, sizeof field);
}

/// For checksum offload: the field holds the pseudo-header's sum.
void leave_sum(rte_mbuf* m, uint32_t ip_bytes, uint16_t bytes, bool v6,
               uint64_t addresses) noexcept {
    packet::native_sum sum;
    sum.add(addresses);
    sum.add(uint64_t{rte_cpu_to_be_16(bytes)});
    const uint16_t field = sum.folded();
    std::memcpy(rte_pktmbuf_mtod_offset(m, uint8_t*, ethernet_bytes + ip_bytes) +
                    offsetof(packet::udp_header, checksum),
                &field, sizeof field);
    m->ol_flags |= RTE_MBUF_F_TX_UDP_CKSUM | (v6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4);
    m->tx_offload = 0;
    m->l2_len = ethernet_bytes;
    m->l3_len = ip_bytes & 0x1ff;
}

/// The headers of an endpoint in vector registers, with the MAC addresses of its next hop if that is known. Vectors that
/// were loaded once: memory that was just written by parts would stall each load.
template <size_t Bytes>
class prebuilt {
  public:
    prebuilt(const tunnel_end& end, const next_hop* nexthop) noexcept {
        std::array<uint8_t, Bytes> header;
        std::memcpy(header.data(), end.header.data(), Bytes);
        if (nexthop != nullptr) nexthop->write(header.data());
        for (size_t k = 0; k < vectors; ++k) part_[k] = v128::load_any(&header[offset(k)]);
    }
    void write(uint8_t* to) const noexcept {
        for (size_t k = 0; k < vectors; ++k) v128::store_any(to + offset(k), part_[k]);
    }

  private:
    static constexpr size_t vectors = (Bytes + 15) / 16;
    /// The last one overlaps the one before.
    static constexpr size_t offset(size_t k) noexcept {
        return k + 1 < vectors ? 16 * k : Bytes - 16;
    }

    std::array<v128, vectors> part_;
};

/// Path of packets to an endpoint; without hop and group: recirculate.
struct tunnel_path {
    next_hop* nexthop = nullptr;
    const nexthop_group* group = nullptr;  ///< ECMP: each packet by one of the members; else null
    uint32_t max_bytes = 0;                ///< maximum frame length, of a group by its routes' MTU
};

/// Packets of a burst to one endpoint.
struct endpoint_packets {
    packet_mask packets = 0;
    uint16_t ifindex = 0;
    tunnel_path path{};
};

class encapsulator {
  public:
    encapsulator(context& c, burst& b) noexcept
        : c_(c), v_(*c.snapshot), b_(b), t_(*v_.tunnels), worker_state_(*c.tunnel_state) {}

    stage_mask run(packet_mask packets) noexcept {
        // The headers' line is mostly not the frame's, and the device may have read it last.
        for_each(packets, [&](uint32_t i) {
            const auto* frame = rte_pktmbuf_mtod(b_.packet[i], const uint8_t*);
            isa::prefetch_to_write(frame - tunnel_end::ipv4_header_bytes / 2);
        });
        group(packets);
        find_paths();
        packet_mask wrapped = 0;
        for (uint32_t g = 0; g < count_; ++g) wrapped |= wrap(groups_[g]);
        b_.tagged &= ~wrapped;
        b_.tag_in_frame &= ~wrapped;
        const packet_mask rest = wrapped & ~sent_;
        if (to_sum_ != 0) sum_udp(wrapped, sent_);
        for_each(rest, [&](uint32_t i) { route(i); });
        b_.recirculated |= rest;
        b_.outer |= rest;
        return go_on_output(v_, b_, sent_, stage::vxlan_output) |
               enqueue(b_, icmp_errors_, stage::punt) | enqueue(b_, drops_, stage::drop);
    }

  private:
    [[nodiscard]] const tunnel_end& end_of(uint32_t i) const noexcept {
        return t_.by_ifindex[b_.in[i]];
    }
    [[nodiscard]] uint8_t* l3_of(uint32_t i) const noexcept {
        return rte_pktmbuf_mtod_offset(b_.packet[i], uint8_t*, ethernet_bytes);
    }

    /// Packets by endpoint.
    void group(packet_mask packets) noexcept {
        while (packets != 0) {
            const egress out = b_.out[static_cast<size_t>(std::countr_zero(packets))];
            const packet_mask same = with_egress(b_, packets, out, egress_interface);
            packets &= ~same;
            groups_[count_++] = {.packets = same, .ifindex = out.interface};
        }
    }

    /// The path to each endpoint, where it is simple or ECMP.
    void find_paths() noexcept {
        look_up(
            v_, all_of(count_),
            [&](uint32_t g) noexcept { return v_.interfaces[groups_[g].ifindex].vrf; },
            [&](uint32_t g, bool& v4) noexcept {
                const tunnel_end& end = t_.by_ifindex[groups_[g].ifindex];
                v4 = !end.v6;
                return end.header.data() + ethernet_bytes +
                       (v4 ? offsetof(packet::ipv4_header, destination)
                           : offsetof(packet::ipv6_header, destination));
            },
            [&](uint32_t g, uint32_t nexthop) noexcept {
                groups_[g].path = simple(v_.nexthops[nexthop]);
            });
    }
    [[nodiscard]] tunnel_path simple(next_hop& nexthop) const noexcept {
        const nexthop_kind kind = nexthop.kind.load(std::memory_order_acquire);
        if (kind == nexthop_kind::group)
            return {.group = nexthop.group.load(std::memory_order_acquire),
                    .max_bytes = ethernet_bytes + nexthop.mtu.load(std::memory_order_relaxed)};
        if (kind != nexthop_kind::adjacency) return {};
        constexpr stage_mask copying = bit(stage::sample_out) | bit(stage::mirror_out);
        if ((v_.paths[nexthop.out.interface].output & ~copying) != bit(stage::tx)) return {};
        nexthop.mark_used();
        return {.nexthop = &nexthop,
                .max_bytes = ethernet_bytes + nexthop.mtu.load(std::memory_order_relaxed)};
    }

    /// Prepend the headers for one endpoint, and send by a simple path. Answers the packets that have them.
    packet_mask wrap(const endpoint_packets& to) noexcept {
        const tunnel_end& end = t_.by_ifindex[to.ifindex];
        const packet_mask done = end.v6 ? prepend<true>(to, end) : prepend<false>(to, end);
        if (end.sums) to_sum_ |= done;
        if (to.path.group != nullptr) [[unlikely]]
            sent_ |= send_by_members(done, to.path);
        return done;
    }

    /// Answers the packets that have the headers.
    template <bool V6>
    packet_mask prepend(const endpoint_packets& of, const tunnel_end& end) noexcept {
        constexpr uint16_t header_bytes =
            V6 ? tunnel_end::ipv6_header_bytes : tunnel_end::ipv4_header_bytes;
        burst& b = b_;
        const packet::flow_hashing& sharing = v_.sharing;
        const prebuilt<header_bytes> header(end, of.path.nexthop);
        // Bytes that the loop writes may alias all that is not a local variable.
        const uint32_t mtu = end.mtu, header_sum = rte_be_to_cpu_16(end.header_sum);
        const uint8_t inherited = end.inherited, traffic_class = end.traffic_class;
        const uint32_t max_bytes = of.path.max_bytes;
        const uint16_t ifindex = of.ifindex;
        const bool fragments = end.fragments;
        const auto out =
            std::bit_cast<uint32_t>(of.path.nexthop != nullptr ? of.path.nexthop->out : egress{});
        uint64_t inner_bytes = 0;
        packet_mask refused = 0, longer = 0;
        for (packet_mask rest = of.packets; rest != 0; rest &= rest - 1) {
            const auto i = static_cast<uint32_t>(std::countr_zero(rest));
            rte_mbuf* const m = b.packet[i];
            const uint32_t bytes = m->pkt_len;
            const inner_flow is = inspect_inner(m, sharing);
            const bool fits = bytes <= is.l2_bytes + mtu;
            if (!fits || rte_pktmbuf_headroom(m) < header_bytes) [[unlikely]] {
                refuse(i, fits ? drop_reason::tunnel_no_headroom : drop_reason::tunnel_too_big);
                refused |= packet_mask{1} << i;
                continue;
            }
            auto* const to = reinterpret_cast<uint8_t*>(rte_pktmbuf_prepend(m, header_bytes));
            longer |= packet_mask{bytes + header_bytes > max_bytes} << i;
            b.in[i] = ifindex;  // selects the VRF
            b.out[i] = std::bit_cast<egress>(out);
            m->ol_flags &= ~header_offload_flags;
            header.write(to);
            const uint16_t id = fragments ? c_.next_identifier() : uint16_t{0};
            const auto outer_class =
                static_cast<uint8_t>((is.traffic_class & inherited) | traffic_class);
            finish<V6>(to + ethernet_bytes, bytes + header_bytes - ethernet_bytes, outer_class,
                       header_sum, id, is.source_port);
            inner_bytes += bytes;
        }
        const packet_mask done = of.packets & ~refused;
        tunnel_counters& counters = worker_state_.of(ifindex);
        counters.tx_packets.add(static_cast<uint64_t>(std::popcount(done)));
        counters.tx_bytes.add(inner_bytes);
        if (of.path.nexthop != nullptr) sent_ |= done & ~longer;
        return done;
    }

    /// A frame that exceeds the tunnel's MTU. Its source gets an ICMP error if it can send less:
    /// for unicast IP that may not be fragmented.
    __attribute__((noinline)) void refuse(uint32_t i, drop_reason why) noexcept {
        b_.drop[i] = why;
        const auto* frame = rte_pktmbuf_mtod(b_.packet[i], const uint8_t*);
        packet::parsed& p = b_.parsed[i];
        const bool sends_icmp =
            why == drop_reason::tunnel_too_big && c_.bursts_in_use == 0 && (*frame & 1) == 0 &&
            read_headers(b_.packet[i], p) && p.l3_drop == packet::drop_reason::none &&
            (p.l3 == packet::l3_kind::ipv6 || (p.is_ipv4() && p.is(packet::flag_dont_fragment)));
        (sends_icmp ? icmp_errors_ : drops_) |= packet_mask{1} << i;
        b_.punt[i] = punt_reason::too_big;
    }

    /// The fields that differ from packet to packet.
    /// l3_bytes  length of the outer packet
    template <bool V6>
    static void finish(uint8_t* l3, uint32_t l3_bytes, uint8_t traffic_class, uint32_t header_sum,
                       uint16_t id, uint16_t source_port) noexcept {
        constexpr uint32_t ip_bytes =
            V6 ? sizeof(packet::ipv6_header) : sizeof(packet::ipv4_header);
        if constexpr (V6)
            finish_ipv6(l3, static_cast<uint16_t>(l3_bytes - ip_bytes), traffic_class);
        else
            finish_ipv4(l3, header_sum, static_cast<uint16_t>(l3_bytes), traffic_class, id);
        auto& udp = packet::header_at<packet::udp_header>(l3 + ip_bytes);
        udp.source_port = source_port;
        udp.bytes = static_cast<uint16_t>(l3_bytes - ip_bytes);
    }

    /// UDP checksums cover the whole packet: offloaded for packets sent from here, in software for
    /// the rest.
    __attribute__((noinline)) void sum_udp(packet_mask wrapped, packet_mask sent) noexcept {
        for_each(to_sum_ & wrapped, [&](uint32_t i) {
            rte_mbuf* const m = b_.packet[i];
            const tunnel_end& end = end_of(i);
            const uint32_t ip_bytes =
                end.v6 ? sizeof(packet::ipv6_header) : sizeof(packet::ipv4_header);
            const auto bytes = static_cast<uint16_t>(m->pkt_len - ethernet_bytes - ip_bytes);
            if ((sent >> i & 1) != 0 && v_.port[b_.out[i].port].inserts_udp_sums)
                leave_sum(m, ip_bytes, bytes, end.v6, end.address_sum);
            else
                put_sum(m, ethernet_bytes + ip_bytes, bytes, end.address_sum);
        });
    }

    /// ECMP: each packet by the member that its flow chooses.
    __attribute__((noinline)) packet_mask send_by_members(packet_mask packets,
                                                          const tunnel_path& by) noexcept {
        packet_mask sent = 0;
        for_each(packets, [&](uint32_t i) {
            const rte_mbuf* const m = b_.packet[i];
            const uint32_t hash =
                packet::flow_hash(l3_of(i), m->data_len - ethernet_bytes, v_.sharing);
            const tunnel_path member = simple(v_.nexthops[by.group->choose(hash)]);
            if (member.nexthop == nullptr) return;
            if (m->pkt_len > std::min(member.max_bytes, by.max_bytes)) return;
            member.nexthop->write(rte_pktmbuf_mtod(m, uint8_t*));
            b_.out[i] = member.nexthop->out;
            sent |= packet_mask{1} << i;
        });
        return sent;
    }

    /// Recirculate: stage lookup treats it as a received packet.
    void route(uint32_t i) noexcept {
        rte_mbuf* const m = b_.packet[i];
        const tunnel_end& end = end_of(i);
        const uint32_t l3_bytes = m->pkt_len - ethernet_bytes;
        uint8_t* const l3 = l3_of(i);
        b_.single_segment_bytes[i] = m->nb_segs == 1 ? m->pkt_len : 0;
        b_.forget_lengths();
        packet::parsed& p = b_.parsed[i];
        p = {};
        uint32_t ip_bytes = sizeof(packet::ipv6_header);
        if (end.v6) {
            ++packet::header_at<packet::ipv6_header>(l3).hop_limit;
            p.l3 = packet::l3_kind::ipv6;
            p.type = packet::ether_type_ipv6;
        } else {
            auto& ip = packet::header_at<packet::ipv4_header>(l3);
            const auto before = load_be<uint16_t>(&ip.ttl);
            ++ip.ttl;
            ip.checksum = packet::update_checksum(ip.checksum, before, load_be<uint16_t>(&ip.ttl));
            ip_bytes = sizeof ip;
            p.l3 = packet::l3_kind::ipv4;
            p.type = packet::ether_type_ipv4;
            p.ipv4_header_bytes = sizeof ip;
            if (!end.fragments) p.flags = packet::flag_dont_fragment;
        }
        p.flags |= packet::flag_ports;
        p.l2_bytes = ethernet_bytes;
        p.upper_protocol = packet::protocol_udp;
        p.upper_offset = static_cast<uint16_t>(ethernet_bytes + ip_bytes);
        p.l3_bytes = l3_bytes;
        const auto& udp = packet::header_at<packet::udp_header>(l3 + ip_bytes);
        p.source_port = udp.source_port;
        p.destination_port = udp.destination_port;
    }

    context& c_;
    const snapshot& v_;
    burst& b_;
    const tunnel_tables& t_;
    tunnel_worker_state& worker_state_;
    packet_mask drops_ = 0, icmp_errors_ = 0;
    packet_mask to_sum_ = 0;  ///< packets with a UDP checksum
    packet_mask sent_ = 0;    ///< packets that a simple path sends from here
    std::array<endpoint_packets, burst_max> groups_;
    uint32_t count_ = 0;
};

}  // namespace

stage_mask run_vxlan_output(context& c, burst& b, packet_mask packets) noexcept {
    return encapsulator(c, b).run(packets);
}

}  // namespace turnpike::datapath
