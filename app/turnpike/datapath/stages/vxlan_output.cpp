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
#include <cstring>

#include "datapath/graph.hpp"
#include "datapath/nexthop_group.hpp"
#include "datapath/read_headers.hpp"
#include "datapath/segments_sum.hpp"
#include "datapath/stages/look_up.hpp"
#include "isa/crc32c.hpp"
#include "packet/checksum.hpp"
#include "packet/ecn.hpp"
#include "packet/flow_hash.hpp"

namespace turnpike::datapath {
namespace {

using packet::ethernet_bytes;

/// The fields of the inner frame that the outer headers depend on.
struct inside {
    uint8_t traffic_class = 0;
    uint16_t source_port = 0;
    uint32_t l2_bytes = ethernet_bytes;
};

uint16_t port_of(uint32_t hash) noexcept {
    constexpr uint16_t first = 49152;  // RFC 6335 section 6: dynamic ports
    return static_cast<uint16_t>(first | hash >> 18);
}

inside look_into(const rte_mbuf* m, const packet::flow_hashing& how) noexcept {
    inside is;
    const auto* frame = rte_pktmbuf_mtod(m, const uint8_t*);
    const uint8_t* l3 = frame + ethernet_bytes;
    uint16_t type = load_be<uint16_t>(l3 - 2);
    uint32_t there = m->data_len - ethernet_bytes;
    if (packet::is_vlan_type(type)) [[unlikely]] {
        constexpr uint32_t tag_bytes = sizeof(packet::vlan_tag);
        is.l2_bytes += tag_bytes;
        for (int tags = 0; tags < 2 && packet::is_vlan_type(type) && there >= tag_bytes; ++tags) {
            l3 += tag_bytes;
            there -= tag_bytes;
            type = load_be<uint16_t>(l3 - 2);
        }
    }
    const bool v4 =
        type == packet::ether_type_ipv4 && there >= sizeof(packet::ipv4_header) && *l3 >> 4 == 4;
    const bool v6 =
        type == packet::ether_type_ipv6 && there >= sizeof(packet::ipv6_header) && *l3 >> 4 == 6;
    if (v4 || v6) {
        is.traffic_class = packet::traffic_class(l3, v4);
        is.source_port = port_of(packet::flow_hash(l3, there, how));
        return is;
    }
    uint64_t first;
    uint32_t rest;
    std::memcpy(&first, frame, sizeof first);
    std::memcpy(&rest, frame + sizeof first, sizeof rest);
    is.source_port = port_of(isa::crc32c(isa::crc32c(0, first), rest));
    return is;
}

/// Only packets that may be fragmented need an identification (RFC 6864 section 4.1).
/// header_sum  sum of the prebuilt header
void finish_ipv4(uint8_t* l3, uint32_t header_sum, uint16_t bytes, uint8_t traffic_class,
                 uint16_t id) noexcept {
    auto& ip = packet::header_at<packet::ipv4_header>(l3);
    ip.tos = traffic_class;
    ip.total_bytes = bytes;
    ip.id = id;
    // Words in memory byte order (RFC 1071 section 2 (B)); TOS is the second byte of its word.
    uint32_t sum = header_sum + rte_cpu_to_be_16(bytes) + rte_cpu_to_be_16(traffic_class) +
                   rte_cpu_to_be_16(id);
    sum = (sum & 0xffff) + (sum >> 16);
    const auto field = static_cast<uint16_t>(~(sum + (sum >> 16)));
    std::memcpy(&ip.checksum, &field, sizeof field);
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

/// Path of packets to an endpoint.
struct tunnel_path {
    const next_hop* hop;
    const nexthop_group* group;  ///< ECMP: each packet by one of the members; else null
    uint32_t max_bytes;  ///< maximum frame length, of a group by its routes' MTU; 0: recirculate
};

class encapsulator {
  public:
    encapsulator(context& c, burst& b) noexcept
        : c_(c), v_(*c.snapshot), b_(b), t_(*v_.tunnels), worker_state_(*c.tunnelling) {}

    stage_mask run(packet_mask packets) noexcept {
        const packet_mask wrapped = wrap(packets);
        b_.tagged &= ~wrapped;
        b_.tag_in_frame &= ~wrapped;
        find_ways();
        const packet_mask sent = send(wrapped), rest = wrapped & ~sent;
        if (to_sum_ != 0) sum_udp(wrapped, sent);
        for_each(rest, [&](uint32_t i) { route(i); });
        b_.recirculated |= rest;
        b_.outer |= rest;
        return go_on_output(v_, b_, sent, stage::vxlan_output) |
               enqueue(b_, icmp_errors_, stage::punt) | enqueue(b_, drops_, stage::drop);
    }

  private:
    [[nodiscard]] const tunnel_end& end_of(uint32_t i) const noexcept {
        return t_.by_ifindex[b_.in[i]];
    }
    [[nodiscard]] uint8_t* l3_of(uint32_t i) const noexcept {
        return rte_pktmbuf_mtod_offset(b_.packet[i], uint8_t*, ethernet_bytes);
    }

    /// Prepend the headers. Answers the packets that have them.
    packet_mask wrap(packet_mask packets) noexcept {
        const tunnel_end* const ends = t_.by_ifindex.data();
        uint8_t* const first_seen = worker_state_.first_seen();
        tunnel_counters* const counters = &worker_state_.of(0);
        burst& b = b_;
        packet_mask firsts = 0;
        for (packet_mask rest = packets; rest != 0; rest &= rest - 1) {
            const auto i = static_cast<uint32_t>(std::countr_zero(rest));
            rte_mbuf* const m = b.packet[i];
            const uint16_t ifindex = b.out[i].interface;
            const tunnel_end& end = ends[ifindex];
            const uint32_t inner_bytes = m->pkt_len;
            const inside is = look_into(m, v_.sharing);
            const bool fits = inner_bytes <= is.l2_bytes + end.mtu;
            auto* const to =
                fits ? reinterpret_cast<uint8_t*>(rte_pktmbuf_prepend(m, end.header_bytes))
                     : nullptr;
            if (to == nullptr) [[unlikely]] {
                refuse(i, fits ? drop_reason::tunnel_no_headroom : drop_reason::tunnel_too_big);
                continue;
            }
            m->ol_flags &= ~said_of_headers;
            write(m, to, end, is);
            if (end.sums) to_sum_ |= packet_mask{1} << i;
            counters[ifindex].tx_packets.add(1);
            counters[ifindex].tx_bytes.add(inner_bytes);
            b.in[i] = ifindex;  // selects the VRF
            // The element may be left over from another burst.
            uint32_t first = first_seen[ifindex];
            if ((firsts >> first & 1) == 0 || b.in[first] != ifindex) {
                first = i;
                first_seen[ifindex] = static_cast<uint8_t>(i);
                firsts |= packet_mask{1} << i;
            }
            first_[i] = first;
        }
        firsts_ = firsts;
        return packets & ~drops_ & ~icmp_errors_;
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

    void write(rte_mbuf* m, uint8_t* to, const tunnel_end& end, const inside& is) noexcept {
        const auto traffic_class =
            static_cast<uint8_t>((is.traffic_class & end.inherited) | end.traffic_class);
        const uint32_t l3_bytes = m->pkt_len - ethernet_bytes;
        uint8_t* const l3 = to + ethernet_bytes;
        uint32_t ip_bytes;
        if (end.v6) {
            ip_bytes = sizeof(packet::ipv6_header);
            std::memcpy(to, end.header.data(), tunnel_end::ipv6_header_bytes);
            finish_ipv6(l3, static_cast<uint16_t>(l3_bytes - ip_bytes), traffic_class);
        } else {
            ip_bytes = sizeof(packet::ipv4_header);
            std::memcpy(to, end.header.data(), tunnel_end::ipv4_header_bytes);
            finish_ipv4(l3, end.header_sum, static_cast<uint16_t>(l3_bytes), traffic_class,
                        end.fragments ? worker_state_.next_identifier() : uint16_t{0});
        }
        const auto udp_bytes = static_cast<uint16_t>(l3_bytes - ip_bytes);
        auto& udp = packet::header_at<packet::udp_header>(l3 + ip_bytes);
        udp.source_port = is.source_port;
        udp.bytes = udp_bytes;
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

    /// The next hop of each endpoint, where the path is simple or ECMP.
    void find_ways() noexcept {
        look_up(
            v_, b_, firsts_,
            [&](uint32_t i, bool& v4) noexcept {
                v4 = !end_of(i).v6;
                return l3_of(i) + (v4 ? offsetof(packet::ipv4_header, destination)
                                      : offsetof(packet::ipv6_header, destination));
            },
            [&](uint32_t i, uint32_t hop) noexcept { path_[i] = simple(v_.hops[hop]); });
    }
    [[nodiscard]] tunnel_path simple(next_hop& hop) const noexcept {
        const nexthop_kind kind = hop.kind.load(std::memory_order_acquire);
        constexpr tunnel_path none{.hop = nullptr, .group = nullptr, .max_bytes = 0};
        if (kind == nexthop_kind::group)
            return {.hop = nullptr,
                    .group = hop.group.load(std::memory_order_acquire),
                    .max_bytes = ethernet_bytes + hop.mtu.load(std::memory_order_relaxed)};
        if (kind != nexthop_kind::adjacency) return none;
        if ((v_.paths[hop.out.interface].output & ~bit(stage::mirror_out)) != bit(stage::tx))
            return none;
        hop.mark_used();
        return {.hop = &hop,
                .group = nullptr,
                .max_bytes = ethernet_bytes + hop.mtu.load(std::memory_order_relaxed)};
    }

    /// Send packets with a simple path. Answers them, with their MAC addresses written.
    packet_mask send(packet_mask packets) noexcept {
        packet_mask sent = 0;
        burst& b = b_;
        for (packet_mask rest = packets; rest != 0; rest &= rest - 1) {
            const auto i = static_cast<uint32_t>(std::countr_zero(rest));
            const rte_mbuf* const m = b.packet[i];
            const tunnel_path* by = &path_[first_[i]];
            tunnel_path of_member;
            if (by->group != nullptr) [[unlikely]] {
                const uint32_t hash =
                    packet::flow_hash(l3_of(i), m->data_len - ethernet_bytes, v_.sharing);
                of_member = simple(v_.hops[by->group->choose(hash)]);
                of_member.max_bytes = std::min(of_member.max_bytes, by->max_bytes);
                by = &of_member;
            }
            if (m->pkt_len > by->max_bytes) [[unlikely]]
                continue;
            by->hop->write(rte_pktmbuf_mtod(m, uint8_t*));
            b.out[i] = by->hop->out;
            sent |= packet_mask{1} << i;
        }
        return sent;
    }

    /// Recirculate: stage lookup treats it as a received packet.
    void route(uint32_t i) noexcept {
        rte_mbuf* const m = b_.packet[i];
        const tunnel_end& end = end_of(i);
        const uint32_t l3_bytes = m->pkt_len - ethernet_bytes;
        uint8_t* const l3 = l3_of(i);
        b_.single_segment_bytes[i] = m->nb_segs == 1 ? m->pkt_len : 0;
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

    const context& c_;
    const snapshot& v_;
    burst& b_;
    const tunnel_tables& t_;
    tunnel_worker_state& worker_state_;
    packet_mask drops_ = 0, icmp_errors_ = 0;
    packet_mask to_sum_ = 0;  ///< packets with a UDP checksum
    packet_mask firsts_ = 0;  ///< first packet of each endpoint
    /// By packet: index of the first one to its endpoint; by that: the path.
    std::array<uint32_t, burst_max> first_;
    std::array<tunnel_path, burst_max> path_;
};

}  // namespace

stage_mask run_vxlan_output(context& c, burst& b, packet_mask packets) noexcept {
    return encapsulator(c, b).run(packets);
}

}  // namespace turnpike::datapath
