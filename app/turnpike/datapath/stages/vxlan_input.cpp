// SPDX-License-Identifier: BSD-3-Clause
// Stage vxlan_input: decapsulates VXLAN packets that end here (RFC 7348) and that stage vxlan_fast did not take, or drops them with
// a reason.
//   Reads   packet, in, parsed.{l3, l2_bytes, l3_bytes, upper_offset}; snapshot.tunnels
//   Writes  the packet, which becomes the inner frame; in, single_segment_bytes, common_iface, tagged, tag; the tunnels' worker state
// Endpoints of a burst take one bulk lookup per family.
#include <rte_mbuf.h>

#include <algorithm>

#include "datapath/graph.hpp"
#include "datapath/stages/tunnel_exit.hpp"

namespace turnpike::datapath {
namespace {

class decapsulator {
  public:
    decapsulator(context& c, burst& b) noexcept
        : c_(c), b_(b), t_(*c.snapshot->tunnels), worker_state_(*c.tunnel_state), exit_(c, b) {}

    stage_mask run(packet_mask packets) noexcept {
        for_each(packets, [&](uint32_t i) {
            const drop_reason why = read(i);
            if (why != drop_reason::none) [[unlikely]]
                drop_packet(b_, i, why, drops_);
        });
        if (n4_ != 0) {
            worker_state_.from4.lookup(*t_.from4, key4_.data(), ifindex_.data(), n4_);
            for (uint32_t k = 0; k < n4_; ++k)
                decapsulate(of4_[k], static_cast<uint16_t>(ifindex_[k]));
        }
        if (n6_ != 0) {
            worker_state_.from6.lookup(*t_.from6, key6_.data(), ifindex_.data(), n6_);
            for (uint32_t k = 0; k < n6_; ++k)
                decapsulate(of6_[k], static_cast<uint16_t>(ifindex_[k]));
        }
        return exit_.go_on() | enqueue(b_, drops_, stage::drop);
    }

  private:
    [[nodiscard]] const uint8_t* at(uint32_t i, uint32_t offset) const noexcept {
        return rte_pktmbuf_mtod_offset(b_.packet[i], const uint8_t*, offset);
    }

    /// Read the UDP and VXLAN headers and make the endpoint's key. Answers the drop reason.
    drop_reason read(uint32_t i) noexcept {
        rte_mbuf* const m = b_.packet[i];
        const packet::parsed& p = b_.parsed[i];
        const uint32_t left = p.l2_bytes + p.l3_bytes - p.upper_offset;
        if (left < tunnel_bytes) return drop_reason::vxlan_truncated;
        const uint32_t contiguous =
            std::min(p.upper_offset + tunnel_bytes + packet::ethernet_bytes, m->pkt_len);
        if (m->data_len < contiguous && !pull_up(m, contiguous))
            return drop_reason::vxlan_truncated;
        const auto& udp = packet::header_at<packet::udp_header>(at(i, p.upper_offset));
        if (udp.bytes < tunnel_bytes || udp.bytes > left) return drop_reason::vxlan_truncated;
        const auto& vxlan = packet::header_at<packet::vxlan_header>(
            at(i, p.upper_offset + uint32_t{sizeof(packet::udp_header)}));
        if ((vxlan.flags & packet::vxlan_has_vni) == 0) return drop_reason::vxlan_flags;
        const uint32_t vni = vxlan.vni >> 8;
        const uint8_t vrf = c_.snapshot->interfaces[b_.in[i]].vrf;
        if (p.is_ipv4()) {
            const auto& ip = packet::header_at<packet::ipv4_header>(at(i, p.l2_bytes));
            const uint16_t end = t_.end_of(uint32_t{ip.destination}, vrf, p.destination_port);
            key4_[n4_] = {ip.source, vni, static_cast<uint8_t>(end)};
            network_[i] = tunnel_tables::network_of(end, vni);
            of4_[n4_++] = static_cast<uint8_t>(i);
        } else {
            const auto& ip = packet::header_at<packet::ipv6_header>(at(i, p.l2_bytes));
            const uint16_t end = t_.end_of(ip.destination, vrf, p.destination_port);
            key6_[n6_] = {ip.source.bytes, ip.destination.bytes, vni, vrf, p.destination_port};
            network_[i] = tunnel_tables::network_of(end, vni);
            of6_[n6_++] = static_cast<uint8_t>(i);
        }
        return drop_reason::none;
    }

    /// Answers  why a packet of an endpoint is dropped; changes nothing
    [[nodiscard]] drop_reason check(uint32_t i, uint16_t ifindex) const noexcept {
        const packet::parsed& p = b_.parsed[i];
        if (ifindex == 0) [[unlikely]] {
            const auto& known = p.is_ipv4() ? t_.networks4 : t_.networks6;
            return std::binary_search(known.begin(), known.end(), network_[i])
                       ? drop_reason::vxlan_unknown_vtep
                       : drop_reason::vxlan_unknown_vni;
        }
        const tunnel_end& end = t_.by_ifindex[ifindex];
        const auto& udp = packet::header_at<packet::udp_header>(at(i, p.upper_offset));
        const auto& vxlan = packet::header_at<packet::vxlan_header>(
            at(i, p.upper_offset + uint32_t{sizeof(packet::udp_header)}));
        const bool reserved =
            ((vxlan.flags ^ packet::vxlan_has_vni) | (uint32_t{vxlan.vni} & 0xff)) != 0;
        if (reserved && !end.ignores_reserved) [[unlikely]]
            return drop_reason::vxlan_reserved;
        if (udp.checksum == 0) {
            if (end.v6 && end.sums) [[unlikely]]
                return drop_reason::vxlan_checksum;
        } else if (!exit_.sum_is_right(i, p.upper_offset, udp.bytes,
                                       p.l2_bytes + p.l3_bytes - p.upper_offset, p.source_offset(),
                                       p.is_ipv4() ? 8 : 32)) {
            return drop_reason::vxlan_checksum;
        }
        if (udp.bytes < tunnel_bytes + packet::ethernet_bytes) [[unlikely]]
            return drop_reason::vxlan_inner_runt;
        return drop_reason::none;
    }

    void decapsulate(uint32_t i, uint16_t ifindex) noexcept {
        if (const drop_reason why = check(i, ifindex); why != drop_reason::none) [[unlikely]]
            return drop_packet(b_, i, why, drops_);
        rte_mbuf* const m = b_.packet[i];
        const packet::parsed& p = b_.parsed[i];
        const uint32_t headers = p.upper_offset + tunnel_bytes;
        const uint8_t outer =
            packet::traffic_class(at(i, p.l2_bytes), p.is_ipv4()) & packet::ecn_mask;
        const uint32_t contiguous = std::min(headers + inner_header_bytes, m->pkt_len);
        if (outer != packet::ecn_not_capable && m->data_len < contiguous && !pull_up(m, contiguous))
            [[unlikely]]
            return drop_packet(b_, i, drop_reason::vxlan_truncated, drops_);
        const auto& udp = packet::header_at<packet::udp_header>(at(i, p.upper_offset));
        const uint32_t bytes = udp.bytes - tunnel_bytes;
        if (outer != packet::ecn_not_capable &&
            !ecn_decap_frame(rte_pktmbuf_mtod_offset(m, uint8_t*, headers),
                             std::min(m->data_len - headers, bytes), outer)) [[unlikely]]
            return drop_packet(b_, i, drop_reason::ecn_decap, drops_);
        exit_.decapsulate(i, ifindex, headers, bytes);
    }

    context& c_;
    burst& b_;
    const tunnel_tables& t_;
    tunnel_worker_state& worker_state_;
    tunnel_exit exit_;
    packet_mask drops_ = 0;
    uint32_t n4_ = 0, n6_ = 0;
    std::array<tunnel::endpoint4, burst_max> key4_;
    std::array<tunnel::endpoint6, burst_max> key6_;
    alignas(64) std::array<uint64_t, burst_max> ifindex_;
    std::array<uint64_t, burst_max> network_;  ///< [packet]
    std::array<uint8_t, burst_max> of4_, of6_;
};
static_assert(burst_max == tunnel::burst_endpoints);

}  // namespace

stage_mask run_vxlan_input(context& c, burst& b, packet_mask packets) noexcept {
    return decapsulator(c, b).run(packets);
}

}  // namespace turnpike::datapath
