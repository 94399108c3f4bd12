// SPDX-License-Identifier: BSD-3-Clause
#include "observe/sflow.hpp"

#include <algorithm>

#include "base/byte_order.hpp"

namespace turnpike::observe::sflow {
namespace {

using datapath::drop_reason;

enum format : uint32_t { of_flow = 1, of_counters = 2, of_discard = 5 };
enum record : uint32_t { raw_header = 1, generic_counters = 1, port_name = 1005 };

constexpr uint32_t fcs_bytes = 4;

}  // namespace

uint32_t code_of(drop_reason why) noexcept {
    using enum drop_reason;
    switch (why) {
        case route_unreachable:
            return 0;  // net_unreachable
        case local_protocol:
            return 2;  // protocol_unreachable
        case no_route:
        case originated_no_route:
            return 6;  // dst_net_unknown
        case ipv4_source_routed:
            return 5;  // src_route_failed
        case route_prohibited:
            return 9;  // dst_net_prohibited
        case ipv4_ttl:
        case ipv6_hop_limit:
            return 257;  // ttl_exceeded
        case acl_deny:
        case acl_deny_out:
        case acl_l2_deny:
        case acl_l2_deny_out:
            return 258;  // acl
        case tx_refused:
        case punt_ring_full:
        case inject_ring_full:
        case fragment_memory:
        case flood_memory:
        case mirror_memory:
        case control_memory:
            return 259;  // no_buffer_space
        case punt_rate:
        case icmp_rate:
        case bridge_storm_broadcast:
        case bridge_storm_multicast:
        case bridge_storm_unknown:
            return 261;  // traffic_shaping
        case ipv4_too_big:
        case ipv6_too_big:
        case bridge_too_big:
        case tunnel_too_big:
        case originated_too_big:
            return 262;  // pkt_too_big
        case ether_source_group:
            return 263;  // src_mac_is_multicast
        case vlan_on_routed_port:
        case no_interface:
            return 264;  // vlan_tag_mismatch
        case bridge_vlan:
            return 265;  // ingress_vlan_filter
        case flood_no_member:
            return 267;  // port_list_is_empty
        case bridge_same_port:
            return 268;  // port_loopback_filter
        case route_blackhole:
            return 269;  // blackhole_route
        case ether_type_unknown:
            return 270;  // non_ip
        case l2_multicast:
            return 271;  // uc_dip_over_mc_dmac
        case ipv4_truncated:
        case ipv4_version:
        case ipv4_header_length:
        case ipv4_total_length:
        case ipv4_fragment_beyond_end:
        case ipv4_checksum:
        case ipv6_truncated:
        case ipv6_version:
            return 275;  // ip_header_corrupted
        case neighbour_failed:
        case neighbour_queue_full:
        case neighbour_limit:
        case pending_limit:
            return 279;  // unresolved_neigh
        case dst_mac_not_ours:
        case bogon_destination:
        case directed_broadcast:
        case route_not_followed:
            return 281;  // non_routable_packet
        case ecn_decap:
        case vxlan_checksum:
            return 282;  // decap_error
        case vxlan_truncated:
        case vxlan_flags:
        case vxlan_reserved:
        case vxlan_inner_runt:
            return 307;  // vxlan_parsing
        case vxlan_unknown_vni:
        case vxlan_unknown_vtep:
        case tunnel_to_self:
        case tunnel_no_headroom:
            return 288;  // unknown_tunnel
        case bridge_isolated:
            return 291;  // mlag_port_isolation
        case bridge_reserved:
            return 294;  // dmac_is_reserved
        case ipv4_source_is_destination:
        case ipv6_source_is_destination:
            return 297;  // sip_is_dip
        case link_local:
        case link_local_source:
            return 299;  // dip_is_link_local
        case urpf:
            return 302;  // uc_reverse_path_forwarding
        case bridge_locked:
            return 304;  // locked_port
        case vlan_truncated:
        case vlan_depth:
        case vlan_id_reserved:
            return 309;  // vlan_parsing
        case arp_truncated:
        case arp_format:
        case arp_operation:
            return 312;  // arp_parsing
        case ipv6_jumbogram:
        case ipv6_chain_truncated:
        case ipv6_chain_long:
        case ipv6_hop_by_hop_late:
        case ipv6_routing_type_0:
        case ipv6_fragment_twice:
            return 357;  // ipv6_bad_exthdr
        case runt:
            return 324;  // pkt_too_small
        case port_down:
        case interface_gone:
            return 331;  // dev_ready
        case icmp_truncated:
        case icmp_checksum:
            return 336;  // icmp_parsing
        case nd_fragment:
            return 358;  // ipv6_ndisc_frag
        case nd_hop_limit:
            return 359;  // ipv6_ndisc_hop_limit
        case nd_code:
            return 360;  // ipv6_ndisc_bad_code
        case nd_option_empty:
        case nd_option_truncated:
        case nd_option_source:
            return 361;  // ipv6_ndisc_bad_options
        default:
            return 256;  // unknown
    }
}

uint32_t discarded(drop_reason why) noexcept { return 0x40000000 | code_of(why); }

void datagram::clear() {
    bytes_.clear();
    samples_ = 0;
    put(5);
    put(agent_.v6 ? 2 : 1);
    bytes_.insert(bytes_.end(), agent_.bytes.begin(), agent_.bytes.begin() + (agent_.v6 ? 16 : 4));
    put(0);  // sub-agent
    sequence_at_ = bytes_.size();
    for (int i = 0; i < 3; ++i) put(0);  // sequence number, uptime, number of samples
}

std::span<const uint8_t> datagram::finish(uint32_t sequence, uint32_t uptime_ms) {
    store_be<uint32_t>(&bytes_[sequence_at_], sequence);
    store_be<uint32_t>(&bytes_[sequence_at_ + 4], uptime_ms);
    store_be<uint32_t>(&bytes_[sequence_at_ + 8], samples_);
    return bytes_;
}

void datagram::put(uint32_t v) {
    bytes_.resize(bytes_.size() + sizeof v);
    store_be<uint32_t>(&bytes_[bytes_.size() - sizeof v], v);
}

void datagram::put64(uint64_t v) {
    put(static_cast<uint32_t>(v >> 32));
    put(static_cast<uint32_t>(v));
}

void datagram::put_bytes(std::span<const uint8_t> bytes) {
    put(static_cast<uint32_t>(bytes.size()));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    bytes_.resize((bytes_.size() + 3) & ~size_t{3});
}

/// A body with its length in front.
template <class Body>
void datagram::put_sized(const Body& body) {
    const size_t at = bytes_.size();
    put(0);
    body();
    store_be<uint32_t>(&bytes_[at], static_cast<uint32_t>(bytes_.size() - at - sizeof(uint32_t)));
}

template <class Body>
bool datagram::add_sample(uint32_t format, const Body& body) {
    const size_t before = bytes_.size();
    put(format);
    put_sized(body);
    if (bytes_.size() > max_bytes && samples_ != 0) {
        bytes_.resize(before);
        return false;
    }
    ++samples_;
    return true;
}

void datagram::put_header(const sampled_header& h) {
    constexpr uint32_t ethernet = 1;
    put(1);  // records
    put(raw_header);
    put_sized([&] {
        put(ethernet);
        put(h.frame_bytes + fcs_bytes);
        put(fcs_bytes);  // stripped
        put_bytes(h.bytes);
    });
}

bool datagram::add(const flow_sample& s) {
    return add_sample(of_flow, [&] {
        put(s.sequence);
        put(s.source);
        put(s.rate);
        put(s.pool);
        put(s.lost);
        put(s.input);
        put(s.output);
        put_header(s.header);
    });
}

bool datagram::add(const discarded_packet& s) {
    return add_sample(of_discard, [&] {
        put(s.sequence);
        put(0);  // the source is an ifIndex
        put(s.source);
        put(s.lost);
        put(s.source);
        put(0);
        put(code_of(s.why));
        put_header(s.header);
    });
}

bool datagram::add(const interface_counters& s) {
    constexpr uint32_t ethernet_csmacd = 6, full_duplex = 1, unknown = 0xffffffff;
    return add_sample(of_counters, [&] {
        put(s.sequence);
        put(s.source);
        put(2);  // records
        put(generic_counters);
        put_sized([&] {
            put(s.source);
            put(ethernet_csmacd);
            put64(s.bits_per_second);
            put(full_duplex);
            put(s.up ? 3 : 1);  // admin status in bit 0, operational status in bit 1
            put64(s.rx_bytes);
            put(static_cast<uint32_t>(s.rx_packets));
            put(unknown);  // multicast
            put(unknown);  // broadcast
            put(static_cast<uint32_t>(s.rx_discards));
            put(unknown);  // errors
            put(unknown);  // unknown protocols
            put64(s.tx_bytes);
            put(static_cast<uint32_t>(s.tx_packets));
            for (int i = 0; i < 4; ++i) put(unknown);  // multicast, broadcast, discards, errors
            put(s.promiscuous ? 1 : 2);
        });
        put(port_name);
        put_sized([&] {
            put_bytes({reinterpret_cast<const uint8_t*>(s.name.data()), s.name.size()});
        });
    });
}

}  // namespace turnpike::observe::sflow
