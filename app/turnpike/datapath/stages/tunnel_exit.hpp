// SPDX-License-Identifier: BSD-3-Clause
// Decapsulation, after all checks: shared by stages vxlan_fast and vxlan_input.
#pragma once

#include <rte_mbuf.h>

#include "datapath/graph.hpp"
#include "datapath/pull_up.hpp"
#include "datapath/segments_sum.hpp"
#include "datapath/vlan_tag.hpp"
#include "packet/checksum.hpp"
#include "packet/ecn.hpp"

namespace turnpike::datapath {

/// UDP and VXLAN headers.
inline constexpr uint32_t tunnel_bytes = sizeof(packet::udp_header) + sizeof(packet::vxlan_header);

/// Whether the device has verified the outer UDP checksum. For a packet that the device recognises
/// as a tunnel, the L4 flag is about the inner packet and another flag about the outer one. That
/// flag is meaningless for other packets: ice and iavf set it on each packet without an outer
/// checksum error, even without an outer checksum (ice_rxd_error_to_pkt_flags()).
inline bool device_says_right(const rte_mbuf* m) noexcept {
    constexpr uint32_t inner =
        RTE_PTYPE_INNER_L2_MASK | RTE_PTYPE_INNER_L3_MASK | RTE_PTYPE_INNER_L4_MASK;
    const uint64_t only = m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK,
                   outer = m->ol_flags & RTE_MBUF_F_RX_OUTER_L4_CKSUM_MASK;
    if ((m->packet_type & RTE_PTYPE_TUNNEL_MASK) != 0)
        return outer == RTE_MBUF_F_RX_OUTER_L4_CKSUM_GOOD;
    return only == RTE_MBUF_F_RX_L4_CKSUM_GOOD &&
           (m->packet_type & (RTE_PTYPE_L4_MASK | inner)) == RTE_PTYPE_L4_UDP;
}

/// RFC 768, RFC 8200 section 8.1: sum over pseudo-header, UDP header and payload.
/// upper, addresses  offsets of the UDP header and of both IP addresses, which are in the first segment
inline bool udp_sum_is_right(const rte_mbuf* m, uint32_t upper, uint32_t udp_bytes,
                             uint32_t addresses, uint32_t address_bytes) noexcept {
    packet::native_sum sum;
    sum.add(uint64_t{sum_of(m, upper, udp_bytes)});
    sum.add(rte_pktmbuf_mtod_offset(m, const uint8_t*, addresses), address_bytes);
    sum.add(uint64_t{rte_cpu_to_be_16(packet::protocol_udp)});
    sum.add(uint64_t{rte_cpu_to_be_16(static_cast<uint16_t>(udp_bytes))});
    return sum.folded() == 0xffff;
}

/// Bytes of an inner frame up to the end of an IP header without options behind two VLAN tags.
inline constexpr uint32_t inner_header_bytes =
    packet::ethernet_bytes + 2 * sizeof(packet::vlan_tag) + sizeof(packet::ipv6_header);

/// The IP header in an inner frame, also behind one or two VLAN tags; null: none.
/// there  number of readable bytes of the frame
inline uint8_t* inner_l3(uint8_t* frame, uint32_t there, bool& v4) noexcept {
    uint8_t* at = frame + packet::ethernet_bytes;
    uint16_t type = load_be<uint16_t>(at - 2);
    uint32_t left = there - packet::ethernet_bytes;
    for (int tags = 0; tags < 2 && packet::is_vlan_type(type) && left >= sizeof(packet::vlan_tag);
         ++tags) {
        at += sizeof(packet::vlan_tag);
        left -= uint32_t{sizeof(packet::vlan_tag)};
        type = load_be<uint16_t>(at - 2);
    }
    v4 = type == packet::ether_type_ipv4;
    if (v4 && left >= sizeof(packet::ipv4_header) && *at >> 4 == 4) return at;
    if (type == packet::ether_type_ipv6 && left >= sizeof(packet::ipv6_header) && *at >> 4 == 6)
        return at;
    return nullptr;
}

/// ECN decapsulation (RFC 6040): copy the outer mark inwards. False: the inner packet is not
/// ECN-capable and must be dropped; nothing is changed.
/// outer  ECN of the outer header; frame, there: as above
inline bool ecn_decap_frame(uint8_t* frame, uint32_t there, uint8_t outer) noexcept {
    bool v4 = false;
    uint8_t* const l3 = inner_l3(frame, there, v4);
    if (l3 == nullptr) return true;
    const auto inner = static_cast<uint8_t>(packet::traffic_class(l3, v4) & packet::ecn_mask);
    const packet::decapsulated_ecn is = packet::decapsulate_ecn(inner, outer);
    if (is.mark != inner) packet::set_ecn(l3, v4, is.mark);
    return !is.drop;
}

/// Apply the tunnel interface's tag mode to a decapsulated frame, as stage iface_input does for
/// received ones.
inline void pop_tunnel_vlan(const snapshot& v, burst& b, uint32_t i, uint16_t ifindex) noexcept {
    if (v.interfaces[ifindex].tags == interface::unknown) return;
    const found_tag found = find_tag(b.packet[i], v.tunnels->by_ifindex[ifindex].tag_type);
    if (found.is == found_tag::none) return;
    b.tagged |= packet_mask{1} << i;
    b.tag[i] = found.tci;
    if (found.is == found_tag::whole) vlan_pop(b, i);
}

/// The decapsulator of a burst.
class tunnel_exit {
  public:
    tunnel_exit(context& c, burst& b) noexcept
        : v_(*c.snapshot),
          b_(b),
          worker_state_(*c.tunnel_state),
          device_sums_(v_.port[b.in_port].checks_udp_sums) {
        worker_state_.know(*v_.tunnels);
        b_.bytes = 0;
    }

    /// Verify a UDP checksum that is not 0.
    /// left  bytes from the UDP header to the end of the IP packet; the others as in udp_sum_is_right()
    [[nodiscard]] bool sum_is_right(uint32_t i, uint32_t upper, uint32_t udp_bytes, uint32_t left,
                                    uint32_t addresses, uint32_t address_bytes) const noexcept {
        const rte_mbuf* const m = b_.packet[i];
        // If the datagram is shorter than the IP payload, devices differ in the bytes that they
        // sum.
        return (device_sums_ && udp_bytes == left && device_says_right(m)) ||
               udp_sum_is_right(m, upper, udp_bytes, addresses, address_bytes);
    }

    /// Replace a packet by its inner frame: `bytes` after `headers`. The first segment holds the
    /// headers and the inner Ethernet header. The new ingress interface is `ifindex`.
    void decapsulate(uint32_t i, uint16_t ifindex, uint32_t headers, uint32_t bytes) noexcept {
        rte_mbuf* const m = b_.packet[i];
        if (m->pkt_len > headers + bytes) trim(m, m->pkt_len - headers - bytes);
        begin_at(m, headers, bytes);
        m->data_len = static_cast<uint16_t>(m->data_len - headers);
        b_.single_segment_bytes[i] = m->nb_segs == 1 ? bytes : 0;
        b_.forget_lengths();
        arrive(b_, worker_state_.of(ifindex), i, ifindex, bytes);
        const packet_mask one = packet_mask{1} << i;
        b_.tagged &= ~one;
        b_.tag_in_frame &= ~one;
        pop_tunnel_vlan(v_, b_, i, ifindex);
        const bool bridged = v_.paths[ifindex].input == bit(stage::bridge);
        (bridged ? bridged_ : b_.recirculated) |= one;
    }

    /// The same for one segment and a tunnel that is `simple`; they_are_simple() sets the fields
    /// that are common to all of them afterwards.
    static void decapsulate_simple(burst& b, tunnel_counters* counters, uint32_t i,
                                   uint16_t ifindex, uint32_t headers, uint32_t bytes) noexcept {
        rte_mbuf* const m = b.packet[i];
        begin_at(m, headers, bytes);
        m->data_len = static_cast<uint16_t>(bytes);
        b.single_segment_bytes[i] = bytes;
        arrive(b, counters[ifindex], i, ifindex, bytes);
    }
    /// bytes  total of the inner frames
    void they_are_simple(packet_mask packets, uint64_t bytes) noexcept {
        b_.tagged &= ~packets;
        b_.tag_in_frame &= ~packets;
        if (packets == all_of(b_.count)) b_.bytes = bytes;
        if (packets != 0) b_.forget_lengths();
        bridged_ |= packets;
    }

    /// Recirculate frames to stage iface_input, or move them straight to stage bridge, the frequent
    /// case.
    stage_mask go_on() const noexcept {
        if (bridged_ == 0) return 0;
        b_.common_iface = 0;
        return enqueue(b_, bridged_, stage::bridge);
    }

  private:
    static void begin_at(rte_mbuf* m, uint32_t headers, uint32_t bytes) noexcept {
        m->data_off = static_cast<uint16_t>(m->data_off + headers);
        m->pkt_len = bytes;
        m->ol_flags &= ~header_offload_flags;
    }
    static void arrive(burst& b, tunnel_counters& counted, uint32_t i, uint16_t ifindex,
                       uint32_t bytes) noexcept {
        b.in[i] = ifindex;
        counted.rx_packets.add(1);
        counted.rx_bytes.add(bytes);
    }
    const snapshot& v_;
    burst& b_;
    tunnel_worker_state& worker_state_;
    const bool device_sums_;
    packet_mask bridged_ = 0;
};

}  // namespace turnpike::datapath
